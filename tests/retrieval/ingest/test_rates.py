"""Counters become rates, distributions rates, means and a quantile; levels stay what they are."""

import random
from typing import Any

import pytest
from msgspec.structs import replace

from retrieval.ingest.otlp_metrics import Point
from retrieval.ingest.rates import FIRST_STRETCH_NS, Key, Total, key_of, quantile, series_of
from retrieval.model import Series, SourceRef

START, SECOND = 1_796_079_600 * 10**9, 10**9
FROM = SourceRef("otlp/metrics")


def a_point(second: float, value: float, kind: str = "total", **more: Any) -> Point:
    fields = {"metric": "orders", "start_ns": START, "labels": {"service": "pay"}, **more}
    return Point(kind=kind, time_ns=START + int(second * SECOND), value=value, **fields)


def values(*points: Point, totals: dict[Key, Total] | None = None) -> dict[str, list[tuple[float, float]]]:
    series, _ = series_of(points, totals or {}, FROM)
    return {s.metric: [((t - START) / SECOND, v) for t, v in s.points] for s in series}


def test_a_counter_becomes_events_per_second_from_point_to_point() -> None:
    found = values(a_point(10, 20), a_point(20, 20), a_point(40, 60))

    assert found == {"orders_rate": [(10, 2.0), (20, 0.0), (40, 2.0)]}


def test_a_first_point_long_after_the_start_says_nothing_about_now() -> None:
    late = FIRST_STRETCH_NS / SECOND + 1

    assert values(a_point(late, 10**6), a_point(late + 10, 10**6 + 50)) == {"orders_rate": [(late + 10, 5.0)]}
    assert values(a_point(10, 5, start_ns=0)) == {}


def test_a_counter_that_was_set_back_begins_anew() -> None:
    restarted = a_point(70, 30, start_ns=START + 60 * SECOND)

    assert values(a_point(50, 500), restarted)["orders_rate"] == [(50, 10.0), (70, 3.0)]
    assert values(a_point(400, 500, start_ns=0), a_point(410, 7, start_ns=0), a_point(420, 17, start_ns=0)) == {
        "orders_rate": [(420, 1.0)]
    }


def test_increases_are_divided_by_the_time_that_they_took() -> None:
    first = a_point(10, 30, "increase")
    second = a_point(20, 5, "increase", start_ns=START + 10 * SECOND)

    assert values(first, second) == {"orders_rate": [(10, 3.0), (20, 0.5)]}
    assert values(a_point(10, 30, "increase", start_ns=0)) == {}


def test_points_that_come_late_or_twice_count_once() -> None:
    first, second = a_point(10, 20), a_point(20, 40)
    _, totals = series_of([first, second], {}, FROM)

    assert values(second, first, totals=totals) == {}
    assert values(second, a_point(30, 70), first, totals=totals) == {"orders_rate": [(30, 3.0)]}


def test_a_distribution_becomes_a_rate_a_mean_and_a_quantile() -> None:
    shape = {"distribution": True, "unit": "s", "bounds": (0.1, 1.0)}
    first = a_point(10, 10, sum=1.0, buckets=(10, 0, 0), **shape)
    second = a_point(20, 30, sum=21.0, buckets=(10, 20, 0), **shape)
    series, _ = series_of([first, second], {}, FROM)
    found = {s.metric: (s.unit, [v for _, v in s.points]) for s in series}

    assert found["orders_rate"] == ("1/s", [1.0, 2.0])
    assert found["orders_mean"] == ("s", [0.1, 1.0])
    assert found["orders_p95"] == ("s", [pytest.approx(0.095), pytest.approx(0.955)])


def test_a_stretch_without_events_has_a_rate_only() -> None:
    shape = {"distribution": True, "buckets": (4,), "bounds": (), "sum": 2.0}

    assert values(a_point(10, 4, **shape), a_point(20, 4, **shape)) == {
        "orders_rate": [(10, 0.4), (20, 0.0)],
        "orders_mean": [(10, 0.5)],
    }


@pytest.mark.parametrize(
    ("counts", "bounds", "expected"),
    [
        ((0, 100), (1.0,), 1.0),
        ((100, 0), (10.0,), 9.5),
        ((0, 100, 0), (-2.0, -1.0), -1.05),
        ((1, 0, 0), (1.0, 2.0), 0.95),
    ],
)
def test_a_quantile_lies_in_its_bucket(counts: tuple[int, ...], bounds: tuple[float, ...], expected: float) -> None:
    assert quantile(0.95, counts, bounds) == pytest.approx(expected)


def test_levels_stay_and_labels_tell_series_apart() -> None:
    one, other = a_point(10, 5, "level"), a_point(10, 7, "level", labels={"service": "cart"})
    series, totals = series_of([other, one, a_point(5, 4, "level")], {}, FROM)

    assert [(s.service, [v for _, v in s.points]) for s in series] == [("cart", [7]), ("pay", [4, 5])]
    assert totals == {}


def test_pieces_give_the_same_series_as_the_whole_in_any_order() -> None:
    rng = random.Random(3)
    total, every = 0.0, []
    for second in range(10, 400, 10):
        total += rng.randint(0, 50)
        every.append(a_point(second, total))
        every.append(replace(a_point(second, rng.random(), "level"), metric="load"))
    whole, _ = series_of(every, {}, FROM)
    totals: dict[Key, Total] = {}
    pieces: dict[str, dict[int, float]] = {}
    for begin in range(0, len(every), 14):
        part = every[begin : begin + 14]
        rng.shuffle(part)
        series, reached = series_of(part, totals, FROM)
        totals |= reached
        for s in series:
            pieces.setdefault(s.metric, {}).update(dict(s.points))

    assert [dict(s.points) for s in whole] == [pieces[s.metric] for s in whole]
    assert totals[key_of(every[0])].value == total


def test_series_name_where_they_came_from() -> None:
    (series,), _ = series_of([a_point(10, 1, "level")], {}, FROM)

    assert isinstance(series, Series)
    assert (str(series.source), series.labels) == ("otlp/metrics", {"service": "pay"})
