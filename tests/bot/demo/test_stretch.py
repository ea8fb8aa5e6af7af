"""Recording time becomes the incident's time."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.demo.record.plan import ENDS, STARTS, visits
from bot.demo.record.stretch import MINUTE, Timeline, moved, per_minute

RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "price"}}]}


def span(trace: str, start: int, end: int, status: str = "200") -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": trace,
        "kind": 2,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": [{"key": "http.response.status_code", "value": {"intValue": status}}],
        "events": [{"timeUnixNano": str(start + 1), "name": "exception"}],
    }


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"scope": {"name": "s"}, "spans": list(spans)}]}]}


def log(at: int, **more: str) -> dict[str, Any]:
    record = {"timeUnixNano": str(at), **more}
    return {"resourceLogs": [{"resource": RESOURCE, "scopeLogs": [{"scope": {}, "logRecords": [record]}]}]}


def records(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for line in lines:
        ((kind, parts),) = line.items()
        scopes, held = ("scopeSpans", "spans") if kind == "resourceSpans" else ("scopeLogs", "logRecords")
        found += [record for part in parts for scope in part[scopes] for record in scope[held]]
    return found


def test_a_trace_moves_as_a_whole() -> None:
    timeline = Timeline(anchors=((0, 0),), traces={"a": 1000})
    (one,) = records(moved([export(span("a", 10, 14))], timeline))
    assert (one["startTimeUnixNano"], one["endTimeUnixNano"]) == ("1010", "1014")
    assert one["events"][0]["timeUnixNano"] == "1011"


def test_a_log_record_of_a_trace_moves_with_it_and_another_with_its_surroundings() -> None:
    timeline = Timeline(anchors=((0, 0), (10, 1000)), traces={"a": 700})
    told = [r["timeUnixNano"] for r in records(moved([log(5, traceId="a"), log(5)], timeline))]
    assert told == ["500", "705"]


def test_outside_of_all_anchors_time_passes_as_it_did() -> None:
    timeline = Timeline(anchors=((10, 1000), (20, 3000)), traces={})
    assert [timeline.of(at) for at in (5, 10, 15, 20, 27)] == [995, 1000, 2000, 3000, 3007]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**9)), min_size=1, max_size=6), st.data())
def test_the_order_of_things_stays(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    really, planned = sorted({r for r, _ in pairs}), sorted(p for _, p in pairs)
    timeline = Timeline(anchors=tuple(zip(really, planned, strict=False)), traces={})
    earlier, later = sorted(data.draw(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))))
    assert timeline.of(earlier) <= timeline.of(later)


def test_records_of_one_minute_are_one_request() -> None:
    spans = [export(span("a", MINUTE, MINUTE + 1)), export(span("b", 0, 1)), export(span("c", 1, 2))]
    lines = moved(spans, Timeline(anchors=((0, 0),), traces={}))
    assert [len(records([line])) for line in lines] == [2, 1]


def test_metrics_count_what_the_spans_say() -> None:
    spans = [span("a", 0, 2_000_000), span("b", 1, 5_000_001, "500"), span("c", 2 * MINUTE, 2 * MINUTE + 1)]
    series = {(s["metric"], s["labels"].get("status_class")): s["values"] for s in per_minute([export(*spans)])}
    assert series["http_server_requests_per_minute", "2xx"] == [[60, 1], [120, 0], [180, 1]]
    assert series["http_server_requests_per_minute", "5xx"] == [[60, 1], [120, 0], [180, 0]]
    assert series["http_server_duration_p95", None] == [[60, 5.0], [180, 0.0]]


def test_the_same_visitors_come_every_time() -> None:
    assert visits() == visits()
    assert visits() == sorted(visits(), key=lambda step: step.at_ns)
    assert all(STARTS <= step.at_ns < ENDS for step in visits())
