"""One log record as JSON to `LogRecord`: OTLP, ECS (dotted or nested), and what common loggers write (pure)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from retrieval.ingest import exceptions, otlp, severity
from retrieval.ingest.jsonlines import NotJson, decode
from retrieval.ingest.moments import time_ns
from retrieval.ingest.values import any_value, attributes, first, flatten, identifier, text
from retrieval.model import LogRecord, SourceRef

_Value = TypeVar("_Value")

# What a field of `LogRecord` is called, by logger, the best name first.
_NAMES: dict[str, str] = {
    "time": "timeUnixNano time_unix_nano @timestamp timestamp ts time datetime asctime date @t eventTime instant "
    "observedTimeUnixNano observed_time_unix_nano created t",
    "level": "severityText severity_text log.level level severity levelname lvl loglevel level_name @l",
    "body": "body message msg event short_message log text logentry @m @mt error",
    "logger": "scope logger log.logger logger_name loggerName logger.name name category SourceContext",
    "trace": "traceId trace_id trace.id traceID dd.trace_id otelTraceID otelTraceId X-B3-TraceId trace",
    "span": "spanId span_id span.id spanID dd.span_id otelSpanID otelSpanId X-B3-SpanId span",
    "service": "service.name service service_name serviceName dd.service otelServiceName app application",
}
_ROLES: dict[str, tuple[str, int]] = {
    name: (role, rank) for role, names in _NAMES.items() for rank, name in enumerate(names.split())
}
_BARE_IDS = frozenset({"trace", "span"})
# Restate what has a field of its own in `LogRecord`, whichever of the names was used for it.
_RESTATED_NAMES = (
    "timeUnixNano time_unix_nano observedTimeUnixNano observed_time_unix_nano severityNumber severity_number "
    "severityText severity_text body scope traceId spanId service.name otelTraceID otelSpanID otelTraceSampled "
    "otelServiceName droppedAttributesCount @mt exception.type exception.message exception.stacktrace error.message "
    "error.stack_trace"
)
_RESTATED = frozenset(_RESTATED_NAMES.split())


class _Fields:
    """A record's fields by role; remembers which were used, the others become attributes."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.all = fields
        self._used: set[str] = set()
        self._roles: dict[str, list[tuple[int, str]]] = {}
        for name in fields:
            if name in _ROLES:
                role, rank = _ROLES[name]
                self._roles.setdefault(role, []).append((rank, name))

    def take(self, role: str, read: Callable[[Any], _Value | None]) -> _Value | None:
        named = self._roles.get(role)
        if not named:
            return None
        for _, name in sorted(named) if len(named) > 1 else named:
            found = read(self.all[name])
            if found is not None and not (name in _BARE_IDS and not _whole_id(found)):
                self._used.add(name)
                return found
        return None

    def rest(self) -> dict[str, Any]:
        used = self._used
        return {k: v for k, v in self.all.items() if k not in used and k not in _RESTATED and not _told(k, v)}


def _whole_id(found: Any) -> bool:
    """`trace` is also a word for other things; as an id it has the length of one."""
    return len(found) in (16, 32) and all(c in "0123456789abcdef" for c in found)


def _told(key: str, value: Any) -> bool:
    """Whether `LogRecord` tells it: stacks and exceptions as data (but not an outcome, `error: "refused"`), OTLP's
    trace flags."""
    if key in exceptions.CONSUMED:
        return not isinstance(value, str | int | float) or "\n" in str(value)
    return key == "flags" and isinstance(value, int)


def records(line: Mapping[str, Any], source: SourceRef) -> Iterator[LogRecord | str]:
    """The records of one line; a text says why one could not be used."""
    for resource, scope, raw in otlp.groups(line, "resourceLogs", "scopeLogs", "logRecords"):
        yield record_of(raw, resource, scope, source)


