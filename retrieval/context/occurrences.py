"""Every recorded error as one shape, whether a log record, a span or an error tracker told it."""

import re
from collections.abc import Callable, Collection, Iterator

from msgspec import Struct

from retrieval.context.frames import Place, Places
from retrieval.model import CaseSources, ExceptionInfo, LogRecord, Span, StackTrace

FilesOf = Callable[[str], Collection[str]]
_PlacesOf = Callable[[str, StackTrace | None], tuple[Place, ...]]

_ERROR_SEVERITY = 17
_WARNING_SEVERITY = 13
# `Type: message` at the beginning of a status text or a body, where no exception was recorded as such.
_TYPED = re.compile(
    r"(?P<type>(?:[A-Za-z_]\w*[.$])*[A-Z]\w*(?:Error|Exception|Operation|Timeout|Fault|Failure|Panic|Interrupt))"
    r":\s(?P<message>.*)",
    re.DOTALL,
)
_TYPED_STATUS = re.compile(r"(?P<type>(?:[A-Za-z_]\w*[.$])*[A-Z][a-z]\w*[a-z]\w*):\s(?P<message>.*)", re.DOTALL)


class Occurrence(Struct, frozen=True, kw_only=True):
    """One record of an error. `type` is "" where only a text tells it; `places` are outermost first."""

    time_ns: int
    service: str
    type: str
    message: str
    severity: int
    trace_id: str
    source: str
    language: str = ""
    trace: StackTrace | None = None
    places: tuple[Place, ...] = ()
    log: LogRecord | None = None
    span: Span | None = None

    @property
    def named(self) -> bool:
        """Whether an exception's type is known, not only a text or a status code."""
        return bool(self.type) and not self.type.startswith("HTTP ")

    @property
    def crash(self) -> Place | None:
        return self.places[-1] if self.places else None


def occurrences(sources: CaseSources, files_of: FilesOf) -> Iterator[Occurrence]:
    """All of them, logs before spans, in the order in which they were read.

    A log record is one when it is an error, or a warning with an exception. A span is one when it failed; a client's
    view of an answer below 500 is not, for the server decides whether that was wrong.
    """
    places: dict[str, Places] = {}

    def places_of(service: str, trace: StackTrace | None) -> tuple[Place, ...]:
        if service not in places:
            places[service] = Places(files_of(service))
        return places[service].of(trace)

    for log in sources.logs:
        if log.severity >= _ERROR_SEVERITY or (log.exception is not None and log.severity >= _WARNING_SEVERITY):
            yield _of_log(log, sources, places_of)
    for span in sources.spans:
        if span.exception is not None or (span.failed and not (span.kind == "client" and 0 < span.http_status < 500)):
            yield _of_span(span, sources, places_of)


def _of_log(log: LogRecord, sources: CaseSources, places_of: _PlacesOf) -> Occurrence:
    type_name, message = _type_and_message(log.exception, log.body, _TYPED)
    trace = log.exception.trace if log.exception else None
    return Occurrence(
        time_ns=log.time_ns,
        service=log.service,
        type=type_name,
        message=message,
        severity=log.severity,
        trace_id=log.trace_id,
        source=log.source.file,
        language=_language(trace, log.service, sources),
        trace=trace,
        places=places_of(log.service, trace),
        log=log,
    )


def _of_span(span: Span, sources: CaseSources, places_of: _PlacesOf) -> Occurrence:
    type_name, message = _type_and_message(span.exception, span.status_message, _TYPED_STATUS)
    if not type_name and not message:
        message = span.name
        type_name = f"HTTP {span.http_status}" if span.http_status >= 500 else ""
    trace = span.exception.trace if span.exception else None
    events = [event.time_ns for event in span.events if event.name == "exception"]
    return Occurrence(
        time_ns=events[-1] if events else span.end_ns,
        service=span.service,
        type=type_name,
        message=message,
        severity=_ERROR_SEVERITY if span.failed else _WARNING_SEVERITY,
        trace_id=span.trace_id,
        source=span.source.file or "traces",
        language=_language(trace, span.service, sources),
        trace=trace,
        places=places_of(span.service, trace),
        span=span,
    )


def _type_and_message(exception: ExceptionInfo | None, text: str, shape: re.Pattern[str]) -> tuple[str, str]:
    if exception is not None and exception.type:
        return exception.type, exception.message
    if exception is not None and exception.trace is not None:
        return exception.trace.type, exception.trace.message
    typed = shape.match(text.strip())
    return (typed["type"], typed["message"]) if typed else ("", text)


def _language(trace: StackTrace | None, service: str, sources: CaseSources) -> str:
    if trace is not None:
        return trace.language
    info = sources.services.get(service)
    return info.language if info else ""
