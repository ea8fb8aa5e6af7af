"""OTLP in its JSON encoding, and one span or log record a line with the same names, to records (pure).

Names as in opentelemetry-proto 1.x (trace.proto, logs.proto): camel case, 64-bit integers as text or numbers, ids in
hexadecimal. Snake case and the Python SDK's console exporter are read as well.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from retrieval.ingest import exceptions
from retrieval.ingest.moments import time_ns
from retrieval.ingest.values import attributes, first, identifier, text
from retrieval.model import ExceptionInfo, SourceRef, Span, SpanEvent

_KINDS = ("internal", "internal", "server", "client", "producer", "consumer")
_STATUSES = ("unset", "ok", "error")
_MAX_EVENTS = 256

Group = tuple[dict[str, Any], str, dict[str, Any]]  # resource attributes, scope name, the span or record as it came


def groups(line: Mapping[str, Any], outer: str, middle: str, inner: str) -> Iterator[Group]:
    """Unpacks resource -> scope -> item; a line that is an item itself is its only one."""
    if not isinstance(line.get(outer), list):
        if isinstance(line.get(inner), list):  # one ResourceSpans or ScopeSpans without its envelope
            line = {outer: [{"resource": line.get("resource"), middle: [line]}]}
        elif isinstance(line.get(middle), list):
            line = {outer: [line]}
        else:
            yield attributes(line.get("resource")), _scope(line.get("scope")), dict(line)
            return
    for per_resource in _dicts(line[outer]):
        resource = attributes(_part(per_resource.get("resource")))
        scopes = per_resource.get(middle, per_resource.get("instrumentationLibrary" + middle.removeprefix("scope")))
        for per_scope in _dicts(scopes):
            scope = _scope(per_scope.get("scope", per_scope.get("instrumentationLibrary")))
            for raw in _dicts(per_scope.get(inner)):
                yield resource, scope, raw


def _part(value: Any) -> Any:
    return value.get("attributes") if isinstance(value, dict) else value


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (v for v in value if isinstance(v, dict))


def _scope(value: Any) -> str:
    return text(value.get("name")) if isinstance(value, dict) else text(value)


def span_of(raw: Mapping[str, Any], resource: dict[str, Any], scope: str, source: SourceRef) -> Span | None:
    context = raw["context"] if isinstance(raw.get("context"), dict) else raw
    trace_id = identifier(first(context, "traceId", "trace_id", "traceID"))
    span_id = identifier(first(context, "spanId", "span_id", "spanID"))
    start = time_ns(first(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"))
    if not trace_id or not span_id or start is None:
        return None
    end = time_ns(first(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"))
    status, status_message = _status(raw.get("status"))
    found = attributes(raw.get("attributes"))
    events = tuple(_events(raw.get("events"), start))
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=identifier(first(raw, "parentSpanId", "parent_span_id", "parent_id", "parentSpanID")),
        name=text(raw.get("name")),
        service=service_of(resource) or text(first(raw, "service", "serviceName")),
        start_ns=start,
        end_ns=max(start, end) if end is not None else start,
        kind=_kind(raw.get("kind")),
        status=status,
        status_message=status_message,
        attributes=found,
        resource=resource,
        events=events,
        exception=_exception(events, found),
        source=source,
    )


def service_of(resource: Mapping[str, Any]) -> str:
    return text(first(resource, "service.name", "service_name", "service"))


def _kind(value: Any) -> str:
    name = text(value).rsplit(".", 1)[-1].removeprefix("SPAN_KIND_").lower()
    if name.isdigit():
        return _KINDS[int(name)] if int(name) < len(_KINDS) else "internal"
    return name if name in _KINDS else "internal"


def _status(value: Any) -> tuple[str, str]:
    message = ""
    if isinstance(value, dict):
        message = text(first(value, "message", "description"))
        value = first(value, "code", "status_code", "statusCode")
    name = text(value).rsplit(".", 1)[-1].removeprefix("STATUS_CODE_").lower()
    if name.isdigit():
        name = _STATUSES[int(name)] if int(name) < len(_STATUSES) else "unset"
    return (name if name in _STATUSES else "unset"), message


def _events(value: Any, start: int) -> Iterator[SpanEvent]:
    for raw in list(_dicts(value))[-_MAX_EVENTS:]:
        at = time_ns(first(raw, "timeUnixNano", "time_unix_nano", "timestamp", "time"))
        yield SpanEvent(
            name=text(raw.get("name")),
            time_ns=start if at is None else at,
            attributes=attributes(raw.get("attributes")),
        )


def _exception(events: tuple[SpanEvent, ...], found: Mapping[str, Any]) -> ExceptionInfo | None:
    """The last exception event, the older way; else the span's own `exception.*` attributes."""
    for event in reversed(events):
        if event.name == "exception" and (info := exceptions.of_attributes(event.attributes)) is not None:
            return info
    if any(key.startswith("exception.") for key in found):
        return exceptions.of_attributes(found)
    return None
