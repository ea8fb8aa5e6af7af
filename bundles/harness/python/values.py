"""Recorded values as Python source: what a repr says, rebuilt from a closed list of constructors.

Text from production is data. It is parsed, never evaluated; only literals, well-known constructors and the repository's
own data classes come through, and every literal is written anew with `repr`.
"""

import ast
import datetime
import enum
import math
import re
import zoneinfo
from typing import Any

from msgspec import Struct

from bundles.harness.python.declared import Class, dotted
from bundles.harness.python.source import Source

MAX_TEXT = 50_000


class _Unknown(enum.Enum):
    UNKNOWN = "unknown"


UNKNOWN = _Unknown.UNKNOWN


class Value(Struct, frozen=True):
    """Source code of an expression, the import lines it needs, and the same as plain JSON data where there is such."""

    code: str
    imports: tuple[str, ...] = ()
    plain: Any = UNKNOWN


class _Unrecoverable(Exception):
    """The text is no repr that can be built again."""


_STANDARD: dict[str, tuple[str, str]] = {
    **{
        f"datetime.{n}": (f"datetime.{n}", "import datetime")
        for n in ("datetime", "date", "time", "timedelta", "timezone")
    },
    **{n: (n, f"from collections import {n}") for n in ("OrderedDict", "Counter", "deque", "defaultdict")},
    **{
        f"collections.{n}": (n, f"from collections import {n}")
        for n in ("OrderedDict", "Counter", "deque", "defaultdict")
    },
    **{n: (n, f"from ipaddress import {n}") for n in ("IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network")},
    **dict.fromkeys(("PosixPath", "Path", "WindowsPath"), ("Path", "from pathlib import Path")),
    **dict.fromkeys(("PurePosixPath", "PurePath"), ("PurePosixPath", "from pathlib import PurePosixPath")),
    "Decimal": ("Decimal", "from decimal import Decimal"),
    "decimal.Decimal": ("Decimal", "from decimal import Decimal"),
    "Fraction": ("Fraction", "from fractions import Fraction"),
    "UUID": ("UUID", "from uuid import UUID"),
    "uuid.UUID": ("UUID", "from uuid import UUID"),
    "zoneinfo.ZoneInfo": ("zoneinfo.ZoneInfo", "import zoneinfo"),
    "namespace": ("SimpleNamespace", "from types import SimpleNamespace"),
    "SimpleNamespace": ("SimpleNamespace", "from types import SimpleNamespace"),
    **{n: (n, "") for n in ("frozenset", "set", "bytearray", "range", "slice", "dict", "list", "tuple")},
    **dict.fromkeys(("mappingproxy", "ImmutableMultiDict", "MultiDict", "CIMultiDict", "QueryParams"), ("dict", "")),
    **dict.fromkeys(("immutabledict", "frozendict", "FormData", "ImmutableDict"), ("dict", "")),
}
_BUILTIN_TYPES = {"list", "dict", "int", "str", "float", "set", "bool", "tuple", "bytes"}
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = (
    # <class 'list'> inside a defaultdict
    (re.compile(r"<class '(list|dict|int|str|float|set|bool|tuple|bytes)'>"), r"\1"),
    # <Color.RED: 'red'>, an enum member inside another repr
    (re.compile(r"<([A-Za-z_][\w.]*\.[A-Za-z_]\w*): (?:'[^'<>]*'|\"[^\"<>]*\"|[\w.()+ -]+)>"), r"\1"),
    # <QueryDict: {...}>, <MultiDict([...])>
    (re.compile(r"<(?:QueryDict|MultiValueDict): (\{[^<>]*\})>"), r"\1"),
    (re.compile(r"<(?:Multi|CIMulti)Dict(?:Proxy)?\((.*?)\)>"), r"dict(\1)"),
    (re.compile(r"<UTC>|tzutc\(\)|<StaticTzInfo 'UTC'>"), "datetime.timezone.utc"),
)


def literal(value: Any) -> Value:
    """JSON-like data as source; dict order is kept."""
    return Value(_write(value), (), value)


