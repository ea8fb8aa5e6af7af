"""What an exception itself says about the values on the line that raised it (pure).

`KeyError: 'XX'` on a line with `ZONES[country]` means that `country` was 'XX'; `'NoneType' object has no attribute
'strip'` on `text.strip()` means that `text` was None; `invalid literal for int() with base 10: '12a'` on `int(raw)`
means that `raw` was '12a'. The messages are CPython's own (3.8 to 3.14).
"""

import ast
import re
from collections.abc import Iterator

from bundles.harness.python.declared import Function, dotted
from bundles.harness.python.source import Source
from bundles.harness.python.values import Value, decode_repr, literal

_NO_ATTRIBUTE = re.compile(r"'NoneType' object has no attribute '(\w+)'")
_NOT_OBJECT = re.compile(
    r"'NoneType' object is not (subscriptable|iterable|callable)|cannot unpack non-iterable NoneType"
)
_OPERAND = re.compile(
    r"unsupported operand type\(s\) for [^:]+: '(\w+)' and '(\w+)'|"
    r"'[<>=]+' not supported between instances of '(\w+)' and '(\w+)'"
)
_BAD_TEXT = re.compile(
    r"invalid literal for int\(\) with base \d+: (.+)|could not convert string to float: (.+)|"
    r"Invalid isoformat string: (.+)|time data (.+) does not match format .*|(.+) is not a valid \w+|"
    r"[Ii]nvalid [\w ]+: (.+)|badly formed hexadecimal .*: (.+)",
    re.DOTALL,
)
# Methods whose answer is still the same value, cleaned or written out.
_SAME = {
    *("strip", "rstrip", "lstrip", "upper", "lower", "casefold", "removesuffix", "removeprefix", "decode"),
    *("isoformat", "as_posix", "copy", "model_dump", "dict", "_asdict"),
}
_CONVERTERS = {"int", "float", "fromisoformat", "strptime", "Decimal", "UUID", "Version", "parse", "loads"}


def told_by(function: Function, line: int | None, kind: str, message: str, source: Source) -> list[tuple[str, Value]]:
    """Names (`coupon.text`, `country`) and their values, as the exception's type and message tell them."""
    if line is None:
        return []
    nodes = [
        n for n in ast.walk(function.node) if getattr(n, "lineno", 0) <= line <= (getattr(n, "end_lineno", 0) or 0)
    ]
    nodes = [n for n in nodes if not isinstance(n, ast.stmt) or n.lineno == line]
    found = {(name, value.code): (name, value) for name, value in _told(nodes, kind, message, source) if name}
    return list(found.values())


def _told(nodes: list[ast.AST], kind: str, message: str, source: Source) -> Iterator[tuple[str, Value]]:
    if kind == "KeyError":
        value = decode_repr(message, source)
        for node in nodes:
            if isinstance(node, ast.Subscript) and value is not None:
                yield name_of(node.slice), value
    elif kind == "ZeroDivisionError":
        for node in nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
                yield name_of(node.right), literal(0)
    elif "NoneType" in message:
        yield from _none(nodes, message)
    elif match := _BAD_TEXT.fullmatch(message):
        text = next(g for g in match.groups() if g)
        value = decode_repr(text, source) or literal(text)
        for node in nodes:
            if isinstance(node, ast.Call) and dotted(node.func).rsplit(".", 1)[-1] in _CONVERTERS:
                yield from ((name_of(a), value) for a in node.args[:1])


def _none(nodes: list[ast.AST], message: str) -> Iterator[tuple[str, Value]]:
    nothing = literal(None)
    attribute = _NO_ATTRIBUTE.search(message)
    operand = _OPERAND.search(message)
    for node in nodes:
        if attribute and isinstance(node, ast.Attribute) and node.attr == attribute[1]:
            yield name_of(node.value), nothing
        elif operand and isinstance(node, ast.BinOp | ast.Compare):
            left, right = (operand[1] or operand[3]), (operand[2] or operand[4])
            other = node.right if isinstance(node, ast.BinOp) else node.comparators[0]
            if left == "NoneType":
                yield name_of(node.left), nothing
            if right == "NoneType":
                yield name_of(other), nothing
        elif _NOT_OBJECT.search(message):
            if isinstance(node, ast.Subscript):
                yield name_of(node.value), nothing
            elif isinstance(node, ast.For | ast.comprehension):
                yield name_of(node.iter), nothing
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
                yield name_of(node.value), nothing


def name_of(node: ast.expr) -> str:
    """What the code calls a value: `reader.line` -> "reader.line", `job["kind"]` -> "job.kind"."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            inner = name_of(node.value)
            return f"{inner}.{key}" if inner else str(key)
        case ast.Call(func=ast.Attribute(value=base, attr=method)) if method in _SAME:
            return name_of(base)
        case ast.Call(args=[argument]) if dotted(node.func) in ("str", "repr", "json.dumps", "int", "dict", "list"):
            return name_of(argument)
        case ast.Call(func=ast.Attribute(attr="get", value=base), args=[ast.Constant(value=str() as key), *_]):
            inner = name_of(base)
            return f"{inner}.{key}" if inner else str(key)
    return dotted(node)
