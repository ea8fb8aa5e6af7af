"""Which service is least like itself, when no crash tells."""

import random

import pytest
from msgspec import structs

from retrieval.context.anomaly import Signs, rank_services, signs_of
from retrieval.context.requests import Requests
from retrieval.context.resources import jumped
from retrieval.context.splits import as_row, split_level, split_share
from retrieval.model import Case, CaseSources, LogRecord, Series, Span
from tests.retrieval.context.scene import MINUTE, alert, at, log, series, sources, span


def case(*records: object) -> Case:
    return Case(incident_id="i", alerts=(alert("edge"),), sources=sources(*records))


def traffic(broken: str = "", *, from_minute: float = -5, seed: int = 3) -> list[Span | LogRecord]:
    """edge -> shop -> stock, six requests a minute from -30 on, a fault in `stock` from `from_minute` on."""
    chance = random.Random(seed)
    records: list[Span | LogRecord] = []
    for n in range(180):
        minute = -30 + n / 6
        bad = broken if minute >= from_minute else ""
        inner = 20 + 4 * chance.random() + (400 if bad == "slow" else 0)
        gap = 3 + chance.random() + (900 if bad == "network" else 0)
        trace = f"r{n}"
        records += [
            span(minute, "edge", trace=trace, name_id="1", ms=inner + gap + 40),
            span(minute, "shop", trace=trace, name_id="2", parent="1", ms=inner + gap + 30),
            span(minute, "shop", "GET", trace=trace, name_id="3", parent="2", ms=inner + gap + 10, kind="client"),
            span(minute, "stock", trace=trace, name_id="4", parent="3", ms=inner + 10),
            span(minute, "stock", "SELECT", trace=trace, name_id="5", parent="4", ms=inner, kind="client"),
            log(minute, "request 7 begins", "edge", severity=9, trace=trace, span="1"),
            log(minute, "look up stock", "shop", severity=9, trace=trace, span="2"),
        ]
        if bad == "silent":
            records.append(log(minute, "price is unknown, using 0", "shop", severity=9, trace=trace, span="2"))
        else:
            records.append(log(minute, f"found {n} pieces", "stock", severity=9, trace=trace, span="4"))
    return records


def time_of(record: Span | LogRecord) -> int:
    return record.start_ns if isinstance(record, Span) else record.time_ns


def ten_hours_earlier(record: Span | LogRecord) -> Span | LogRecord:
    by, trace = 600 * MINUTE, "o" + record.trace_id
    if isinstance(record, LogRecord):
        return structs.replace(record, time_ns=record.time_ns - by, trace_id=trace)
    return structs.replace(record, start_ns=record.start_ns - by, end_ns=record.end_ns - by, trace_id=trace)


def first(*records: object) -> str:
    return rank_services(case(*records))[0][0]


def test_a_service_that_does_something_else_comes_before_its_callers() -> None:
    assert first(traffic("silent")) == "stock"
    signs = signs_of(case(traffic("silent")))
    assert signs["stock"].behaviour > 3 * signs["shop"].behaviour > signs["edge"].behaviour == 0


def test_a_slow_service_is_found_by_its_own_time() -> None:
    signs = signs_of(case(traffic("slow")))
    assert max(signs, key=lambda name: signs[name].score) == "stock"
    assert signs["stock"].own_time > 50 and signs["edge"].own_time < 5


def test_a_late_answer_over_the_network_is_the_callees() -> None:
    signs = signs_of(case(traffic("network")))
    assert max(signs, key=lambda name: signs[name].score) == "stock"
    assert signs["stock"].network > 50 and signs["shop"].own_time < 5


def test_a_caller_whose_calls_are_all_late_is_at_fault_itself() -> None:
    records: list[Span] = []
    for n in range(60):
        minute, late = -30 + n / 2, 500 if n >= 50 else 0
        records.append(span(minute, "shop", trace=f"r{n}", name_id="1", ms=100 + 3 * late))
        for m, callee in enumerate(("stock", "prices", "bank")):
            records.append(
                span(
                    minute,
                    "shop",
                    "GET",
                    trace=f"r{n}",
                    name_id=f"c{m}",
                    parent="1",
                    ms=30 + late + n % 3,
                    kind="client",
                )
            )
            records.append(span(minute, callee, trace=f"r{n}", name_id=f"s{m}", parent=f"c{m}", ms=20))
    signs = signs_of(case(records))
    assert signs["shop"].network > 10 and signs["stock"].network == 0


def test_healthy_traffic_has_no_strong_sign() -> None:
    assert all(score < 5 for _, score in rank_services(case(traffic())))


