"""Arguments for a function: recorded values by name, by what its caller passes, by shape; objects the way production
builds them (pure)."""

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from bundles.harness.python.declared import Class, Function, Param
from bundles.harness.python.pool import Pool, Recorded
from bundles.harness.python.shapes import Shape, shape_of
from bundles.harness.python.source import Source
from bundles.harness.python.values import UNKNOWN, Value, import_of, literal
from bundles.harness.python.wiring import example_of, wiring_of

MAX_ALTERNATIVES = 6
BUILT = 3  # rank of the service's own objects: no data, so nothing to get wrong
EXAMPLE = 5  # rank of an object made as the repository's own tests make it
ASSEMBLED = 6  # rank of a mapping or object that was put together from single values
_REQUESTS = {
    "request",
    "req",
    "environ",
    "scope",
    "start_response",
    "response",
    "resp",
    "receive",
    "send",
    "session",
    "conn",
    "db",
    "cursor",
}
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){2,4096}")
_CODECS = {"int", "float", "str", "Decimal", "date", "datetime", "UUID", "Path", "bool", "bytes"}


class Argument(Struct, frozen=True):
    """A value for a parameter. `rank` as in the pool, larger is less direct; `sources` are what it cites."""

    value: Value
    rank: int
    sources: tuple[str, ...]
    lacks: tuple[str, ...] = ()  # keys that the code reads and nothing recorded


