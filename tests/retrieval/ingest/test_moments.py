"""Times as files write them."""

import re

import pytest

from retrieval.ingest.moments import CLOCK, KLOG, SYSLOG, of_match, time_ns

AT = 1_741_698_608_395_000_000  # 2025-03-11T13:10:08.395Z


@pytest.mark.parametrize(
    "written",
    [
        "2025-03-11T13:10:08.395Z",
        "2025-03-11 13:10:08,395",
        "2025-03-11T14:10:08.395+01:00",
        "2025-03-11T06:40:08.395-0630",
        "2025/03/11 13:10:08.395000000",
        "2025-03-11 13:10:08.395 UTC",
        "Tue Mar 11 13:10:08.395 2025",
        "Tue, 11 Mar 2025 13:10:08.395 GMT",
        1741698608.395,
        1741698608395,
        1741698608395000,
        1741698608395000000,
        "1741698608395000000",
        "1741698608.395",
    ],
)
def test_one_moment_is_read_from_every_layout(written: object) -> None:
    assert time_ns(written) == AT


def test_nanoseconds_are_kept_and_further_digits_dropped() -> None:
    assert time_ns("2025-03-11T13:10:08.123456789123Z") == 1_741_698_608_123_456_789


def test_a_date_alone_is_its_midnight() -> None:
    assert time_ns("2025-03-11") == 1_741_651_200_000_000_000


def test_the_access_log_layout_has_a_zone() -> None:
    assert time_ns("11/Mar/2025:14:10:08 +0100") == 1_741_698_608_000_000_000


@pytest.mark.parametrize(
    "written",
    [
        *(
            None,
            True,
            "",
            "soon",
            "1130 22:50:45",
            "2025-13-01T00:00:00Z",
            "2025-02-30",
            "25:61:00",
            float("nan"),
            0,
            -5,
        ),
        *(float("inf"), "9" * 40, "2025-03-11T13:10:61Z", "Mar 11", {"seconds": 1}, [1], "12", 10**30, "1e400"),
    ],
)
def test_what_is_no_time_is_none(written: object) -> None:
    assert time_ns(written) is None


@pytest.mark.parametrize(
    ("layout", "written", "expected"),
    [
        (SYSLOG, "Mar 11 13:10:08", 1_741_698_608_000_000_000),
        (KLOG, "0311 13:10:08.395", AT),
        (CLOCK, "13:10:08,395", AT),
    ],
)
def test_a_missing_year_or_day_is_the_one_nearest_to_the_incident(layout: str, written: str, expected: int) -> None:
    match = re.fullmatch(layout, written)
    assert match is not None
    assert of_match(match, AT + 3_600_000_000_000) == expected
    assert of_match(match, 0) is None


def test_new_years_eve_belongs_to_the_year_before() -> None:
    match = re.fullmatch(SYSLOG, "Dec 31 23:59:58")
    assert match is not None
    assert of_match(match, time_ns("2026-01-01T00:10:00Z") or 0) == time_ns("2025-12-31T23:59:58Z")


def test_a_leap_day_is_looked_for_in_a_leap_year() -> None:
    match = re.fullmatch(KLOG, "0229 12:00:00.0")
    assert match is not None
    assert of_match(match, time_ns("2025-01-10T00:00:00Z") or 0) == time_ns("2024-02-29T12:00:00Z")
    assert of_match(match, time_ns("2022-06-10T00:00:00Z") or 0) is None
