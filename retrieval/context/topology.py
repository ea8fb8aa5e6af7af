"""Who calls whom, and where failing requests went (rows B4, B17). Pure.

Traces come as they were recorded: parents may be missing, parent links may form a circle, clocks may differ between
services, a span may be there twice. Only links and names are used here, never the order of times.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from retrieval.model import CaseSources, Span, Topology, Window

_PEERS = ("peer.service", "server.address", "net.peer.name", "db.system.name", "db.system", "messaging.system")
_IP = re.compile(r"[\d.:\[\]a-fA-F]*[.:][\d.:\[\]a-fA-F]*")
_OUTWARD = frozenset({"client", "producer"})

Edges = dict[str, dict[str, int]]


def build_topology(sources: CaseSources, window: Window, entry: str = "", *, onset_ns: int | None = None) -> Topology:
    """The service graph of the window, and the path of its failing requests.

    `entry` is the alerted service: a request fails when a span of it failed, or, if it has none that did, when any span
    did. Without failing requests the path is that of all requests through `entry`. `failing_share` counts the requests
    that a service answered since `onset_ns` (the whole window without one).
    """
    spans = unique_spans(s for s in sources.spans if window.from_ns <= s.start_ns < window.to_ns)
    if not spans:
        return Topology(path=(entry,) if entry else ())
    traces: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        traces[span.trace_id].append(span)
    calls = {trace_id: calls_of(members) for trace_id, members in traces.items()}
    wanted = _failing(traces, entry)
    failing = _summed(calls[trace_id] for trace_id in wanted)
    through = wanted or [t for t, members in traces.items() if any(s.service == entry for s in members)] or list(traces)
    return Topology(
        edges=_summed(calls.values()),
        failing=failing,
        path=_path([traces[t] for t in through], _summed(calls[t] for t in through), entry),
        failing_share=_failing_share(spans, onset_ns if onset_ns is not None else window.from_ns),
    )


def unique_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans without those whose trace and span id were seen before."""
    seen: dict[tuple[str, str], Span] = {}
    for span in spans:
        seen.setdefault((span.trace_id, span.span_id), span)
    return list(seen.values())


def calls_of(spans: Sequence[Span]) -> Edges:
    """Calls between services within one trace: from a span to a child of another service, and from a client's span
    without such a child to the peer that it names."""
    by_id = {span.span_id: span for span in spans}
    services = {span.service for span in spans}
    edges: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    answered: set[str] = set()
    for span in spans:
        parent = by_id.get(span.parent_span_id)
        if parent is not None and parent.service != span.service:
            edges[parent.service][span.service] += 1
            answered.add(parent.span_id)
    for span in spans:
        if span.kind in _OUTWARD and span.span_id not in answered:
            peer = _peer(span, services)
            if peer and peer != span.service:
                edges[span.service][peer] += 1
    return {caller: dict(callees) for caller, callees in edges.items()}


def _peer(span: Span, services: set[str]) -> str:
    for name in _PEERS:
        value = span.attributes.get(name)
        if not isinstance(value, str) or not value or _IP.fullmatch(value):
            continue
        host = value.split(":")[0].lower()
        first = host.split(".")[0]
        return first if first in services else host
    return ""


def _summed(many: Iterable[Edges]) -> Edges:
    total: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for edges in many:
        for caller, callees in edges.items():
            for callee, count in callees.items():
                total[caller][callee] += count
    return {caller: dict(sorted(total[caller].items())) for caller in sorted(total)}


def _failing(traces: Mapping[str, list[Span]], entry: str) -> list[str]:
    failed = {t: {s.service for s in members if s.failed} for t, members in traces.items()}
    at_entry = [t for t, services in failed.items() if entry in services]
    return at_entry or [t for t, services in failed.items() if services]


def _path(traces: Sequence[list[Span]], edges: Edges, entry: str) -> tuple[str, ...]:
    """Services that these requests pass through: those without callers first, then by distance, then by name."""
    services = sorted({span.service for members in traces for span in members if span.service})
    called = {callee for callees in edges.values() for callee in callees}
    roots = [s for s in services if s not in called]
    start = roots or ([entry] if entry in services else services[:1])
    order: dict[str, None] = dict.fromkeys(start)
    todo = deque(start)
    while todo:
        for callee in sorted(edges.get(todo.popleft(), ())):
            if callee not in order and callee in services:
                order[callee] = None
                todo.append(callee)
    return tuple(order) + tuple(s for s in services if s not in order)


def _failing_share(spans: Sequence[Span], since_ns: int) -> dict[str, float]:
    """Per service, failed over all of its requests: server and consumer spans, or where it has none, the spans whose
    parent is of another service or unknown; or where none of those failed, the inner operations that do."""
    by_id = {(span.trace_id, span.span_id): span for span in spans}
    entries: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        if span.start_ns < since_ns:
            continue
        parent = by_id.get((span.trace_id, span.parent_span_id))
        if span.kind in ("server", "consumer") or parent is None or parent.service != span.service:
            entries[span.service].append(span)
    shares = {}
    for service, found in sorted(entries.items()):
        served = [span for span in found if span.kind in ("server", "consumer")] or found
        if not any(span.failed for span in served):
            served = _failing_operations(spans, service, since_ns) or served
        shares[service] = round(sum(span.failed for span in served) / len(served), 4)
    return shares


def _failing_operations(spans: Sequence[Span], service: str, since_ns: int) -> list[Span]:
    """The spans of the inner operations that fail, where a service survives its own failures (workers, batch jobs)."""
    own = [s for s in spans if s.service == service and s.start_ns >= since_ns and s.kind not in _OUTWARD]
    failing = {span.name for span in own if span.failed}
    return [span for span in own if span.name in failing]
