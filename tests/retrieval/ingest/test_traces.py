"""Spans out of OTLP JSON and its relatives."""

from pathlib import Path
from typing import Any

import pytest

from retrieval.ingest.readers.traces import READER
from retrieval.model import Span

from .folders import CAPTURED, TRACEBACK, reasons, run, write

TRACE, SPAN, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "b7ad6b7169203331"
FLAT: dict[str, Any] = {
    "traceId": TRACE,
    "spanId": SPAN,
    "parentSpanId": PARENT,
    "name": "GET /cart",
    "kind": 2,
    "startTimeUnixNano": "1741698608395000000",
    "endTimeUnixNano": 1741698608495000000,
    "status": {"code": 2, "message": "boom"},
    "attributes": {"http.response.status_code": 500},
    "resource": {"service.name": "shop"},
}


def one(folder: Path, line: dict[str, Any]) -> Span:
    spans, problems = run(READER, write(folder, "t.jsonl", line))
    assert reasons(problems) == []
    (span,) = spans
    assert isinstance(span, Span)
    return span


def test_a_span_a_line(tmp_path: Path) -> None:
    span = one(tmp_path, FLAT)
    assert (span.trace_id, span.span_id, span.parent_span_id) == (TRACE, SPAN, PARENT)
    assert (span.service, span.kind, span.status, span.status_message) == ("shop", "server", "error", "boom")
    assert span.end_ns - span.start_ns == 100_000_000
    assert span.http_status == 500
    assert str(span.source) == "t.jsonl:1"


def test_the_same_span_as_an_export_request(tmp_path: Path) -> None:
    raw = {k: v for k, v in FLAT.items() if k != "resource"}
    raw["attributes"] = [{"key": "http.response.status_code", "value": {"intValue": "500"}}]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    request = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": [raw]}]}]}
    assert one(tmp_path, request) == one(tmp_path, FLAT)


def test_what_the_python_sdk_prints_on_its_console(tmp_path: Path) -> None:
    span = one(
        tmp_path,
        {
            "name": "GET /cart",
            "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{SPAN}", "trace_state": "[]"},
            "kind": "SpanKind.SERVER",
            "parent_id": f"0x{PARENT}",
            "start_time": "2025-03-11T13:10:08.395000Z",
            "end_time": "2025-03-11T13:10:08.495000Z",
            "status": {"status_code": "ERROR", "description": "boom"},
            "attributes": {"http.response.status_code": 500},
            "events": [],
            "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
        },
    )
    assert span == one(tmp_path, FLAT)


def test_captured_exports_are_read_whole() -> None:
    js, _ = run(READER, CAPTURED / "otlp" / "js_json_traces_1.body.json")
    assert [s.exception.type for s in js if s.exception] == ["TypeError"]
    assert js[0].attributes["big"] == 9007199254740991
    assert js[0].attributes["arr"] == ["a", "b"]
    python, problems = run(READER, CAPTURED / "otlp" / "py_json_traces_1.body.json")
    assert {s.service for s in python} == {"checkout"}
    assert all(len(s.trace_id) == 32 and len(s.span_id) == 16 for s in python)
    assert reasons(problems) == []


def test_the_last_exception_event_is_the_exception(tmp_path: Path) -> None:
    events = [
        {"name": "exception", "timeUnixNano": 1741698608400000000, "attributes": {"exception.type": "ValueError"}},
        {
            "name": "exception",
            "timeUnixNano": 1741698608410000000,
            "attributes": {
                "exception.type": "NoStock",
                "exception.message": "no stock of A-7",
                "exception.stacktrace": TRACEBACK,
            },
        },
    ]
    span = one(tmp_path, FLAT | {"events": events})
    assert span.exception is not None
    assert span.exception.trace is not None
    assert span.exception.type == "shop.cart.NoStock"
    assert span.exception.message == "no stock of A-7"
    assert [(f.function, f.in_app) for f in span.exception.trace.frames] == [("dispatch_request", False), ("add", True)]
    assert [e.time_ns for e in span.events] == [1741698608400000000, 1741698608410000000]


def test_an_exception_in_the_attributes_is_read_too(tmp_path: Path) -> None:
    span = one(tmp_path, FLAT | {"attributes": {"exception.type": "KeyError", "exception.message": "'sku'"}})
    assert span.exception is not None
    assert (span.exception.type, span.exception.message, span.exception.trace) == ("KeyError", "'sku'", None)


def test_an_error_type_alone_is_an_outcome_and_no_exception(tmp_path: Path) -> None:
    assert one(tmp_path, FLAT | {"attributes": {"error.type": "500"}}).exception is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(3, "client"), ("4", "producer"), ("SPAN_KIND_CONSUMER", "consumer"), ("odd", "internal"), (99, "internal")],
)
def test_kinds_come_as_numbers_or_names(tmp_path: Path, kind: object, expected: str) -> None:
    assert one(tmp_path, FLAT | {"kind": kind}).kind == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [({}, "unset"), ({"code": 1}, "ok"), ("ERROR", "error"), ({"code": "STATUS_CODE_ERROR"}, "error"), (None, "unset")],
)
def test_statuses_come_as_numbers_or_names(tmp_path: Path, status: object, expected: str) -> None:
    assert one(tmp_path, FLAT | {"status": status}).status == expected


def test_a_span_without_ids_or_times_is_reported_and_the_rest_used(tmp_path: Path) -> None:
    path = write(tmp_path, "t.jsonl", {"name": "x"}, "{broken", FLAT, FLAT | {"startTimeUnixNano": "soon"}, "[1]")
    spans, problems = run(READER, path)
    assert len(spans) == 1
    assert [p.source.line for p in problems] == [1, 2, 4, 5]
    assert "is no JSON" in problems[1].reason


def test_wrong_types_are_tolerated(tmp_path: Path) -> None:
    span = one(
        tmp_path,
        FLAT
        | {"name": 7, "attributes": "none", "events": {"a": 1}, "resource": [], "status": 3, "endTimeUnixNano": []},
    )
    assert (span.name, span.attributes, span.events, span.resource) == ("7", {}, (), {})
    assert span.end_ns == span.start_ns


def test_a_value_that_is_nested_absurdly_ends_somewhere(tmp_path: Path) -> None:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(60):
        value = {"arrayValue": {"values": [value]}}
    assert one(tmp_path, FLAT | {"attributes": [{"key": "deep", "value": value}]}).attributes["deep"]
    path = write(tmp_path, "deep.jsonl", '{"a":' * 100_000 + "1" + "}" * 100_000, FLAT)
    spans, problems = run(READER, path)
    assert len(spans) == 1
    assert "nested too deeply" in problems[0].reason