def test_an_error_that_stops_is_no_fault() -> None:
    records = traffic()
    gone = [log(-30 + n / 6, "cache miss, retrying", "edge", trace=f"r{n}", span="1") for n in range(150)]
    assert signs_of(case(records, gone))["edge"].behaviour < 1
    new = [log(-5 + n / 6, "cache miss, retrying", "edge", trace=f"r{150 + n}", span="1") for n in range(30)]
    assert first(records, new) == "edge"


def test_an_older_recording_is_the_baseline() -> None:
    old = [ten_hours_earlier(record) for record in traffic(seed=5)]
    now = [record for record in traffic("silent", from_minute=-30) if time_of(record) >= at(-4)]
    assert first(old, now) == "stock"


def test_lines_without_a_trace_count_by_how_often_they_come() -> None:
    steady = [log(-30 + n / 4, "tick", "shop", severity=9) for n in range(140)]
    errors = [log(-4 + n / 10, "cannot reach the ledger", "billing") for n in range(40)]
    assert first(steady, errors) == "billing"


def cpu(service: str, level: float, last: float, metric: str = "cpu_usage_rate") -> Series:
    return series([level + n % 3 / 10 for n in range(25)] + [last] * 5, metric, service=service)


def test_a_pod_that_burns_is_told_from_pods_that_are_a_little_busier() -> None:
    found = jumped(
        [cpu("stock", 1, 97), cpu("shop", 2, 6), cpu("edge", 9, 11), cpu("bank", 3, 3), cpu("prices", 1, 2)],
        at(-45),
        at(2),
    )
    assert found["stock"].score > 20 and set(found) == {"stock"}
    assert (found["stock"].metric, found["stock"].after) == ("cpu_usage_rate", 97.0)


def test_latency_moves_for_callers_too_and_counts_less() -> None:
    quiet = [cpu(name, 2, 2.5, metric) for metric in ("cpu_usage_rate", "latency_p90") for name in ("a", "b", "c")]
    found = jumped([*quiet, cpu("d", 2, 90), cpu("e", 2, 90, "latency_p90")], at(-45), at(2))
    assert found["d"].score > 2 * found["e"].score > 0
    assert jumped([cpu("a", 2, 90), cpu("b", 2, 2)], at(-45), at(2)) == {}
    assert jumped([*quiet, cpu("d", 2, 90)], at(-300), at(-200)) == {}


def test_few_observations_change_nothing() -> None:
    assert split_share(as_row([1, 2]), as_row([0, 1]), 0, 9) is None
    assert split_level(as_row([1, 2]), as_row([5, 50]), 0, 9) is None
    times = as_row(range(10))
    assert split_share(times, as_row([0] * 5 + [1] * 5), 20, 30) is None
    assert split_level(times, as_row([50] * 5 + [5] * 5), 0, 30) is None
    found = split_share(times, as_row([0] * 5 + [1] * 5), 0, 30)
    assert found is not None and (found.index, found.before, found.after) == (5, 0.0, 1.0)


def test_strange_traces_are_read_without_harm() -> None:
    records = [
        span(-4, "a", trace="t", name_id="1", parent="3"),
        span(-4, "b", trace="t", name_id="2", parent="1", ms=-5),
        span(-4, "a", trace="t", name_id="3", parent="2"),
        span(-4, "a", trace="t", name_id="4", parent="4", failed=True),
        span(-4, "a", trace="t", name_id="4", parent="4"),
        log(-4, "by service", "b", trace="t"),
        log(-4, "of nobody", "b", trace="lost"),
    ]
    requests = Requests(sources(records))
    assert requests.below("a") == frozenset() and len(requests.spans) == 4
    assert [r.body for r in requests.loose] == ["of nobody"]
    assert {h.kind for h in requests.inside(("t", "2"))} == {"call", "log"}
    assert {name for name, _ in rank_services(case(records))} == {"a", "b"}


def test_scores_are_ordered_and_ties_go_by_name() -> None:
    ranked = rank_services(case(traffic("slow")))
    assert ranked == sorted(ranked, key=lambda row: (-row[1], row[0]))
    assert rank_services(case([span(-4, "b"), span(-4, "a")])) == [("a", 0.0), ("b", 0.0)]
    assert Signs(behaviour=8, network=4).score == 9
    with pytest.raises(ValueError):
        rank_services(Case(incident_id="i", alerts=(), sources=CaseSources()))


def test_the_order_of_records_changes_no_score() -> None:
    records = traffic("silent")
    mixed = list(records)
    random.Random(11).shuffle(mixed)
    assert rank_services(case(records)) == rank_services(case(mixed))
