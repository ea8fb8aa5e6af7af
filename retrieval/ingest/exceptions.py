"""Exceptions as they were recorded, in text or as data, to `ExceptionInfo` (pure)."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from retrieval.ingest import frames
from retrieval.ingest.values import first, text
from retrieval.languages import parse_stack_traces
from retrieval.model import ExceptionInfo, StackTrace
from retrieval.model.signatures import same_type

_TRACE_START = re.compile(
    r"^(?:.*?Traceback \(most recent call last\):|\s*\+ Exception Group Traceback"
    r"|(?:Caused by: |Exception in thread \"[^\"\n]*\" )?(?:[A-Za-z_$][\w$]*\.)*[A-Z][\w$]*"
    r"(?:Exception|Error|Throwable|Exit|Interrupt|Warning|Timeout|Failure)\b[^\n]*(?=\n\s+(?:at |\.\.\. |File ))"
    r"|panic: |goroutine \d+ \[|thread '[^'\n]*' (?:\(\d+\) )?panicked at |(?:PHP )?Fatal error: +Uncaught )",
    re.MULTILINE,
)
_HINTS = (
    "Traceback (most recent",
    "\n\tat ",
    "   at ",
    "panic: ",
    "goroutine ",
    "panicked at ",
    "Uncaught ",
    "Error: ",
    ".go:",
    "\n#0 ",
    ":in `",
    ":in '",
    "Fatal Python error: ",
)
_REMEMBERED = 2048
_LONGEST_REMEMBERED = 32_768

_TYPE = ("exception.type", "error.type", "exception_type", "exc_type", "error_type", "exception.class", "error.kind")
_MESSAGE = ("exception.message", "error.message", "exception_message", "exc_value", "error_message")
_STACK = (
    *("exception.stacktrace", "error.stack_trace", "error.stack", "exception_stacktrace", "stack_trace", "stacktrace"),
    *("exc_info", "exc_text", "stack", "traceback", "exception.stack_trace", "code.stacktrace"),
)
# Fields that hold an exception as data or as text, by logger: structlog, Sentry, log4j2, bunyan and pino, Serilog.
_OBJECTS = (
    "exception",
    "thrown",
    "err",
    "error",
    "exc_info",
    "Exception",
    "throwable",
    "@x",
    "sentry.interfaces.Exception",
)
CONSUMED = frozenset((*_TYPE, *_MESSAGE, *_STACK, *_OBJECTS))


def _traces(raw: str) -> tuple[StackTrace, ...]:
    return _remembered(raw) if len(raw) <= _LONGEST_REMEMBERED else tuple(parse_stack_traces(raw))


@lru_cache(maxsize=_REMEMBERED)
def _remembered(raw: str) -> tuple[StackTrace, ...]:
    """One fault is logged thousands of times, and once more by everyone who caught it."""
    return tuple(parse_stack_traces(raw))


def of_text(raw: str, type_name: str = "", message: str = "") -> ExceptionInfo | None:
    """From a stack as text, with what was recorded beside it; None where there is neither.

    Of several traces the first whose type is the recorded one is taken, else the first. Recorded names win over
    parsed ones, for a parser may have to stop at a line that looks like the next record.
    """
    trace = _choose(_traces(raw) if raw else (), type_name)
    if trace is None and not type_name:
        return None
    if trace is not None and trace.type and not type_name:
        type_name = trace.type
    elif trace is not None and same_type(trace.type, type_name) and len(trace.type) > len(type_name):
        type_name = trace.type  # the runtime printed it qualified
    if trace is not None and not message:
        message = trace.message
    return ExceptionInfo(type=type_name, message=message, raw=raw, trace=trace)


def _choose(traces: tuple[StackTrace, ...], type_name: str) -> StackTrace | None:
    if not traces:
        return None
    return next((t for t in traces if type_name and same_type(t.type, type_name)), traces[0])


def split(body: str) -> tuple[str, str]:
    """What was said before a stack trace, and the text from the trace on ("" where there is none).

    Where it cannot be told at which line a trace begins (a message of several lines, a runtime that prints the name of
    an exception in any other way) the first line was said, and all of the text holds the trace.
    """
    if "\n" not in body or not any(hint in body for hint in _HINTS):
        return body, ""
    start = _TRACE_START.search(body)
    if start is not None:
        at = start.start()
        marker = start.group(0).find("Traceback (most recent")
        if marker > 0 and start.group(0)[:marker].strip():
            at += marker
        traces = () if body.startswith("Caused by: ", at) else _traces(body[at:])
        if traces and traces[0].type:
            return body[:at].rstrip("\n"), body[at:]
    return (body.lstrip("\n").partition("\n")[0], body) if _traces(body) else (body, "")


def of_attributes(attributes: Mapping[str, Any]) -> ExceptionInfo | None:
    """From flat attributes: OpenTelemetry's `exception.*`, ECS's `error.*`, and what loggers call the same."""
    stack = first(attributes, *_STACK)
    if isinstance(stack, list) and all(isinstance(line, str) for line in stack):
        stack = "\n".join(stack)
    type_name, message = first(attributes, *_TYPE), first(attributes, *_MESSAGE)
    raw = stack if isinstance(stack, str) else ""
    if (
        not raw
        and type_name is not None
        and not first(attributes, "exception.type", "exc_type", "exception_type")
        and message is None
    ):
        return None  # `error.type` alone is an outcome (`500`, `timeout`), no exception
    return of_text(raw, text(type_name), text(message)) if raw or type_name is not None else None


def of_record(record: Mapping[str, Any]) -> ExceptionInfo | None:
    """From a log record's own fields, whichever logger wrote it; a stack is known by its text under any other name."""
    if CONSUMED.isdisjoint(record):
        return _of_any(record)
    for name in _OBJECTS:
        value = record.get(name)
        if isinstance(value, str) and (head := split(value)[1] or (value if "\n" in value else "")):
            found = of_text(head)
        elif isinstance(value, dict | list):
            found = _of_data(value)
        else:
            continue
        if found is not None:
            return found
    return of_attributes(record) or _of_any(record)


def _of_any(record: Mapping[str, Any]) -> ExceptionInfo | None:
    """A printed stack in a field that no logger is known for: `exc`, `tb`, `details`."""
    for value in record.values():
        if isinstance(value, str) and "\n" in value and (stack := split(value)[1]):
            return of_text(stack)
    return None


def untold(attributes: Mapping[str, Any], exception: ExceptionInfo | None) -> dict[str, Any]:
    """The attributes without the printed stack that the exception was read from."""
    stack = exception.raw if exception is not None and "\n" in exception.raw else ""
    return {k: v for k, v in attributes.items() if not (stack and isinstance(v, str) and stack in v)}


def _of_data(value: Any) -> ExceptionInfo | None:
    trace = frames.recorded(value)
    if trace is not None:
        raw = f"{trace.type}: {trace.message}" if trace.message else trace.type
        return ExceptionInfo(type=trace.type, message=trace.message, raw=raw, trace=trace)
    if not isinstance(value, dict):
        return None
    stack = text(
        first(value, "stack", "stack_trace", "stacktrace", "stackTrace", "StackTrace", "StackTraceString", "traceback")
    )
    type_name = text(first(value, "type", "name", "class", "ClassName", "exc_type", "kind"))
    message = text(first(value, "message", "msg", "value", "Message"))
    return of_text(stack, type_name, message) if stack or (type_name and message) else None
