"""Services whose own resources moved as nobody else's did. Pure.

A metric's jump on one pod means something next to the same metric's jumps on all the others: load moves many of them
a little, a fault moves one a lot.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from math import log2
from statistics import median

from msgspec import Struct

from retrieval.model import Series

_MIN_BEFORE = 4
_MIN_OTHERS = 3
# Causes first: what a process or its machine uses up. Latency, error and request rates move for callers as well.
_RESOURCE = re.compile(
    r"cpu|memory|mem_|heap|disk|_fs_|filesystem|\bio|swap|thread|file_desc|_fds|socket|connections|pool|queue|gc_|throttl",
    re.IGNORECASE,
)
_SYMPTOM_WEIGHT = 0.25
_NATS_PER_DOUBLING = 10.0
_NORMAL_DOUBLINGS = 1.5  # a jump up to three times everyone else's is not remarkable


class Jump(Struct, frozen=True):
    score: float
    at_ns: int
    metric: str
    before: float
    after: float


def jumped(series: Sequence[Series], low_ns: int, high_ns: int) -> dict[str, Jump]:
    """Per service its most remarkable jump that began in [low_ns, high_ns]: doublings beyond what is normal for that
    metric, times a weight for how much the metric is a cause."""
    by_metric: dict[str, dict[str, list[tuple[float, int, float, float]]]] = defaultdict(lambda: defaultdict(list))
    levels: dict[str, list[float]] = defaultdict(list)
    for one in series:
        if not one.service:
            continue
        jump = _jump(one, low_ns, high_ns)
        if jump is not None:
            by_metric[one.metric][one.service].append(jump)
            levels[one.metric].append(abs(jump[2]))
    best: dict[str, Jump] = {}
    for metric, services in sorted(by_metric.items()):
        weight = 1.0 if _RESOURCE.search(metric) else _SYMPTOM_WEIGHT
        greatest = {service: max(jumps) for service, jumps in services.items()}
        for service, (size, at_ns, before, after) in sorted(greatest.items()):
            others = sorted(abs(jump[0]) for other, jump in greatest.items() if other != service)
            if len(others) < _MIN_OTHERS:
                continue
            # The second greatest: one other service may be dragged along.
            normal = max(others[-2], median(levels[metric]))
            if size <= 0 or normal <= 0:
                continue
            score = weight * _NATS_PER_DOUBLING * (log2(size / normal) - _NORMAL_DOUBLINGS)
            if score > 0 and (service not in best or score > best[service].score):
                best[service] = Jump(score, at_ns, metric, before, after)
    return best


def _jump(series: Series, low_ns: int, high_ns: int) -> tuple[float, int, float, float] | None:
    """(how far the median after the best split lies above all that was before, time, level before, level after)."""
    values = [value for _, value in series.points]
    best: tuple[float, int, float, float] | None = None
    for index in range(_MIN_BEFORE, len(values)):
        at_ns = series.points[index][0]
        if not low_ns <= at_ns <= high_ns:
            continue
        before, after = sorted(values[:index]), median(values[index:])
        # The second highest: one spike long before must not hide a fault.
        size = after - before[-2]
        if best is None or size > best[0]:
            best = (size, at_ns, median(before), after)
    return best