class Builder:
    """Finds values for parameters from one failure's pool."""

    def __init__(self, source: Source, pool: Pool) -> None:
        self._source, self._pool = source, pool

    def alternatives(self, function: Function, param: Param, flow: Any = UNKNOWN) -> list[Argument]:
        """Values for a parameter, the most direct first. `flow` is what the caller is known to pass."""
        shape = shape_of(function, param.name)
        found: list[Argument] = []
        by_name = [] if param.name in _REQUESTS else self._pool.named(param.name)
        for entry in by_name:
            argument = self._fit(entry, param, shape)
            if argument:
                found += [argument, *_as_bytes(argument, param, shape)]
        if flow is not UNKNOWN:
            found.append(Argument(literal(flow), 1 if not found else min(a.rank for a in found), ()))
        if not any(a.rank <= 1 for a in found):
            found += self._by_shape(param, shape)
            for made in (self._assembled(param, shape), self.object_for(param, 0)):
                found += [made] if made else []
        if not found:
            found += self._guesses(param, shape)
        unique = {a.value.code: a for a in reversed(found)}
        return sorted(unique.values(), key=lambda a: (a.rank, found.index(a)))[:MAX_ALTERNATIVES]

    def _fit(self, entry: Recorded, param: Param, shape: Shape) -> Argument | None:
        value = entry.value if entry.typed else coerce(entry.value, wanted_type(param.annotation, shape))
        if value is None:
            return None
        if shape.document and isinstance(value.plain, dict | list):
            value = Value(f"json.dumps({value.code})", ("import json", *value.imports))
        if (shape.mapping or shape.unpacked) and isinstance(value.plain, str | int | float):
            return None
        if shape.keys and isinstance(value.plain, dict) and not set(shape.keys) <= set(value.plain):
            return None
        if _own_class(self._source, param) and isinstance(value.plain, str | int | float | list):
            return None
        if isinstance(value.plain, dict) and (made := self._from_dict(param, value.plain, entry)):
            return made
        return Argument(value, entry.rank, (entry.source,))

    def _from_dict(self, param: Param, plain: dict[str, Any], entry: Recorded) -> Argument | None:
        """A recorded object for a parameter that is annotated with a data class of the repository."""
        found = _own_class(self._source, param)
        if found is None or not found.fielded:
            return None
        names = {p.name for p in found.params}
        required = {p.name for p in found.params if not p.default}
        if not required <= set(plain):
            return None
        args = []
        for field in found.params:
            if field.name in plain and field.name in names:
                value = coerce(literal(plain[field.name]), wanted_type(field.annotation, Shape()))
                if value is None:
                    return None
                args.append((field.name, value))
        return Argument(_constructed(found, args), entry.rank, (entry.source,))

    def _by_shape(self, param: Param, shape: Shape) -> list[Argument]:
        """Recorded objects that hold the keys that are read, lists of the length that is unpacked."""
        if param.name in _REQUESTS:
            return []
        out = []
        for entry in self._pool.documents():
            plain = entry.value.plain
            wanted = set(shape.keys)
            fits_keys = isinstance(plain, dict) and wanted and wanted <= set(plain)
            loosely = isinstance(plain, dict) and not wanted and len(set(shape.optional) & set(plain)) >= 2
            fits_length = isinstance(plain, list) and shape.unpacked > 1 and len(plain) == shape.unpacked
            if fits_keys or loosely or fits_length:
                out.append(Argument(entry.value, max(2, entry.rank), (entry.source,)))
            elif shape.document and isinstance(plain, dict):
                code = f"json.dumps({entry.value.code})"
                out.append(Argument(Value(code, ("import json",)), max(2, entry.rank), (entry.source,)))
        return out

    def _assembled(self, param: Param, shape: Shape) -> Argument | None:
        """A mapping or an object put together from values that were recorded one by one: every key and attribute that
        must be there, and those optional keys that were recorded."""
        if param.name in _REQUESTS or _own_class(self._source, param):
            return None
        if shape.mapping:
            return self._assembled_mapping(param, shape)
        if shape.attributes and not (shape.text or shape.number):
            parts = [(a, self._part(param.name, a)) for a in shape.attributes]
            if all(p for _, p in parts) and any(p and p.rank <= 3 for _, p in parts):
                used = [(name, p) for name, p in parts if p]
                inner = ", ".join(f"{name}={p.value.code}" for name, p in used)
                imports = ("from types import SimpleNamespace", *(i for _, p in used for i in p.value.imports))
                return Argument(Value(f"SimpleNamespace({inner})", imports), ASSEMBLED, _cited(p for _, p in used))
        return None

    def _assembled_mapping(self, param: Param, shape: Shape) -> Argument | None:
        parts: dict[str, Argument] = {}
        for key in (*shape.keys, *shape.optional):
            part = self._part(param.name, key)
            if part is not None:
                parts[key] = part
            elif key in shape.keys:
                return None
        if not parts or (not shape.keys and len(parts) < 2):
            return None
        inner = ", ".join(f"{key!r}: {p.value.code}" for key, p in parts.items())
        imports = tuple(i for p in parts.values() for i in p.value.imports)
        lacks = tuple(key for key in shape.optional if key not in parts)
        return Argument(Value(f"{{{inner}}}", imports), ASSEMBLED, _cited(parts.values()), lacks)

    def _part(self, owner: str, name: str) -> Argument | None:
        for wanted in (f"{owner}.{name}", name):
            for entry in self._pool.named(wanted):
                if entry.rank <= 5 and (wanted != name or entry.name.rsplit(".", 1)[-1].lower() == name.lower()):
                    return Argument(entry.value, entry.rank, (entry.source,))
        return None

    def _guesses(self, param: Param, shape: Shape) -> list[Argument]:
        """Any recorded text for a parameter that is used as text; the least direct way."""
        if param.name in _REQUESTS or not (shape.text or param.annotation == "str"):
            return []
        texts = [e for e in self._pool.texts() if not e.name and len(str(e.value.plain)) < 500]
        return [Argument(e.value, 8, (e.source,)) for e in texts[:MAX_ALTERNATIVES]]

    def object_for(self, param: Param, depth: int) -> Argument | None:
        """An object of the repository for a parameter: by annotation, else by the class that is named like it."""
        found = _own_class(self._source, param) or _named_class(self._source, param.name)
        return self.construct(found, depth) if found else None

    def construct(self, found: Class, depth: int = 0) -> Argument | None:
        """An instance the way production builds it; by its defaults with recorded settings; by recorded fields."""
        if found.enum or depth > 3:
            return None
        params = self._constructor(found)
        if params is None:
            wired = wiring_of(self._source, found.name)
            return Argument(Value(wired.code, wired.imports), BUILT, ()) if wired else None
        required = [p for p in params if not p.default and p.kind in ("positional", "keyword")]
        if not required and found.fielded:
            args = [(p.name, a) for p in found.params if (a := self._setting(p))]
            return Argument(
                _constructed(found, [(n, a.value) for n, a in args]),
                BUILT,
                tuple(s for _, a in args for s in a.sources),
            )
        wired = wiring_of(self._source, found.name)
        if wired:
            return Argument(Value(wired.code, wired.imports), BUILT, ())
        if not required:
            return Argument(_constructed(found, []), BUILT, ())
        made: list[tuple[str, Argument]] = []
        for param in required:
            entries = [] if param.name in _REQUESTS else self._pool.named(param.name)
            options = [a for e in entries if (a := self._fit(e, param, Shape()))]
            argument = options[0] if options else self.object_for(param, depth + 1)
            if argument is None:
                return self._example(found)
            made.append((param.name, argument))
        rank = max(BUILT, *(a.rank for _, a in made))
        return Argument(_constructed(found, [(n, a.value) for n, a in made]), rank, _cited(a for _, a in made))

    def _example(self, found: Class) -> Argument | None:
        """Production's arguments were not recorded; a stand-in whose failure still has to be production's own."""
        made = example_of(self._source, found.name)
        return Argument(Value(made.code, made.imports), EXAMPLE, ()) if made else None

    def _constructor(self, found: Class, depth: int = 0) -> tuple[Param, ...] | None:
        """What the constructor takes, inherited ones too; None where a library decides."""
        if found.params or found.fielded or found.has_init:
            return found.params
        for base in found.bases:
            last = base.rsplit(".", 1)[-1].split("[")[0]
            if last in ("object", "ABC", "Protocol", "Generic", "Exception", ""):
                continue
            own = self._source.unique_class(last)
            return self._constructor(own, depth + 1) if own and depth < 6 else None
        return ()

    def _setting(self, param: Param) -> Argument | None:
        for entry in self._pool.named(param.name):
            if entry.rank == 6:
                value = coerce(entry.value, wanted_type(param.annotation, Shape()))
                return Argument(value, 6, (entry.source,)) if value else None
        return None


