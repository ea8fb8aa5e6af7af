"""Logs as lines of text."""

from pathlib import Path
from typing import Any

import pytest

from retrieval.ingest.readers import textlog
from retrieval.ingest.readers.textlog import READER
from retrieval.model import LogRecord

from .folders import TRACEBACK, reasons, run, write

AT = 1_741_698_608_000_000_000  # 2025-03-11T13:10:08Z
HOUR = 3_600_000_000_000
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

LAYOUTS = {
    "python": "2025-03-11 13:10:08,000 ERROR shop.cart: no stock",
    "python's default": "2025-03-11 13:10:08,000 - shop.cart - ERROR - no stock",
    "padded": "2025-03-11T13:10:08Z ERROR   shop.cart no stock",
    "level first": "ERROR 2025-03-11 13:10:08,000 shop.cart no stock",
    "loguru": "2025-03-11 13:10:08.000 | ERROR    | shop.cart:add:17 - no stock",
    "logback": "2025-03-11 13:10:08.000 [main] ERROR shop.cart - no stock",
    "logback without a day": "13:10:08.000 [main] ERROR shop.cart - no stock",
    "spring": "2025-03-11 13:10:08.000  ERROR 1 --- [nio-8080-exec-1] shop.cart    : no stock",
    "log4j": "2025-03-11 13:10:08,000 ERROR [main] shop.cart: no stock",
    "flask": "[2025-03-11 13:10:08,000] ERROR in shop.cart: no stock",
    "logfmt": 'ts=2025-03-11T13:10:08Z level=error logger=shop.cart msg="no stock"',
    "logrus": 'time="2025-03-11T13:10:08Z" level=error msg="no stock" logger=shop.cart',
    "kubernetes": "2025-03-11T13:10:08.000Z stderr F 2025-03-11 13:10:08,000 ERROR shop.cart: no stock",
    "ruby": "E, [2025-03-11T13:10:08.000000 #4242] ERROR -- shop.cart: no stock",
    "epoch": "1741698608.000 ERROR shop.cart: no stock",
    "syslog": "Mar 11 13:10:08 web-1 shop.cart[4242]: ERROR no stock",
    "syslog, rfc 5424": "<11>1 2025-03-11T13:10:08.000Z web-1 shop.cart 4242 - - no stock",
    "apache": "[Tue Mar 11 13:10:08.000000 2025] [core:error] [pid 35] shop.cart: no stock",
}


def read(folder: Path, *lines: str, name: str = "shop.log") -> list[LogRecord]:
    records, problems = run(READER, write(folder, name, *lines), AT + HOUR)
    assert reasons(problems) == []
    return records


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_record_in_every_layout(tmp_path: Path, layout: str) -> None:
    (record,) = read(tmp_path, LAYOUTS[layout])
    assert (record.time_ns, record.severity, record.logger, record.body) == (AT, 17, "shop.cart", "no stock")


def test_klog_has_a_place_for_a_logger(tmp_path: Path) -> None:
    (record,) = read(tmp_path, "E0311 13:10:08.000000   4242 cart.go:17] no stock")
    assert (record.time_ns, record.severity, record.logger, record.body) == (AT, 17, "cart.go:17", "no stock")


def test_access_logs_say_what_was_asked(tmp_path: Path) -> None:
    (record,) = read(
        tmp_path, '10.0.0.7 - ada [11/Mar/2025:14:10:08 +0100] "GET /cart?id=7 HTTP/1.1" 500 23 "-" "curl"'
    )
    assert (record.time_ns, record.severity) == (AT, 9)
    assert record.attributes == {
        "http.request.method": "GET",
        "url.path": "/cart",
        "url.query": "id=7",
        "http.response.status_code": 500,
        "client.address": "10.0.0.7",
    }


@pytest.mark.parametrize(
    "line",
    [
        f"2025-03-11 13:10:08,000 ERROR shop [trace={TRACE} span={SPAN}] no stock",
        f"2025-03-11 13:10:08,000 ERROR [shop,{TRACE},{SPAN}] no stock",
        f"2025-03-11 13:10:08,000 ERROR shop: no stock trace_id={TRACE} span_id={SPAN}",
        f"ts=2025-03-11T13:10:08Z level=error msg=x trace_id={TRACE} span_id={SPAN}",
    ],
)
def test_ids_are_found_where_loggers_put_them(tmp_path: Path, line: str) -> None:
    (record,) = read(tmp_path, line)
    assert (record.trace_id, record.span_id) == (TRACE, SPAN)


def test_an_id_in_words_is_found_as_well(tmp_path: Path) -> None:
    (record,) = read(tmp_path, f"2025-03-11 13:10:08 ERROR shop: failed (trace id: {TRACE})")
    assert record.trace_id == TRACE


def test_pairs_become_attributes_and_the_message_stays(tmp_path: Path) -> None:
    (record,) = read(tmp_path, '2025-03-11 13:10:08 INFO shop: sold sku=A-7 to=\'Ada B\' note="a \\"b\\"" at f(x=1)')
    assert record.attributes == {"sku": "A-7", "to": "Ada B", "note": 'a "b"'}
    assert record.body.startswith("sold sku=A-7")


