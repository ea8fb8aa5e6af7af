"""One log record as JSON to `LogRecord`: OTLP, ECS (dotted or nested), and what common loggers write (pure)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from retrieval.ingest import exceptions, otlp, severity
from retrieval.ingest.jsonlines import NotJson, decode
from retrieval.ingest.moments import time_ns
from retrieval.ingest.values import attributes, first, flatten, identifier, text
from retrieval.model import LogRecord, SourceRef

_Value = TypeVar("_Value")

_TIME = (
    *("timeUnixNano", "time_unix_nano", "@timestamp", "timestamp", "ts", "time", "datetime", "asctime", "date", "@t"),
    *("eventTime", "instant", "observedTimeUnixNano", "observed_time_unix_nano", "created", "t"),
)
_LEVEL = (
    "severityText",
    "severity_text",
    "log.level",
    "level",
    "severity",
    "levelname",
    "lvl",
    "loglevel",
    "level_name",
    "@l",
)
_BODY = ("body", "message", "msg", "event", "short_message", "log", "text", "logentry", "@m", "@mt", "error")
_LOGGER = (
    "scope",
    "logger",
    "log.logger",
    "logger_name",
    "loggerName",
    "logger.name",
    "name",
    "category",
    "SourceContext",
)
_TRACE = (
    "traceId",
    "trace_id",
    "trace.id",
    "traceID",
    "dd.trace_id",
    "otelTraceID",
    "otelTraceId",
    "trace",
    "X-B3-TraceId",
)
_SPAN = ("spanId", "span_id", "span.id", "spanID", "dd.span_id", "otelSpanID", "otelSpanId", "X-B3-SpanId")
_SERVICE = (
    "service.name",
    "service",
    "service_name",
    "serviceName",
    "dd.service",
    "otelServiceName",
    "app",
    "application",
)
# Restate what has a field of its own in `LogRecord`, whichever of the names was used for it.
_RESTATED = frozenset(
    {
        *("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano", "severityNumber"),
        *(
            "severity_number",
            "severityText",
            "severity_text",
            "body",
            "scope",
            "traceId",
            "spanId",
            "flags",
            "service.name",
        ),
        *("exception.type", "exception.message", "exception.stacktrace", "error.message", "error.stack_trace"),
        *("otelTraceID", "otelSpanID", "otelTraceSampled", "otelServiceName", "droppedAttributesCount", "@mt"),
    }
)


class _Fields:
    """A record's fields by name; remembers which were used, the others become attributes."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.all = fields
        self._used: set[str] = set()

    def take(self, names: tuple[str, ...], read: Callable[[Any], _Value | None]) -> _Value | None:
        for name in names:
            value = self.all.get(name)
            if value is not None and (found := read(value)) is not None:
                self._used.add(name)
                return found
        return None

    def rest(self) -> dict[str, Any]:
        return {k: v for k, v in self.all.items() if k not in self._used and k not in _RESTATED and not _told(k, v)}


def _told(key: str, value: Any) -> bool:
    """Whether `LogRecord.exception` tells it: stacks and exceptions as data, not an outcome like `error: "refused"`."""
    return key in exceptions.CONSUMED and (not isinstance(value, str | int | float) or "\n" in str(value))


def records(line: Mapping[str, Any], source: SourceRef) -> Iterator[LogRecord | str]:
    """The records of one line; a text says why one could not be used."""
    for resource, scope, raw in otlp.groups(line, "resourceLogs", "scopeLogs", "logRecords"):
        yield record_of(raw, resource, scope, source)


def record_of(raw: dict[str, Any], resource: dict[str, Any], scope: str, source: SourceRef) -> LogRecord | str:
    fields = _Fields(_fields(raw))
    at = fields.take(_TIME, _moment)
    if at is None:
        return "has no time that can be read; expected a field such as timeUnixNano, @timestamp, timestamp, ts or time"
    said = fields.take(_BODY, _said) or ""
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
        service=otlp.service_of(resource) or fields.take(_SERVICE, _name) or "",
        severity=level,
        logger=scope or fields.take(_LOGGER, _name) or "",
        trace_id=fields.take(_TRACE, _id) or "",
        span_id=fields.take(_SPAN, _id) or "",
        attributes=fields.rest(),
        resource=resource,
        exception=exception,
        source=source,
    )


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    """One level of names: the record's own, then its attributes, then those of an object (or its JSON) as body."""
    fields = flatten({k: v for k, v in raw.items() if k not in ("attributes", "resource", "body")})
    for inner in (attributes(raw.get("attributes")), _body_fields(raw, fields), _context(raw)):
        for key, value in inner.items():
            fields.setdefault(key, value)
    return fields


def _body_fields(raw: Mapping[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    body = otlp.body_of(raw.get("body"))
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
        if (
            isinstance(parsed, dict)
            and first(parsed, *_BODY) is not None
            and first(parsed, *_LEVEL, *_TIME) is not None
        ):
            fields.pop(name, None)  # a container's log line that nobody parsed
            return flatten(parsed)
    if isinstance(said, dict):
        return flatten(said)
    if said is not None and name == "body":
        fields["body"] = said
    return {}


def _context(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Trace ids that trackers and log4j keep one level down."""
    contexts = raw.get("contexts")
    trace = contexts.get("trace") if isinstance(contexts, dict) else None
    found = {k: v for k, v in trace.items() if k in ("trace_id", "span_id")} if isinstance(trace, dict) else {}
    for name in ("mdc", "contextMap", "fields", "extra", "dd"):
        inner = raw.get(name)
        if isinstance(inner, dict):
            prefix = "dd." if name == "dd" else ""
            found.update({prefix + k: v for k, v in inner.items() if prefix + k in _TRACE or prefix + k in _SPAN})
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
    named = fields.take(_LEVEL, _scale(fields.all))
    if number.startswith("SEVERITY_NUMBER_"):
        return severity.of_name(number.removeprefix("SEVERITY_NUMBER_"))
    return int(number) if number.isdigit() and 0 < int(number) < 25 else named


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
