"""Log records as JSON, whoever wrote them."""

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval.ingest.readers.logs import READER
from retrieval.model import LogRecord

from .folders import CAPTURED, TRACEBACK, reasons, run, write

AT = 1_741_698_608_395_000_000
ISO = "2025-03-11T13:10:08.395Z"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def one(folder: Path, line: dict[str, Any]) -> LogRecord:
    records, problems = run(READER, write(folder, "x.jsonl", line))
    assert reasons(problems) == []
    (record,) = records
    assert isinstance(record, LogRecord)
    return record


WRITERS: dict[str, dict[str, Any]] = {
    "otlp names": {
        "timeUnixNano": str(AT),
        "severityNumber": 17,
        "body": "no stock",
        "traceId": TRACE,
        "spanId": SPAN,
        "scope": "shop.cart",
        "attributes": {"sku": "A-7"},
        "resource": {"service.name": "shop"},
    },
    "otlp request": {
        "resourceLogs": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                "scopeLogs": [
                    {
                        "scope": {"name": "shop.cart"},
                        "logRecords": [
                            {
                                "timeUnixNano": AT,
                                "severityText": "ERROR",
                                "body": {"stringValue": "no stock"},
                                "traceId": TRACE,
                                "spanId": SPAN,
                                "attributes": [{"key": "sku", "value": {"stringValue": "A-7"}}],
                            }
                        ],
                    }
                ],
            }
        ]
    },
    "ecs, dotted": {
        "@timestamp": ISO,
        "log.level": "error",
        "message": "no stock",
        "service.name": "shop",
        "log.logger": "shop.cart",
        "trace.id": TRACE,
        "span.id": SPAN,
        "sku": "A-7",
    },
    "ecs, nested": {
        "@timestamp": ISO,
        "log": {"level": "error", "logger": "shop.cart"},
        "message": "no stock",
        "service": {"name": "shop"},
        "trace": {"id": TRACE},
        "span": {"id": SPAN},
        "sku": "A-7",
    },
    "plain": {
        "ts": ISO,
        "level": "ERROR",
        "service": "shop",
        "logger": "shop.cart",
        "message": "no stock",
        "trace_id": TRACE,
        "span_id": SPAN,
        "sku": "A-7",
    },
    "structlog": {
        "event": "no stock",
        "level": "error",
        "timestamp": ISO,
        "logger": "shop.cart",
        "service": "shop",
        "trace_id": TRACE,
        "span_id": SPAN,
        "sku": "A-7",
    },
    "log4j2": {
        "instant": {"epochSecond": 1741698608, "nanoOfSecond": 395000000},
        "level": "ERROR",
        "loggerName": "shop.cart",
        "message": "no stock",
        "contextMap": {"trace_id": TRACE, "span_id": SPAN},
        "service": "shop",
        "sku": "A-7",
    },
    "datadog": {
        "timestamp": 1741698608395,
        "level": "error",
        "message": "no stock",
        "logger": {"name": "shop.cart"},
        "dd": {"trace_id": TRACE, "span_id": SPAN},
        "service": "shop",
        "sku": "A-7",
    },
    "a container's line that nobody parsed": {
        "timeUnixNano": AT,
        "body": f'{{"ts":"{ISO}","level":"error","logger":"shop.cart","msg":"no stock","sku":"A-7",'
        f'"trace_id":"{TRACE}","span_id":"{SPAN}"}}',
        "resource": {"service.name": "shop"},
    },
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_same_record_by_every_writer(tmp_path: Path, writer: str) -> None:
    record = one(tmp_path, WRITERS[writer])
    assert (record.time_ns, record.severity, record.body) == (AT, 17, "no stock")
    assert (record.service, record.logger) == ("shop", "shop.cart")
    assert (record.trace_id, record.span_id) == (TRACE, SPAN)
    assert record.attributes["sku"] == "A-7"


EXCEPTIONS: dict[str, dict[str, Any]] = {
    "otel": {
        "attributes": {
            "exception.type": "NoStock",
            "exception.message": "no stock of A-7",
            "exception.stacktrace": TRACEBACK,
        }
    },
    "ecs": {"error.type": "NoStock", "error.message": "no stock of A-7", "error.stack_trace": TRACEBACK},
    "ecs, nested": {"error": {"type": "NoStock", "message": "no stock of A-7", "stack_trace": TRACEBACK}},
    "structlog as text": {"exception": TRACEBACK},
    "a stack": {"stack": TRACEBACK},
    "python-json-logger": {"exc_info": TRACEBACK},
    "lines": {"stack_trace": TRACEBACK.split("\n")},
    "a name of its own": {"exc": TRACEBACK},
    "inside the message": {"message": f"request failed\n{TRACEBACK}"},
    "bunyan": {"err": {"name": "shop.cart.NoStock", "message": "no stock of A-7", "stack": TRACEBACK}},
}