def _as_bytes(argument: Argument, param: Param, shape: Shape) -> list[Argument]:
    """Text in hexadecimal may be how bytes were logged."""
    plain = argument.value.plain
    if shape.text or shape.number or not isinstance(plain, str) or not _HEX.fullmatch(plain):
        return []
    return [Argument(Value(f"bytes.fromhex({plain!r})"), argument.rank, argument.sources)]


def _cited(parts: Iterable[Argument]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s for p in parts for s in p.sources))


def _constructed(found: Class, args: list[tuple[str, Value]]) -> Value:
    inner = ", ".join(f"{name}={value.code}" for name, value in args)
    imports = tuple(dict.fromkeys((*(i for _, v in args for i in v.imports), import_of(found))))
    return Value(f"{found.qualname}({inner})", imports)


def _own_class(source: Source, param: Param) -> Class | None:
    for name in re.findall(r"[A-Za-z_][\w.]*", param.annotation):
        found = source.unique_class(name.rsplit(".", 1)[-1])
        if found:
            return found
    return None


def _named_class(source: Source, name: str) -> Class | None:
    """`line_store` -> LineStore, or the only class that ends so."""
    camel = "".join(part.title() for part in name.strip("_").split("_"))
    return source.unique_class(camel)


def wanted_type(annotation: str, shape: Shape) -> str:
    """The plain type that a parameter wants, "" where nothing says."""
    names = [str(n).rsplit(".", 1)[-1] for n in re.findall(r"[A-Za-z_][\w.]*", annotation)]
    for name in names:
        if name in _CODECS:
            return name
        if name in ("list", "List", "dict", "Dict", "Mapping", "Sequence", "Iterable", "tuple", "set"):
            return ""
    if shape.text:
        return "str"
    return "number" if shape.number else ""


_MADE = {
    "Decimal": ("Decimal({})", "from decimal import Decimal"),
    "date": ("datetime.date.fromisoformat({})", "import datetime"),
    "datetime": ("datetime.datetime.fromisoformat({})", "import datetime"),
    "UUID": ("UUID({})", "from uuid import UUID"),
    "Path": ("Path({})", "from pathlib import Path"),
}


def coerce(value: Value, wanted: str) -> Value | None:
    """A value as a recorder wrote it, as the type that is wanted; None where it can't be that."""
    plain = value.plain
    if not wanted or plain is UNKNOWN or plain is None:
        return value
    text = str(plain)
    if wanted == "str":
        return literal(text) if isinstance(plain, str | int | float) else None
    if wanted in ("int", "float", "number"):
        return _number(plain, text, wanted)
    if wanted == "bool":
        return literal(text.lower() in ("true", "1", "on", "yes"))
    if wanted == "bytes":
        return Value(repr(text.encode()))
    if wanted in _MADE and isinstance(plain, str | int | float):
        code, line = _MADE[wanted]
        return Value(code.format(repr(text)), (line,), text)
    return value


def _number(plain: Any, text: str, wanted: str) -> Value | None:
    if isinstance(plain, bool):
        return None
    if isinstance(plain, int | float):
        return literal(int(plain)) if wanted == "int" and float(plain).is_integer() else literal(plain)
    if re.fullmatch(r"[+-]?\d[\d_]*", text):
        return literal(int(text))
    if wanted != "int" and re.fullmatch(r"[+-]?\d+\.\d+", text):
        return literal(float(text))
    return None