def record_of(raw: dict[str, Any], resource: dict[str, Any], scope: str, source: SourceRef) -> LogRecord | str:
    fields = _Fields(_fields(raw))
    at = fields.take("time", _moment)
    if at is None:
        return "has no time that can be read; expected a field such as timeUnixNano, @timestamp, timestamp, ts or time"
    said = fields.take("body", _said) or ""
    level = _level(fields)
    body, stack = exceptions.split(said)
    exception = exceptions.of_record(fields.all)
    if exception is None and stack:
        exception = exceptions.of_text(stack)
    elif exception is None or not stack:
        body = said
    if exception is not None and not body:
        body = f"{exception.type}: {exception.message}" if exception.message else exception.type
    if level is None:
        level = 17 if exception is not None else severity.INFO
    return LogRecord(
        time_ns=at,
        body=body,
        service=otlp.service_of(resource) or fields.take("service", _name) or "",
        severity=level,
        logger=scope or fields.take("logger", _name) or "",
        trace_id=fields.take("trace", _id) or "",
        span_id=fields.take("span", _id) or "",
        attributes=exceptions.untold(fields.rest(), exception),
        resource=resource,
        exception=exception,
        source=source,
    )


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    """One level of names: the record's own, then its attributes, then those of an object (or its JSON) as body."""
    fields = flatten(raw)
    fields.pop("resource", None)
    inner = attributes(fields.pop("attributes")) if "attributes" in fields else {}
    fields.pop("body", None)
    for more in (inner, _body_fields(raw, fields), _context(raw)):
        for key, value in more.items():
            fields.setdefault(key, value)
    return fields


def _body_fields(raw: Mapping[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    body = any_value(raw.get("body"))
    if isinstance(body, str):
        name = "body"
    else:
        name = next((n for n in ("message", "msg", "log") if isinstance(raw.get(n), str)), "body")
    said = body if name == "body" else raw[name]
    if isinstance(said, str) and said.startswith("{") and said.rstrip().endswith("}"):
        try:
            parsed = decode(said.encode("utf-8", "replace"))
        except NotJson:
            parsed = None
        if isinstance(parsed, dict) and _is_record(parsed):
            fields.pop(name, None)  # a container's log line that nobody parsed
            return flatten(parsed)
    if isinstance(said, dict):
        return flatten(said)
    if said is not None and name == "body":
        fields["body"] = said
    return {}


def _is_record(parsed: dict[str, Any]) -> bool:
    roles = {_ROLES[k][0] for k in parsed if k in _ROLES}
    return "body" in roles and bool(roles & {"level", "time"})


_IDS = frozenset(name for name, (role, _) in _ROLES.items() if role in ("trace", "span"))


_CONTEXTS = frozenset({"contexts", "mdc", "contextMap", "fields", "extra", "dd"})


def _context(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Trace ids that trackers and log4j keep one level down."""
    if _CONTEXTS.isdisjoint(raw):
        return {}
    contexts = raw.get("contexts")
    trace = contexts.get("trace") if isinstance(contexts, dict) else None
    found = {k: v for k, v in trace.items() if k in ("trace_id", "span_id")} if isinstance(trace, dict) else {}
    for name in ("mdc", "contextMap", "fields", "extra", "dd"):
        inner = raw.get(name)
        if isinstance(inner, dict):
            prefix = "dd." if name == "dd" else ""
            found.update({prefix + k: v for k, v in inner.items() if prefix + k in _IDS})
            if name == "fields":
                found.update(flatten(inner))
    return found


def _moment(value: Any) -> int | None:
    if isinstance(value, dict) and "epochSecond" in value:  # log4j2
        nanos = value.get("nanoOfSecond")
        seconds = time_ns(value["epochSecond"])
        return seconds + nanos if seconds is not None and isinstance(nanos, int) else seconds
    return time_ns(value)


def _level(fields: _Fields) -> int | None:
    number = text(fields.all.get("severityNumber", fields.all.get("severity_number")))
    if number.startswith("SEVERITY_NUMBER_"):
        return severity.of_name(number.removeprefix("SEVERITY_NUMBER_"))
    if number.isdigit() and 0 < int(number) < 25:
        return int(number)
    return fields.take("level", _scale(fields.all))


def _scale(fields: Mapping[str, Any]) -> Callable[[Any], int | None]:
    pino = "pid" in fields and "hostname" in fields and isinstance(fields.get("time"), int)
    syslog = "short_message" in fields  # GELF
    return lambda value: severity.of_value(value, pino=pino, syslog=syslog)


def _said(value: Any) -> str | None:
    if isinstance(value, dict):
        value = first(value, "formatted", "message")
    if isinstance(value, str):
        return value if value.strip() else None
    return text(value) if isinstance(value, int | float | list) and not isinstance(value, bool) else None


def _name(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("name")
    return value if isinstance(value, str) and value.strip() else None


def _id(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return identifier(text(value).rsplit("/", 1)[-1]) or None  # projects/P/traces/ID
