"""Loosely typed JSON to what records hold (pure). Wrong types are tolerated; what can't be meant is left out."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

_MAX_DEPTH = 16
_ID_CAP = 64
_HEX = frozenset("0123456789abcdef")

# Namespaces of OpenTelemetry's semantic conventions and of the Elastic Common Schema: nested objects under these names
# mean the dotted attribute. Others are the application's own data and stay whole, and so do `exception` and `error`,
# under which trackers keep frames.
_NAMESPACES = (
    "agent client cloud code container db deployment destination ecs enduser event faas feature_flag file geo gen_ai "
    "host http k8s kubernetes labels log messaging net network observer orchestrator organization os peer process rpc "
    "server service session source span telemetry thread tls trace transaction url user user_agent vcs"
)
NAMESPACES = frozenset(_NAMESPACES.split())


def text(value: Any) -> str:
    """Text of a scalar, JSON of anything else, "" of nothing."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return compact(value)


def compact(value: Any) -> str:
    """JSON in one line, keys as they come; what JSON can't say becomes text."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (RecursionError, ValueError):
        return ""


def first(record: Mapping[str, Any], *names: str) -> Any:
    """The first of several keys that holds something."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            return value
    return None


def integer(value: Any) -> int | None:
    """64-bit integers come as numbers or as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value == value and abs(value) < 2**63 else None
    if isinstance(value, str) and len(value) < 24:
        try:
            return int(value)
        except ValueError:
            return None
    return None


def identifier(value: Any) -> str:
    """A trace or span id: lower case, without `0x`, without the hyphens of a UUID; "" for zeros and for nothing."""
    if isinstance(value, dict):
        value = first(value, "id")
    name = text(value).strip().lower().removeprefix("0x")[:_ID_CAP]
    bare = name.replace("-", "")
    if len(bare) in (16, 32) and _HEX.issuperset(bare):
        name = bare
    return "" if not name.strip("0") or name == "null" else name


def flatten(record: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes with dotted names; only objects under the names of `NAMESPACES` are taken apart."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict) and key in NAMESPACES:
            _into(flat, key, value, 0)
        elif value is not None:
            flat[key] = value
    return flat


def _into(flat: dict[str, Any], prefix: str, value: Any, depth: int) -> None:
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        for key, inner in value.items():
            _into(flat, f"{prefix}.{key}", inner, depth + 1)
    elif value is not None:
        flat[prefix] = value


def any_value(value: Any, depth: int = 0) -> Any:
    """An OTLP AnyValue in its JSON encoding (opentelemetry-proto, common.proto); a bare value is taken as it is."""
    if not isinstance(value, dict) or len(value) != 1 or depth > _MAX_DEPTH:
        return value
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return integer(inner)
    if kind == "arrayValue":
        items = inner.get("values") if isinstance(inner, dict) else inner
        return [any_value(v, depth + 1) for v in items] if isinstance(items, list) else []
    if kind == "kvlistValue":
        return attributes(inner.get("values") if isinstance(inner, dict) else inner, depth + 1)
    return inner if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue") else value


def attributes(value: Any, depth: int = 0) -> dict[str, Any]:
    """Attributes as a dict, whether they came as OTLP's list of key and value or as an object."""
    if isinstance(value, dict):
        inner = value.get("attributes")
        return (
            attributes(inner, depth) if isinstance(inner, dict | list) and set(value) <= _RESOURCE else flatten(value)
        )
    if not isinstance(value, list):
        return {}
    return {key: any_value(v, depth) for key, v in _pairs(value) if v is not None}


_RESOURCE = {"attributes", "droppedAttributesCount", "schema_url", "schemaUrl"}


def _pairs(items: Iterable[Any]) -> Iterable[tuple[str, Any]]:
    for item in items:
        if isinstance(item, dict) and isinstance(item.get("key"), str):
            yield item["key"], item.get("value")