@pytest.mark.parametrize("writer", EXCEPTIONS)
def test_the_same_exception_by_every_writer(tmp_path: Path, writer: str) -> None:
    record = one(tmp_path, {"ts": ISO, "level": "error", "message": "request failed"} | EXCEPTIONS[writer])
    assert record.body == "request failed"
    assert record.exception is not None
    assert record.exception.trace is not None
    assert (record.exception.type, record.exception.message) == ("shop.cart.NoStock", "no stock of A-7")
    assert record.exception.raw == TRACEBACK
    crash = record.exception.trace.crash
    assert crash is not None
    assert (crash.file, crash.function, crash.line) == ("/app/shop/cart.py", "add", 17)
    assert not any("\n" in str(v) for v in record.attributes.values())


def test_a_captured_export_of_the_python_sdk() -> None:
    records, problems = run(READER, CAPTURED / "otlp" / "py_json_logs_1.body.json")
    (record,) = records
    assert reasons(problems) == []
    assert (record.service, record.body, record.severity) == ("checkout", "charge failed", 17)
    assert record.exception.type == "TimeoutError"
    assert record.attributes == {
        "order_id": 1234,
        "code.file.path": "/srv/checkout/otel/emit.py",
        "code.function.name": "<module>",
        "code.line.number": 38,
    }
    assert record.resource["container.image.tags"] == ["1.42.0"]


def test_the_application_s_own_data_stays_whole(tmp_path: Path) -> None:
    order = {"id": 7, "lines": [{"sku": "A-7", "count": 2}]}
    record = one(tmp_path, {"ts": ISO, "msg": "order in", "order": order, "http": {"request": {"method": "POST"}}})
    assert record.attributes == {"order": order, "http.request.method": "POST"}


def test_names_that_a_record_uses_twice_are_not_lost(tmp_path: Path) -> None:
    line = {
        "timeUnixNano": AT,
        "body": "x",
        "scope": "shop",
        "attributes": {"date": "2025-03-30", "name": "Ada", "event": 3},
    }
    assert one(tmp_path, line).attributes == {"date": "2025-03-30", "name": "Ada", "event": 3}


def test_a_word_called_trace_is_no_id(tmp_path: Path) -> None:
    record = one(tmp_path, {"ts": ISO, "msg": "x", "trace": "on", "span": "wide"})
    assert (record.trace_id, record.attributes) == ("", {"trace": "on", "span": "wide"})


def test_an_error_that_is_one_word_is_an_attribute(tmp_path: Path) -> None:
    record = one(tmp_path, {"ts": ISO, "msg": "upstream", "error": "refused", "error.type": "timeout"})
    assert record.exception is None
    assert record.attributes == {"error": "refused", "error.type": "timeout"}
    assert record.severity == 9


def test_an_object_as_body_is_read_as_the_record(tmp_path: Path) -> None:
    kv = {
        "kvlistValue": {
            "values": [{"key": "event", "value": {"stringValue": "sold"}}, {"key": "n", "value": {"intValue": "3"}}]
        }
    }
    record = one(tmp_path, {"timeUnixNano": AT, "body": kv})
    assert (record.body, record.attributes) == ("sold", {"n": 3})


def test_pino_and_gelf_levels(tmp_path: Path) -> None:
    pino = {"level": 50, "time": 1741698608395, "pid": 1, "hostname": "h", "msg": "x"}
    gelf = {"version": "1.1", "short_message": "x", "level": 3, "timestamp": 1741698608.395}
    assert [one(tmp_path, pino).severity, one(tmp_path, gelf).severity] == [17, 17]
    assert one(tmp_path, {"timeUnixNano": AT, "severityNumber": "SEVERITY_NUMBER_WARN", "body": "x"}).severity == 13


