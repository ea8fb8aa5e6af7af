"""Redacts every string of a record, in one place, so that no reader can forget one."""

from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from retrieval.model import ConfigChange, FlagChange, Frame, SourceRef
from retrieval.ports import Redactor

_Record = TypeVar("_Record", bound=Struct)

# Identifiers that join records. They are hexadecimal, or short names that a service gave to its own parts; a rule that
# matched one would cut the join.
_JOIN_KEYS = frozenset(
    {
        *("trace_id", "span_id", "parent_span_id", "git_sha", "previous_sha", "image_digest", "deployment_id"),
        *("kind", "status", "outcome", "language", "cause_kind"),
    }
)
_WITHOUT_TEXT = (int, float, bool, int | None, float | None, SourceRef)


def redact(record: _Record, redactor: Redactor) -> _Record:
    """The record with secrets and personal data replaced; the same object when there were none."""
    changed = {}
    for name in _text_fields(type(record)):
        before = getattr(record, name)
        if not before:
            continue
        after = _field(record, name, before, redactor)
        if after is not before:
            changed[name] = after
    return replace(record, **changed) if changed else record


@lru_cache(maxsize=256)
def _text_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields of a record that may hold text."""
    return tuple(name for name, hint in get_type_hints(kind).items() if hint not in _WITHOUT_TEXT)


def _field(record: Struct, name: str, value: Any, redactor: Redactor) -> Any:
    if name == "value" and isinstance(record, ConfigChange | FlagChange):
        clean = redactor.value(record.key if isinstance(record, ConfigChange) else record.flag, value)
        return str(clean) if isinstance(value, str) else clean
    if isinstance(value, str):
        return value if _joins(name, value) else _text(record, name, value, redactor)
    if isinstance(value, dict):
        return _mapping(value, redactor)
    if isinstance(value, tuple):
        return _items(value, redactor)
    return redact(value, redactor) if isinstance(value, Struct) else value


def _joins(name: str, value: str) -> bool:
    return name in _JOIN_KEYS and len(value) <= 100 and value.replace("-", "").replace(":", "").isalnum()


def _text(record: Struct, name: str, value: str, redactor: Redactor) -> str:
    if isinstance(record, Frame) and name != "code" and " " not in value and "@" not in value and "=" not in value:
        return value
    clean = redactor.text(value)
    return value if clean == value else clean


def _mapping(value: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    clean = {redactor.text(k): redactor.value(k, v) for k, v in value.items()}
    return value if clean == value else clean


def _items(value: tuple[Any, ...], redactor: Redactor) -> tuple[Any, ...]:
    if isinstance(value[0], Struct):
        clean = tuple(redact(v, redactor) for v in value)
        return value if all(a is b for a, b in zip(clean, value, strict=True)) else clean
    if isinstance(value[0], str):
        texts = tuple(redactor.text(v) for v in value)
        return value if texts == value else texts
    return value