def _write(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_write(k)}: {_write(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_write(v) for v in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(_write(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def decode(recorded: Any, source: Source) -> Value | None:
    """A frame variable as its recorder wrote it (a repr, or dicts and lists of reprs); None if it can't be rebuilt."""
    if isinstance(recorded, str):
        return decode_repr(recorded, source)
    try:
        return _decode_nested(recorded, source, 0)
    except _Unrecoverable:
        return None


def _decode_nested(recorded: Any, source: Source, depth: int) -> Value:
    if depth > 12:
        raise _Unrecoverable
    if isinstance(recorded, str):
        value = decode_repr(recorded, source)
        if value is None:
            raise _Unrecoverable
        return value
    if isinstance(recorded, dict):
        return _join_dict([(literal(str(k)), _decode_nested(v, source, depth + 1)) for k, v in recorded.items()])
    if isinstance(recorded, list | tuple):
        return _join_items([_decode_nested(v, source, depth + 1) for v in recorded], "[", "]")
    if recorded is None or isinstance(recorded, bool | int | float):
        return literal(recorded)
    raise _Unrecoverable


def decode_repr(text: str, source: Source) -> Value | None:
    """The value that printed `text` as its repr, or None: truncated text and `<object at 0x...>` can't be rebuilt."""
    text = text.strip()
    if not text or len(text) > MAX_TEXT:
        return None
    tree = _parse(text)
    if tree is None:
        for pattern, replacement in _REWRITES:
            text = pattern.sub(replacement, text)
        tree = _parse(text)
    if tree is None:
        return None
    try:
        return _Builder(source).build(tree.body, 0)
    except (_Unrecoverable, RecursionError):
        return None


def _parse(text: str) -> ast.Expression | None:
    try:
        return ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


class _Builder:
    def __init__(self, source: Source) -> None:
        self._source = source

    def build(self, node: ast.expr, depth: int) -> Value:
        if depth > 20:
            raise _Unrecoverable
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float() | complex())):
                return literal(ast.literal_eval(node))
            case ast.Name(id="nan" | "inf"):
                return literal(float(node.id))
            case ast.Name() if node.id in _BUILTIN_TYPES:
                return Value(node.id)
            case ast.List() | ast.Tuple() | ast.Set():
                return self._sequence(node, depth)
            case ast.Dict():
                if any(k is None for k in node.keys):
                    raise _Unrecoverable
                pairs = zip(node.keys, node.values, strict=True)
                return _join_dict([(self.build(k, depth + 1), self.build(v, depth + 1)) for k, v in pairs if k])
            case ast.Attribute():
                return self._member(dotted(node))
            case ast.Call():
                return self._call(node, depth)
        raise _Unrecoverable

    def _constant(self, node: ast.Constant) -> Value:
        if node.value is Ellipsis:
            raise _Unrecoverable
        if isinstance(node.value, bytes):
            return Value(repr(node.value))
        if isinstance(node.value, complex):
            return Value(repr(node.value))
        return literal(node.value)

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set, depth: int) -> Value:
        items = [self.build(e, depth + 1) for e in node.elts]
        if isinstance(node, ast.Tuple):
            return _join_items(items, "(", ",)" if len(items) == 1 else ")")
        return _join_items(items, *(("[", "]") if isinstance(node, ast.List) else ("{", "}")))

    def _member(self, name: str) -> Value:
        """An enum member of the repository, or `datetime.timezone.utc`."""
        if name == "datetime.timezone.utc":
            return Value(name, ("import datetime",), "UTC")
        owner, _, member = name.rpartition(".")
        found = self._source.unique_class(owner) if owner else None
        if found is None or not found.enum:
            raise _Unrecoverable
        for item in found.node.body:
            if isinstance(item, ast.Assign) and any(isinstance(t, ast.Name) and t.id == member for t in item.targets):
                plain = item.value.value if isinstance(item.value, ast.Constant) else member
                return Value(f"{found.qualname}.{member}", (import_of(found),), plain)
        raise _Unrecoverable

    def _call(self, node: ast.Call, depth: int) -> Value:
        name = dotted(node.func)
        if not name or any(k.arg is None for k in node.keywords):
            raise _Unrecoverable
        args = [self.build(a, depth + 1) for a in node.args]
        named = {str(k.arg): self.build(k.value, depth + 1) for k in node.keywords}
        inner = ", ".join([*(a.code for a in args), *(f"{k}={v.code}" for k, v in named.items())])
        imports = _merged([*args, *named.values()])
        if name in _STANDARD:
            code, line = _STANDARD[name]
            plain = _plain_call(name, [a.plain for a in args], {k: v.plain for k, v in named.items()})
            return Value(f"{code}({inner})", (*imports, *([line] if line else [])), plain)
        return self._own(name, args, named, imports)

    def _own(self, name: str, args: list[Value], named: dict[str, Value], imports: tuple[str, ...]) -> Value:
        """`Shift(start=..., end=...)`: a data class of the repository, when its constructor takes what was printed."""
        found = self._source.unique_class(name)
        if found is None or found.enum or args or not found.params:
            raise _Unrecoverable
        taken = {p.name for p in found.params}
        required = {p.name for p in found.params if not p.default and p.kind in ("positional", "keyword")}
        if not set(named) <= taken or not required <= set(named):
            raise _Unrecoverable
        inner = ", ".join(f"{k}={v.code}" for k, v in named.items())
        plain: Any = {k: v.plain for k, v in named.items()}
        if any(v is UNKNOWN for v in plain.values()):
            plain = UNKNOWN
        return Value(f"{found.qualname}({inner})", (*imports, import_of(found)), plain)


def import_of(found: Class) -> str:
    """The import line of a class; a nested one is reached through its outermost class."""
    return f"from {found.module} import {found.qualname.split('.')[0]}"


def _merged(values: list[Value]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for v in values for line in v.imports))


