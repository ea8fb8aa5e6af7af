"""Severities of many loggers on OpenTelemetry's scale."""

import pytest

from retrieval.ingest import severity


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        *(("ERROR", 17), ("err", 17), ("[Error]", 17), ("SEVERE", 17), ("warning", 13), ("WARN2", 14), ("fatal", 21)),
        *(("critical", 18), ("Information", 9), ("notice", 10), ("debug", 5), ("trace", 1), (40, 17), (50, 18)),
        *((20, 9), ("30", 13), (3, 17), (6, 9)),
    ],
)
def test_names_and_numbers(written: object, expected: int) -> None:
    assert severity.of_value(written) == expected


@pytest.mark.parametrize("written", [None, True, "shop", "", -1, [], "severe weather"])
def test_what_is_no_severity_is_none(written: object) -> None:
    assert severity.of_value(written) is None


def test_pino_counts_ten_higher_than_python() -> None:
    assert severity.of_value(50, pino=True) == 17
    assert severity.of_value(60, pino=True) == 21
    assert severity.of_value(5, pino=True) == 1


def test_syslog_counts_down() -> None:
    assert severity.of_value(3, syslog=True) == 17
    assert severity.of_value(0, syslog=True) == 21
    assert severity.of_value(9, syslog=True) is None
