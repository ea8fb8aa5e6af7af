"""From recording time to the incident's time. Pure.

A trace moves as a whole to the moment that its request was planned for, so durations and the order within it stay as
they were measured. What belongs to no trace moves with the requests around it.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

MINUTE = 60 * 1_000_000_000


class Timeline(Struct, frozen=True, kw_only=True):
    """`anchors` are pairs (really, planned), both growing; `traces` says how far each trace moves."""

    anchors: tuple[tuple[int, int], ...]
    traces: dict[str, int]

    def of(self, really_ns: int) -> int:
        """The incident's time of something outside of every trace; between two anchors in proportion."""
        at = bisect_right(self.anchors, (really_ns, 1 << 63))
        if at == 0:
            return really_ns + self.anchors[0][1] - self.anchors[0][0]
        if at == len(self.anchors):
            return really_ns + self.anchors[-1][1] - self.anchors[-1][0]
        (r0, p0), (r1, p1) = self.anchors[at - 1], self.anchors[at]
        return p0 + (p1 - p0) * (really_ns - r0) // max(r1 - r0, 1)


def moved(lines: Iterable[Mapping[str, Any]], timeline: Timeline) -> list[dict[str, Any]]:
    """Export requests of spans or of log records with their times moved; one request per resource and minute, oldest
    first."""
    groups: dict[tuple[int, str], list[tuple[int, str, dict[str, Any], dict[str, Any]]]] = defaultdict(list)
    for line in lines:
        kind, scopes, records, times = _shape(line)
        for part in line[kind]:
            for scope in part[scopes]:
                for record in scope[records]:
                    fresh = _moved(record, times, timeline)
                    at_ns = int(fresh[times[0]])
                    key = (at_ns // MINUTE, json.dumps(part["resource"], sort_keys=True))
                    groups[key].append((at_ns, kind, scope.get("scope", {}), fresh))
    return [_request(json.loads(resource), groups[minute, resource]) for minute, resource in sorted(groups)]


def _shape(line: Mapping[str, Any]) -> tuple[str, str, str, tuple[str, ...]]:
    if "resourceSpans" in line:
        return "resourceSpans", "scopeSpans", "spans", ("startTimeUnixNano", "endTimeUnixNano")
    return "resourceLogs", "scopeLogs", "logRecords", ("timeUnixNano",)


def _moved(record: Mapping[str, Any], times: Sequence[str], timeline: Timeline) -> dict[str, Any]:
    began = int(record[times[0]])
    by = timeline.traces.get(record.get("traceId", ""))
    shift = timeline.of(began) - began if by is None else by
    fresh = {**record, **{name: str(int(record[name]) + shift) for name in times}}
    if "events" in record:
        fresh["events"] = [{**e, "timeUnixNano": str(int(e["timeUnixNano"]) + shift)} for e in record["events"]]
    return fresh


def _request(resource: dict[str, Any], found: list[tuple[int, str, dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    """One export request; the records of one scope together, in the order of their times."""
    found = sorted(found, key=lambda one: (one[0], one[3].get("spanId", "")))
    kind = found[0][1]
    scopes, records = ("scopeSpans", "spans") if kind == "resourceSpans" else ("scopeLogs", "logRecords")
    by_scope: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _, _, scope, record in found:
        by_scope[json.dumps(scope, sort_keys=True)].append(record)
    parts = [{"scope": json.loads(scope), records: held} for scope, held in by_scope.items()]
    return {kind: [{"resource": resource, scopes: parts}]}


def per_minute(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a metrics system would have seen of these spans: requests per minute and status class, and the slowest
    twentieth's duration, per service."""
    counts: dict[tuple[str, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    durations: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    minutes: set[int] = set()
    for service, span in _server_spans(lines):
        began, ended = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        minute = began // MINUTE + 1  # a point covers the minute before it
        minutes.add(minute)
        status = next((a["value"]["intValue"] for a in span["attributes"] if a["key"] == _STATUS), "0")
        counts[service, f"{status[0]}xx"][minute] += 1
        durations[service][minute].append((ended - began) / 1e6)
    every = range(min(minutes), max(minutes) + 1)
    series: list[dict[str, Any]] = []
    points: dict[int, float]
    for service, status in sorted(counts):
        labels = {"service": service, "status_class": status}
        points = {minute: counts[service, status][minute] for minute in every}
        series.append(_series("http_server_requests_per_minute", labels, "1", points))
    for service in sorted(durations):
        points = {minute: _p95(durations[service][minute]) for minute in every if minute in durations[service]}
        series.append(_series("http_server_duration_p95", {"service": service}, "ms", points))
    return series


_STATUS = "http.response.status_code"


def _server_spans(lines: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for line in lines:
        for part in line.get("resourceSpans", ()):
            names = {a["key"]: a["value"].get("stringValue", "") for a in part["resource"]["attributes"]}
            for scope in part["scopeSpans"]:
                yield from ((names["service.name"], span) for span in scope["spans"] if span["kind"] == 2)


def _p95(values: list[float]) -> float:
    return round(sorted(values)[min(int(len(values) * 0.95), len(values) - 1)], 2)


def _series(metric: str, labels: dict[str, str], unit: str, points: Mapping[int, float]) -> dict[str, Any]:
    values = [[minute * 60, value] for minute, value in points.items()]
    return {"metric": metric, "labels": labels, "unit": unit, "values": values}
