"""What a function does with a parameter, so that recorded data can be matched to it by shape (pure)."""

import ast

from msgspec import Struct

from bundles.harness.python.declared import Function, dotted, own_nodes

_TEXT = {
    "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "replace", "lower", "upper", "startswith", "endswith",
    "partition", "rpartition", "encode", "title", "casefold", "removeprefix", "removesuffix", "zfill", "isdigit",
}  # fmt: skip
_MAPPING = {"get", "keys", "values", "items", "pop", "setdefault"}
_FROM_TEXT = {"int", "float", "Decimal", "fromisoformat", "strptime", "fullmatch", "search", "UUID", "b64decode"}
_OVER_ITEMS = {"sorted", "sum", "enumerate", "any", "all", "list", "map", "zip"}


class Shape(Struct, frozen=True, kw_only=True):
    """`keys` that are read from it as a mapping and must be there, `optional` ones that may; into how many names it is
    `unpacked`; `attributes` that are read from it; `text`, `number`, `document` (JSON text) where it is used so."""

    keys: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    unpacked: int = 0
    attributes: tuple[str, ...] = ()
    text: bool = False
    number: bool = False
    document: bool = False
    iterated: bool = False

    @property
    def mapping(self) -> bool:
        return bool(self.keys or self.optional)


def shape_of(function: Function, name: str) -> Shape:
    """How the body of `function` uses the parameter `name`."""
    usage = _Usage(name)
    for node in own_nodes(function.node):
        usage.see(node)
    return usage.shape()


class _Usage:
    def __init__(self, name: str) -> None:
        self._name = name
        self._keys: dict[str, None] = {}
        self._optional: dict[str, None] = {}
        self._attributes: dict[str, None] = {}
        self._unpacked = 0
        self._seen: set[str] = set()

    def shape(self) -> Shape:
        return Shape(
            keys=tuple(self._keys),
            optional=tuple(k for k in self._optional if k not in self._keys),
            unpacked=self._unpacked,
            attributes=tuple(a for a in self._attributes if a not in _TEXT | _MAPPING),
            text="text" in self._seen,
            number="number" in self._seen,
            document="document" in self._seen,
            iterated="iterated" in self._seen,
        )

    def see(self, node: ast.AST) -> None:
        match node:
            case ast.Subscript(value=base, slice=ast.Constant(value=str() as key)) if self._is(base):
                self._keys[key] = None
            case ast.Call():
                self._call(node)
            case ast.Attribute(value=base, attr=attr) if self._is(base):
                self._attributes[attr] = None
            case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=base) if self._is(base):
                self._unpacked = 0 if any(isinstance(e, ast.Starred) for e in target.elts) else len(target.elts)
            case ast.For(iter=base) | ast.comprehension(iter=base) if self._is(base):
                self._seen.add("iterated")
            case ast.BinOp() | ast.Compare():
                self._operated(node)
            case ast.Match(subject=base) if self._is(base):
                self._matched(node)

    def _is(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self._name

    def _call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and self._is(node.func.value):
            self._method(node.func.attr, node)
        elif any(self._is(a) for a in node.args):
            called = dotted(node.func)
            last = called.rsplit(".", 1)[-1]
            if called.endswith("json.loads"):
                self._seen.add("document")
            elif last in _FROM_TEXT:
                self._seen.add("text")
            elif last in _OVER_ITEMS:
                self._seen.add("iterated")

    def _method(self, attr: str, node: ast.Call) -> None:
        if attr in _TEXT:
            self._seen.add("text")
        elif attr in _MAPPING and node.args:
            key = node.args[0]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._optional[key.value] = None

    def _operated(self, node: ast.BinOp | ast.Compare) -> None:
        if isinstance(node, ast.Compare) and any(isinstance(o, ast.In | ast.NotIn) for o in node.ops):
            if (
                isinstance(node.left, ast.Constant)
                and isinstance(node.left.value, str)
                and self._is(node.comparators[0])
            ):
                self._optional[node.left.value] = None
            return
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
        if not any(self._is(s) for s in sides):
            return
        numbers = [s for s in sides if isinstance(s, ast.Constant) and isinstance(s.value, int | float)]
        arithmetic = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Sub | ast.Div | ast.FloorDiv)
        if numbers or arithmetic:
            self._seen.add("number")

    def _matched(self, node: ast.Match) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.MatchMapping):
                for key in part.keys:
                    if isinstance(key, ast.Constant):
                        self._optional[str(key.value)] = None