def _join_dict(pairs: list[tuple[Value, Value]]) -> Value:
    code = "{" + ", ".join(f"{k.code}: {v.code}" for k, v in pairs) + "}"
    plain: Any = UNKNOWN
    if all(k.plain is not UNKNOWN and v.plain is not UNKNOWN and isinstance(k.plain, str | int) for k, v in pairs):
        plain = {k.plain: v.plain for k, v in pairs}
    return Value(code, _merged([x for pair in pairs for x in pair]), plain)


def _join_items(items: list[Value], opening: str, closing: str) -> Value:
    code = opening + ", ".join(i.code for i in items) + closing
    plain: Any = [i.plain for i in items] if all(i.plain is not UNKNOWN for i in items) else UNKNOWN
    return Value(code, _merged(items), plain)


def join_items(items: list[Value]) -> Value:
    """A list of values."""
    return _join_items(items, "[", "]")


_DATES: dict[str, Any] = {"datetime.date": datetime.date, "datetime.time": datetime.time}


def _plain_call(name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """What JSON would hold for it: text of dates, decimals, identifiers and paths; the items of containers."""
    if any(v is UNKNOWN for v in (*args, *named.values())):
        return UNKNOWN
    try:
        if name == "datetime.datetime":
            zone = named.pop("tzinfo", None)
            moment = datetime.datetime(*args, **named)  # noqa: DTZ001
            if zone is None:
                return moment.isoformat()
            return moment.replace(tzinfo=datetime.UTC if zone == "UTC" else zoneinfo.ZoneInfo(zone)).isoformat()
        if name == "zoneinfo.ZoneInfo":
            return named.get("key") or args[0]
        if name in _DATES:
            return _DATES[name](*args, **named).isoformat()
        if name == "datetime.timedelta":
            return datetime.timedelta(*args, **named).total_seconds()
    except (TypeError, ValueError, KeyError, OverflowError, IndexError, OSError):
        return UNKNOWN
    short = name.rsplit(".", 1)[-1]
    if short in ("Decimal", "UUID", "PosixPath", "Path", "PurePosixPath", "PurePath", "IPv4Address", "IPv6Address"):
        return str(args[0]) if len(args) == 1 and not named else UNKNOWN
    if short in ("set", "frozenset", "list", "tuple", "deque"):
        return args[0] if args else []
    if _STANDARD[name][0] == "dict" or short in ("OrderedDict", "Counter"):
        return _plain_dict(args, named)
    return UNKNOWN


def _plain_dict(args: list[Any], named: dict[str, Any]) -> Any:
    if not args:
        return dict(named)
    if isinstance(args[0], dict):
        return args[0]
    try:
        return dict(args[0])
    except (TypeError, ValueError):
        return UNKNOWN
