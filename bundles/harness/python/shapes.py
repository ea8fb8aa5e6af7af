"""What a function does with a parameter, so that recorded data can be matched to it by shape (pure)."""

import ast

from msgspec import Struct

from bundles.harness.python.source import Function, dotted, own_nodes

_TEXT = {
    "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "replace", "lower", "upper", "startswith", "endswith",
    "partition", "rpartition", "encode", "title", "casefold", "removeprefix", "removesuffix", "zfill", "isdigit",
}  # fmt: skip
_MAPPING = {"get", "keys", "values", "items", "pop", "setdefault"}


class Shape(Struct, frozen=True):
    """`keys` read from it as a mapping, `unpacked` into how many names, `attributes` read from it; `text`, `number` and
    `document` (a JSON text) where it is used so."""

    keys: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    unpacked: int = 0
    attributes: tuple[str, ...] = ()
    text: bool = False
    number: bool = False
    document: bool = False
    iterated: bool = False
    called: bool = False


def shape_of(function: Function, name: str) -> Shape:
    """How the body of `function` uses the parameter `name`."""
    keys: dict[str, None] = {}
    optional: dict[str, None] = {}
    attributes: dict[str, None] = {}
    seen = {"text": False, "number": False, "document": False, "iterated": False, "called": False}
    unpacked = 0
    for node in own_nodes(function.node):
        match node:
            case ast.Subscript(value=ast.Name(id=n), slice=ast.Constant(value=str() as key)) if n == name:
                keys[key] = None
            case ast.Call(func=ast.Attribute(value=ast.Name(id=n), attr=attr)) if n == name:
                _method(attr, node, optional, attributes, seen)
            case ast.Call(func=ast.Name(id=n)) if n == name:
                seen["called"] = True
            case ast.Call():
                _passed(node, name, seen)
            case ast.Attribute(value=ast.Name(id=n), attr=attr) if n == name:
                attributes.setdefault(attr)
            case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=ast.Name(id=n)) if n == name:
                unpacked = len(target.elts) if not any(isinstance(e, ast.Starred) for e in target.elts) else 0
            case ast.For(iter=ast.Name(id=n)) if n == name:
                seen["iterated"] = True
            case ast.comprehension(iter=ast.Name(id=n)) if n == name:
                seen["iterated"] = True
            case ast.BinOp() | ast.Compare():
                _operated(node, name, seen)
            case ast.MatchMapping(keys=found):
                for k in found:
                    if isinstance(k, ast.Constant):
                        optional.setdefault(str(k.value))
    called = {n for n in attributes if n in _TEXT | _MAPPING}
    return Shape(
        keys=tuple(keys),
        optional=tuple(optional),
        unpacked=unpacked,
        attributes=tuple(a for a in attributes if a not in called),
        **seen,
    )


def _method(
    attr: str, node: ast.Call, optional: dict[str, None], attributes: dict[str, None], seen: dict[str, bool]
) -> None:
    if attr in _TEXT:
        seen["text"] = True
    elif attr in _MAPPING:
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            optional[node.args[0].value] = None
    else:
        attributes[attr] = None


def _passed(node: ast.Call, name: str, seen: dict[str, bool]) -> None:
    if not any(isinstance(a, ast.Name) and a.id == name for a in node.args):
        return
    called = dotted(node.func)
    last = called.rsplit(".", 1)[-1]
    if called in ("json.loads", "orjson.loads", "ujson.loads"):
        seen["document"] = True
    elif last in ("int", "float", "Decimal", "fromisoformat", "strptime", "fullmatch", "search", "UUID", "b64decode"):
        seen["text"] = True
    elif last in ("sorted", "sum", "enumerate", "any", "all", "list", "map", "zip"):
        seen["iterated"] = True


def _operated(node: ast.BinOp | ast.Compare, name: str, seen: dict[str, bool]) -> None:
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
    if not any(isinstance(s, ast.Name) and s.id == name for s in sides):
        return
    if any(
        isinstance(s, ast.Constant) and isinstance(s.value, int | float) and not isinstance(s.value, bool)
        for s in sides
    ):
        seen["number"] = True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Sub | ast.Div | ast.FloorDiv | ast.Mod):
        seen["number"] = True
