"""Services that became slow by themselves, and services that answer late over the network. Pure.

Own time of a span is its duration less the time in which a child of it ran; a span that calls another service has none,
for the rest of it is the way there and back. The gap of a call is the caller's span less
the callee's: both are durations by one clock each, so that clocks need not agree.
"""

from collections import defaultdict
from collections.abc import Mapping
from math import log2

from msgspec import Struct

from retrieval.context.requests import Key, Requests
from retrieval.context.splits import Split, as_row, split_level

_GRAIN_MS = 5.0  # a change of less than this does not hurt anyone
_FULL = 3.0  # eightfold and more counts in full
_EVIDENT = 5.0
Row = list[tuple[int, float]]


class Slowed(Struct, frozen=True):
    """`score` in nats times how large the change is, 0..1; `at_ns` when it began; medians in milliseconds."""

    score: float
    at_ns: int
    what: str
    before_ms: float
    after_ms: float


def slowed(requests: Requests, low_ns: int, high_ns: int) -> tuple[dict[str, Slowed], dict[str, Slowed]]:
    """Per service its greatest increase of own time, and of gaps, that began in [low_ns, high_ns].

    A gap is blamed on the callee; but on the caller when most of its calls, to several services, became late together.
    """
    own: dict[tuple[str, str], Row] = defaultdict(list)
    gaps: dict[tuple[str, str], Row] = defaultdict(list)
    for key, span in requests.spans.items():
        kids = requests.children.get(key, [])
        if all(requests.spans[kid].service == span.service for kid in kids):
            own[span.service, span.name].append((span.start_ns, _own_ms(key, kids, requests)))
        for kid in kids:
            child = requests.spans[kid]
            if child.service != span.service and child.kind not in ("consumer", "producer"):
                late = (span.end_ns - span.start_ns) - (child.end_ns - child.start_ns)
                gaps[span.service, child.service].append((child.start_ns, max(late, 0) / 1e6))
    own_best: dict[str, Slowed] = {}
    for (service, name), row in sorted(own.items()):
        _keep(own_best, service, _change(row, name, low_ns, high_ns))
    edges = {edge: _change(row, f"{edge[0]} -> {edge[1]}", low_ns, high_ns) for edge, row in sorted(gaps.items())}
    return own_best, _blame(edges)


def _own_ms(key: Key, kids: list[Key], requests: Requests) -> float:
    span = requests.spans[key]
    covered, reached = 0, span.start_ns
    intervals = sorted((requests.spans[kid].start_ns, requests.spans[kid].end_ns) for kid in kids)
    for start, end in intervals:
        start, end = max(start, reached), min(end, span.end_ns)
        if end > start:
            covered += end - start
            reached = end
    return max(span.end_ns - span.start_ns - covered, 0) / 1e6


def _change(row: Row, what: str, low_ns: int, high_ns: int) -> Slowed | None:
    row.sort()
    split: Split | None = split_level(as_row([t for t, _ in row]), as_row([v for _, v in row]), low_ns, high_ns)
    if split is None:
        return None
    size = log2((split.after + _GRAIN_MS) / (split.before + _GRAIN_MS)) / _FULL
    return Slowed(split.gain * min(max(size, 0.0), 1.0), row[split.index][0], what, split.before, split.after)


def _keep(best: dict[str, Slowed], service: str, change: Slowed | None) -> None:
    if change is not None and (service not in best or change.score > best[service].score):
        best[service] = change


def _blame(edges: Mapping[tuple[str, str], Slowed | None]) -> dict[str, Slowed]:
    outgoing: dict[str, list[Slowed | None]] = defaultdict(list)
    for (caller, _), change in edges.items():
        outgoing[caller].append(change)
    at_fault = {
        caller
        for caller, changes in outgoing.items()
        if (late := sum(c is not None and c.score >= _EVIDENT for c in changes)) >= 2 and late * 2 > len(changes)
    }
    best: dict[str, Slowed] = {}
    for (caller, callee), change in edges.items():
        _keep(best, caller if caller in at_fault else callee, change)
    return best
