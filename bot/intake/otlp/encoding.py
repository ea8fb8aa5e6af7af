"""OTLP's two encodings, protobuf and JSON, to one plain shape and back to answers (pure).

The shape is OTLP/JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): lower camel case, ids in
hexadecimal. It is not protobuf's own JSON, which has ids in base64. Text is cut, and what nests deeper than anyone
reads is left out, for all of it goes through the redactor.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from google.protobuf.message import DecodeError, Message
from msgspec import Struct
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_pb2

from retrieval.ingest.jsonlines import NotJson, decode

PROTOBUF, JSON = "application/x-protobuf", "application/json"
CONTENT_TYPES = (PROTOBUF, JSON)
LONGEST_TEXT = 64 * 1024
_DEEPEST = 64
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})
_WIDEST = 2**63


class Unreadable(Exception):
    """The body is not what it should be; the text says why, and is ours."""


class Signal(StrEnum):
    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"


class _Form(Struct, frozen=True):
    """A signal's messages, the names of its nested lists, and what its partial success counts."""

    request: type[Message]
    response: type[Message]
    levels: tuple[str, str, str]
    rejected: str


_FORMS: dict[Signal, _Form] = {
    Signal.TRACES: _Form(
        trace_pb2.ExportTraceServiceRequest,
        trace_pb2.ExportTraceServiceResponse,
        ("resourceSpans", "scopeSpans", "spans"),
        "rejectedSpans",
    ),
    Signal.LOGS: _Form(
        logs_pb2.ExportLogsServiceRequest,
        logs_pb2.ExportLogsServiceResponse,
        ("resourceLogs", "scopeLogs", "logRecords"),
        "rejectedLogRecords",
    ),
    Signal.METRICS: _Form(
        metrics_pb2.ExportMetricsServiceRequest,
        metrics_pb2.ExportMetricsServiceResponse,
        ("resourceMetrics", "scopeMetrics", "metrics"),
        "rejectedDataPoints",
    ),
}


def request(signal: Signal, content_type: str, body: bytes) -> dict[str, Any]:
    """An export request in the plain shape; {} for an empty one.

    Raises: Unreadable.
    """
    form = _FORMS[signal]
    if not body:
        if content_type == JSON:
            raise Unreadable("the body is empty; an empty JSON request is {}")
        return {}
    if content_type == PROTOBUF:
        message = form.request()
        try:
            message.ParseFromString(body)
        except DecodeError:
            raise Unreadable(f"the body is no protobuf message {message.DESCRIPTOR.name}") from None
        found = _plain(message, 0)
    else:
        found = _json(body)
    _check(found, form.levels)
    return found


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = decode(body)
    except NotJson as error:
        raise Unreadable(f"the body {error}") from None
    if not isinstance(found, dict):
        raise Unreadable(f"the body is JSON, but a {type(found).__name__} where an object was expected")
    tidy = _tidy(found, 0)
    assert isinstance(tidy, dict)
    return tidy


def _tidy(value: Any, depth: int) -> Any:
    """JSON without what the store cannot hold: endless text, endless nesting, numbers beyond 64 bits. `null` means
    that a field is not set."""
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, dict):
        if depth >= _DEEPEST:
            return {}
        return {k[:LONGEST_TEXT]: _tidy(v, depth + 1) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_tidy(v, depth + 1) for v in value] if depth < _DEEPEST else []
    if isinstance(value, int) and not -_WIDEST <= value < 2 * _WIDEST:
        return float(value) if abs(value) < 10**300 else None
    return value


def _plain(message: Message, depth: int) -> dict[str, Any]:
    """A message with the names and the values of OTLP/JSON; fields that are not set are absent."""
    if depth >= _DEEPEST:
        return {}
    return {field.json_name: _value(field.json_name, value, depth) for field, value in message.ListFields()}


def _value(name: str, value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, int | float):
        return value
    if isinstance(value, bytes):
        return value.hex() if name in _IDS else base64.b64encode(value[:LONGEST_TEXT]).decode("ascii")
    if isinstance(value, Message):
        return _plain(value, depth + 1)
    return [_value(name, item, depth) for item in value]


def _check(found: Mapping[str, Any], levels: Sequence[str]) -> None:
    """The envelope has the shape that the specification gives it; single records are looked at one by one, later.

    Raises: Unreadable.
    """
    outer, middle, inner = levels
    for where, resource in _items(found, outer, ""):
        for within, scope in _items(resource, middle, where):
            for _ in _items(scope, inner, within):
                pass


def _items(holder: Mapping[str, Any], name: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    items = holder.get(name, [])
    if not isinstance(items, list):
        raise Unreadable(f"{where}{name} is no list")
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise Unreadable(f"{where}{name}[{number}] is no object")
        yield f"{where}{name}[{number}].", item


def levels(signal: Signal) -> tuple[str, str, str]:
    return _FORMS[signal].levels


def answer(signal: Signal, content_type: str, rejected: int = 0, reason: str = "") -> bytes:
    """An export response; with nothing rejected, `partial_success` is not set."""
    form = _FORMS[signal]
    partial = {form.rejected: str(rejected), "errorMessage": reason} if rejected else {}
    if content_type == JSON:
        return msgspec.json.encode({"partialSuccess": partial} if partial else {})
    message = form.response()
    if partial:
        held = message.partial_success
        setattr(held, _snake(form.rejected), rejected)
        held.error_message = reason
    return bytes(message.SerializeToString())


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def status(content_type: str, code: int, text: str) -> bytes:
    """A `google.rpc.Status` {code, message}: what OTLP answers errors with.

    Written by hand: two fields (int32 code = 1, string message = 2) are not worth googleapis' package.
    """
    if content_type != PROTOBUF:
        return json.dumps({"code": code, "message": text}).encode()
    said = text.encode("utf-8", "replace")
    return b"\x08" + _varint(code) + b"\x12" + _varint(len(said)) + said


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)
