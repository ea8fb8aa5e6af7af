"""Services that began to do something else: other log lines, other calls, failures, per request. Pure.

For each operation (service and span name) and each thing that can happen in it, the share of requests in which it
happens is compared before and after. Shares are per request, so that more or fewer requests, as they reach a service
further down a broken path, are no change of its behaviour.
"""

from collections import defaultdict
from collections.abc import Mapping
from math import sqrt

from msgspec import Struct

from retrieval.context.bursts import find_burst
from retrieval.context.coverage import Coverage
from retrieval.context.requests import Happening, Key, Requests
from retrieval.context.splits import as_row, split_share

_EXPLAINED = 0.8  # how much of a caller's change the same requests' change further down takes away
_LOOSE_WEIGHT = {True: 0.5, False: 0.1}


class Changed(Struct, frozen=True, kw_only=True):
    """The greatest change of one service. `score` is gain (nats) times the difference of the shares, or its root for
    errors, which need not hit every request; `traces` are the requests after it that show the new behaviour."""

    score: float
    at_ns: int
    operation: str
    happening: Happening
    before: float
    after: float
    traces: frozenset[str] = frozenset()


def changed_behaviour(requests: Requests, coverage: Coverage, low_ns: int, high_ns: int) -> dict[str, Changed]:
    """Per service its greatest change that began in [low_ns, high_ns].

    That an error stops to happen is an improvement and no change; so that its other lines do not come back as news
    either, requests with errors of the service are compared for errors only. A caller whose changed requests are those
    in which a service further down changed as well is told by it, and loses most of its score to it.
    """
    found: dict[str, Changed] = {}
    troubled = _troubled(requests)
    for (service, operation), keys in requests.operations.items():
        for change in _of_operation(requests, operation, keys, troubled, low_ns, high_ns):
            if service not in found or change.score > found[service].score:
                found[service] = change
    for service, change in _loose(requests, coverage, low_ns, high_ns).items():
        if service not in found or change.score > found[service].score:
            found[service] = change
    return {service: _less(change, _explained(service, found, requests)) for service, change in found.items()}


def _troubled(requests: Requests) -> frozenset[tuple[str, str]]:
    """(trace id, service) of each request in which the service had an error."""
    return frozenset(
        (span.trace_id, span.service)
        for key, span in requests.spans.items()
        if any(happening.bad for happening in requests.inside(key))
    )


def _of_operation(
    requests: Requests,
    operation: str,
    keys: list[Key],
    troubled: frozenset[tuple[str, str]],
    low_ns: int,
    high_ns: int,
) -> list[Changed]:
    spans = requests.spans
    calm = [key for key in keys if (key[0], spans[key].service) not in troubled]
    found = []
    for bad, row in ((True, keys), (False, calm)):
        times = as_row([spans[key].start_ns for key in row])
        for happening, indices in _rows(requests, row, bad):
            states = as_row([0.0] * len(row))
            states[indices] = 1.0
            split = split_share(times, states, low_ns, high_ns)
            if split is None or split.gain <= 0 or (bad and split.after < split.before):
                continue
            new = 1.0 if split.after > split.before else 0.0
            apart = abs(split.after - split.before)
            found.append(
                Changed(
                    score=split.gain * (sqrt(apart) if bad else apart),
                    at_ns=spans[row[split.index]].start_ns,
                    operation=operation,
                    happening=happening,
                    before=split.before,
                    after=split.after,
                    traces=frozenset(row[n][0] for n in range(split.index, len(row)) if states[n] == new),
                )
            )
    return found


def _rows(requests: Requests, keys: list[Key], bad: bool) -> list[tuple[Happening, list[int]]]:
    """Per happening the indices of the spans in which it happened; what always happens is left out."""
    rows: dict[Happening, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        for happening in requests.inside(key):
            if happening.bad == bad:
                rows[happening].append(index)
    return sorted((happening, indices) for happening, indices in rows.items() if len(indices) < len(keys))


def _loose(requests: Requests, coverage: Coverage, low_ns: int, high_ns: int) -> dict[str, Changed]:
    """Log lines that belong to no span: how often they come at all, errors counting more."""
    times: dict[tuple[str, str, bool], list[int]] = defaultdict(list)
    for log in requests.loose:
        times[log.service, requests.templates.template_of(log.body), log.is_error].append(log.time_ns)
    found: dict[str, Changed] = {}
    for (service, template, bad), moments in sorted(times.items()):
        burst = find_burst(moments, coverage, coverage.end_ns)
        if burst is None or not low_ns <= burst.at_ns <= high_ns:
            continue
        score = burst.gain * _LOOSE_WEIGHT[bad]
        if service not in found or score > found[service].score:
            found[service] = Changed(
                score=score,
                at_ns=burst.at_ns,
                operation="",
                happening=Happening("log", template, bad),
                before=float(burst.before),
                after=float(burst.after),
            )
    return found


def _explained(service: str, found: Mapping[str, Changed], requests: Requests) -> float:
    """How much of a service's score the services below it take away."""
    own = found[service]
    most = 0.0
    for below in sorted(requests.below(service)):
        other = found.get(below)
        if other is None or not own.traces:
            continue
        overlap = len(own.traces & other.traces) / len(own.traces)
        most = max(most, _EXPLAINED * overlap * min(own.score, other.score))
    return most


def _less(change: Changed, taken: float) -> Changed:
    return Changed(
        score=max(change.score - taken, 0.0),
        at_ns=change.at_ns,
        operation=change.operation,
        happening=change.happening,
        before=change.before,
        after=change.after,
        traces=change.traces,
    )