def test_a_traceback_belongs_to_the_record_before_it(tmp_path: Path) -> None:
    lines = [
        "2025-03-11 13:10:08 ERROR shop: Exception on /cart [POST]",
        *TRACEBACK.split("\n"),
        "2025-03-11 13:10:09 INFO shop: next",
    ]
    first, second = read(tmp_path, *lines)
    assert first.body == "Exception on /cart [POST]"
    assert first.exception is not None
    assert first.exception.raw == TRACEBACK
    assert (first.exception.type, first.exception.message) == ("shop.cart.NoStock", "no stock of A-7")
    assert (second.body, second.exception, second.source.line) == ("next", None, 8)


def test_a_dump_stays_in_the_message(tmp_path: Path) -> None:
    (record,) = read(
        tmp_path, "ts=2025-03-11T13:10:08Z level=error msg=dump", "  task 1", "    at /app/a.py:1 in f", "", ""
    )
    assert record.body == "dump\n  task 1\n    at /app/a.py:1 in f"
    assert record.exception is None


def test_a_line_with_a_level_but_no_time_has_the_time_of_the_one_before(tmp_path: Path) -> None:
    _, record = read(tmp_path, "2025-03-11 13:10:08 INFO shop: started", "ERROR:shop.cart: no stock")
    assert (record.time_ns, record.severity, record.body) == (AT, 17, "no stock")


def test_json_between_lines_of_text_is_read_as_json(tmp_path: Path) -> None:
    lines = [
        "2025-03-11 13:10:08 INFO shop: started",
        '{"ts": "2025-03-11T13:10:09Z", "level": "error", "msg": "no stock"}',
        "{x",
    ]
    text, json, *rest = read(tmp_path, *lines[:2])
    assert (text.body, json.body, json.severity, rest) == ("started", "no stock", 17, [])


def test_json_without_a_time_is_reported(tmp_path: Path) -> None:
    _, problems = run(READER, write(tmp_path, "x.log", '{"msg": "x"}'))
    assert "has no time" in problems[0].reason


def test_a_word_is_a_logger_once_it_was_one(tmp_path: Path) -> None:
    first, second, third = read(
        tmp_path,
        "2025-03-11 13:10:08 INFO cart.stock: low",
        "2025-03-11 13:10:08 INFO cart emptied",
        "2025-03-11 13:10:08 INFO basket emptied",
    )
    assert [first.logger, second.logger, third.logger] == ["cart.stock", "cart", ""]
    assert third.body == "basket emptied"


def test_brackets_that_are_no_header_begin_the_message(tmp_path: Path) -> None:
    (record,) = read(tmp_path, "2025-03-11 13:10:08 INFO shop: [Errno 111] refused (see [1])")
    assert record.body == "[Errno 111] refused (see [1])"


def test_lines_without_a_time_are_reported_once_and_counted(tmp_path: Path) -> None:
    records, problems = run(READER, write(tmp_path, "x.log", "what", "is", "this", "2025-03-11 13:10:08 INFO x: y"))
    assert len(records) == 1
    assert reasons(problems) == [
        "x.log: 3 lines without a time could not be placed",
        "x.log:1: no time can be read here, nor on a line before it",
    ]


def test_a_record_that_goes_on_for_ever_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textlog, "MAX_CONTINUATION", 100)
    lines: list[Any] = ["2025-03-11 13:10:08 INFO x: y", *[" more and more"] * 50]
    (record,), problems = run(READER, write(tmp_path, "x.log", *lines))
    assert len(record.body) < 130
    assert "lines of one record beyond 100 characters were left out" in problems[0].reason


def test_a_layout_that_changes_within_a_file_is_followed(tmp_path: Path) -> None:
    records = read(tmp_path, LAYOUTS["python"], LAYOUTS["logfmt"], LAYOUTS["syslog"], LAYOUTS["python"])
    assert {r.time_ns for r in records} == {AT}
    assert len(records) == 4


@pytest.mark.parametrize(
    "line", ["[" * 5000, "a=" * 5000, "2025-03-11 13:10:08 " + "[a=b " * 3000, '"' * 5000, "(" * 5000]
)
def test_hostile_lines_take_no_time(tmp_path: Path, line: str) -> None:
    run(READER, write(tmp_path, "x.log", line, "2025-03-11 13:10:08 ERROR " + line))


@pytest.mark.parametrize("key", ["stack", "exc", "error_details"])
def test_a_stack_in_a_field_of_a_logfmt_line_is_the_exception(tmp_path: Path, key: str) -> None:
    escaped = TRACEBACK.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    (record,) = read(tmp_path, f'{LAYOUTS["logfmt"]} sku=A-7 {key}="{escaped}"')
    assert record.exception is not None
    assert record.exception.trace is not None
    assert (record.exception.type, record.exception.trace.crash.function) == ("shop.cart.NoStock", "add")
    assert record.attributes == {"sku": "A-7"}