def test_a_record_without_level_is_an_error_if_it_holds_an_exception(tmp_path: Path) -> None:
    assert one(tmp_path, {"ts": ISO, "exception": TRACEBACK}).severity == 17
    assert one(tmp_path, {"ts": ISO, "exception": TRACEBACK}).body == "shop.cart.NoStock: no stock of A-7"
    assert one(tmp_path, {"ts": ISO, "msg": "x"}).severity == 9


def test_other_shapes_of_fields(tmp_path: Path) -> None:
    google = {"timestamp": ISO, "message": 5, "trace": f"projects/p/traces/{TRACE}", "fields": {"sku": "A-7"}}
    record = one(tmp_path, google)
    assert (record.body, record.trace_id, record.attributes["sku"]) == ("5", TRACE, "A-7")
    assert one(tmp_path, {"ts": ISO, "logentry": {"formatted": "no stock"}}).body == "no stock"
    assert one(tmp_path, {"ts": ISO, "message": '{"not": "a record"}'}).body == '{"not": "a record"}'
    assert one(tmp_path, {"ts": ISO, "message": "{half"}).body == "{half"
    assert one(tmp_path, {"instant": {"epochSecond": "x"}, "ts": ISO, "msg": ""}).body == ""


def test_broken_lines_are_reported_and_the_rest_is_used(tmp_path: Path) -> None:
    good = {"ts": ISO, "msg": "kept"}
    path = write(
        tmp_path, "x.jsonl", good, '{"ts": "2025', '"text"', "", {"msg": "no time"}, {"ts": "soon", "msg": "x"}, good
    )
    records, problems = run(READER, path)
    assert [r.source.line for r in records] == [1, 7]
    assert [p.source.line for p in problems] == [2, 3, 5, 6]
    assert "expected a field such as" in problems[2].reason


def test_text_that_is_no_unicode_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"ts": "2025-03-11T13:10:08Z", "msg": "bom"}\r\n'
        b'{"ts": "2025-03-11T13:10:08Z", "msg": "\\ud800 lone", "n": NaN}\n'
        b'{"ts": "2025-03-11T13:10:08Z", "msg": "\xff bytes"}\n'
        b"\x00\x00\x00\n"
    )
    records, problems = run(READER, path)
    assert [r.body for r in records] == ["bom", "\ufffd lone", "\ufffd bytes"]
    assert [p.source.line for p in problems] == [4]
    for record in records:
        record.body.encode()


def test_of_very_many_broken_lines_the_first_are_told_and_the_others_counted(tmp_path: Path) -> None:
    _, problems = run(READER, write(tmp_path, "x.jsonl", *["{"] * 300))
    assert len(problems) == 51
    assert problems[-1].reason == "250 more lines could not be used"


def test_an_endless_line_is_skipped_and_the_next_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.ingest.jsonlines.MAX_LINE", 200)
    path = write(tmp_path, "x.jsonl", {"ts": ISO, "msg": "a" * 900}, {"ts": ISO, "msg": "next"})
    records, problems = run(READER, path)
    assert [r.body for r in records] == ["next"]
    assert "longer than 200 bytes" in problems[0].reason


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    _, problems = run(READER, tmp_path / "absent.jsonl")
    assert "can't be read (No such file or directory)" in problems[0].reason


def test_a_json_file_may_be_one_document(tmp_path: Path) -> None:
    lines = [{"ts": ISO, "msg": "one"}, {"ts": ISO, "msg": "two"}]
    for text, expected in ((json.dumps(lines, indent=2), ["one", "two"]), (json.dumps(lines[0], indent=2), ["one"])):
        records, problems = run(READER, write(tmp_path, "x.json", text))
        assert ([r.body for r in records], reasons(problems)) == (expected, [])
    records, _ = run(READER, write(tmp_path, "x.json", *lines))
    assert [str(r.source) for r in records] == ["x.json:1", "x.json:2"]
    assert len(run(READER, write(tmp_path, "x.json", "[1,", "2]"))[1]) == 2
    assert len(run(READER, write(tmp_path, "x.json", "[", "2]"))[1]) == 2


def test_a_json_file_too_large_to_be_read_whole_is_read_by_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.ingest.jsonlines.MAX_DOCUMENT", 10)
    records, _ = run(READER, write(tmp_path, "x.json", {"ts": ISO, "msg": "one"}))
    assert [r.body for r in records] == ["one"]
    assert "can't be read" in run(READER, tmp_path / "absent.json")[1][0].reason
