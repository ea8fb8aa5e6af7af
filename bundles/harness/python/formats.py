"""What a written message was made from: log calls and `raise` statements of the repository read backwards (pure).

`log.exception("feed %s stopped at line %d: %s", path.name, reader.line, reader.raw)` and the line that production wrote
give the three values again, by the names that the code has for them.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from bundles.harness.python.source import Source

_METHODS = {
    "debug",
    "info",
    "warning",
    "warn",
    "error",
    "exception",
    "critical",
    "fatal",
    "log",
    "msg",
    "trace",
    "success",
}
_PERCENT = re.compile(r"%(?:\((\w+)\))?[#0\- +]*(\*|\d+)?(?:\.(\d+))?([diouxXeEfFgGcrsa%])")
_BRACES = re.compile(r"\{\{|\}\}|\{(\w*)(?:![rsa])?(?::([^{}]*))?\}")
_NUMBER = r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_MIN_LITERAL = 4


class Part(Struct, frozen=True):
    """A placeholder: the expression that filled it, whether it was written as a repr, and as a number."""

    expression: ast.expr
    is_repr: bool = False
    is_number: bool = False


class Template(Struct, frozen=True):
    """A message with placeholders, and the file where it is written."""

    pattern: re.Pattern[str]
    parts: tuple[Part, ...]
    path: str
    line: int


class Filled(Struct, frozen=True):
    """What one placeholder of a template was filled with."""

    part: Part
    text: str


def templates_of(source: Source, errors: bool) -> tuple[Template, ...]:
    """All log templates of the repository, or (`errors`) all messages of `raise` statements."""
    found = []
    if errors:
        written = [(path, node.lineno, _raised(node)) for path, node in source.raises]
    else:
        sites = [s for name in sorted(_METHODS) for s in source.sites.get(name, ())]
        sites.sort(key=lambda s: (s.path, s.call.lineno, s.call.col_offset))
        written = [(s.path, s.call.lineno, _logged(s.call)) for s in sites]
    for path, line, pieces in written:
        template = _compile(pieces, path, line) if pieces else None
        if template:
            found.append(template)
    return tuple(found)


def fill(templates: tuple[Template, ...], text: str) -> list[Filled]:
    """The values of the most specific template that wrote `text`; [] where none did."""
    best: tuple[int, list[Filled]] | None = None
    for template in templates:
        match = template.pattern.fullmatch(text)
        if match:
            values = [Filled(part, value) for part, value in zip(template.parts, match.groups(), strict=True)]
            weight = len(text) - sum(len(v.text) for v in values)
            if best is None or weight > best[0]:
                best = (weight, values)
    return best[1] if best else []


def _logged(node: ast.AST) -> list[str | Part]:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS):
        return []
    args = node.args[1:] if node.func.attr == "log" else node.args
    if not args:
        return []
    if isinstance(args[0], ast.Constant) and isinstance(args[0].value, str) and len(args) > 1:
        read = list(_percent(args[0].value, args[1:]))
        return read if any(isinstance(p, Part) for p in read) else list(_braces(args[0].value, args[1:], {}))
    return pieces_of(args[0])


def _raised(node: ast.AST) -> list[str | Part]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        return pieces_of(node.exc.args[0])
    if isinstance(node, ast.Assert) and node.msg is not None:
        return pieces_of(node.msg)
    return []


def pieces_of(node: ast.expr) -> list[str | Part]:
    """An f-string, `%`, `.format` or `+` expression as literal text and placeholders; [] where it is none of them."""
    match node:
        case ast.Constant(value=str()):
            return [str(node.value)]
        case ast.JoinedStr():
            return [p for value in node.values for p in _formatted(value)]
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str() as text)):
            values = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
            return list(_percent(text, values))
        case ast.BinOp(op=ast.Add()):
            left, right = pieces_of(node.left) or [Part(node.left)], pieces_of(node.right) or [Part(node.right)]
            return [*left, *right] if any(isinstance(p, str) for p in (*left, *right)) else []
        case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str() as text))):
            return list(_braces(text, node.args, {str(k.arg): k.value for k in node.keywords if k.arg}))
    return []


def _formatted(value: ast.expr) -> list[str | Part]:
    if isinstance(value, ast.Constant):
        return [str(value.value)]
    if isinstance(value, ast.FormattedValue):
        spec = ""
        if isinstance(value.format_spec, ast.JoinedStr):
            spec = "".join(str(v.value) if isinstance(v, ast.Constant) else "?" for v in value.format_spec.values)
        return [Part(value.value, value.conversion == ord("r"), spec[-1:] in tuple("dfegn%"))]
    return []


def _percent(text: str, values: list[ast.expr]) -> Iterator[str | Part]:
    left, at = list(values), 0
    named = values[0] if len(values) == 1 and isinstance(values[0], ast.Dict) else None
    for match in _PERCENT.finditer(text):
        yield text[at : match.start()]
        at = match.end()
        if match[4] == "%":
            yield "%"
            continue
        expression = _member(named, match[1]) if match[1] else (left.pop(0) if left else None)
        if expression is None:
            return
        yield Part(expression, match[4] == "r", match[4] in "diouxXeEfFgG")
    yield text[at:]


def _member(named: ast.Dict | None, key: str) -> ast.expr | None:
    for name, value in zip(named.keys, named.values, strict=True) if named else ():
        if isinstance(name, ast.Constant) and name.value == key:
            return value
    return None


def _braces(text: str, values: list[ast.expr], named: dict[str, ast.expr]) -> Iterator[str | Part]:
    at, index = 0, 0
    for match in _BRACES.finditer(text):
        yield text[at : match.start()]
        at = match.end()
        if match[0] in ("{{", "}}"):
            yield match[0][0]
            continue
        key = match[1]
        if key == "" or key.isdigit():
            position = index if key == "" else int(key)
            index += 1
            expression = values[position] if position < len(values) else None
        else:
            expression = named.get(key)
        if expression is None:
            return
        yield Part(expression, "!r" in match[0], (match[2] or "")[-1:] in tuple("dfegn"))
    yield text[at:]


def _compile(pieces: list[str | Part], path: str, line: int) -> Template | None:
    parts = tuple(p for p in pieces if isinstance(p, Part))
    literal = "".join(p for p in pieces if isinstance(p, str))
    if not parts or len(literal.strip()) < _MIN_LITERAL or len(parts) > 20:
        return None
    text = "".join(re.escape(p) if isinstance(p, str) else (_NUMBER if p.is_number else "(.*?)") for p in pieces)
    return Template(_pattern(text), parts, path, line)


@lru_cache(maxsize=4096)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text + r"\s*", re.DOTALL)
