"""Where a metric series changed its level, whatever its unit, direction, gaps and spikes."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from statistics import mean, median

from msgspec import Struct

MIN_POINTS = 3  # on either side of a change
# Without a change, one series in fifty at most reaches this, for 12, 40 and 120 normal points (simulated).
SIGNIFICANT = 3.3
_COUNTER_SUFFIXES = ("_total", "_count", "_sum", "_bucket")


class Shift(Struct, frozen=True):
    """A change of level: the first point after it, the levels (medians, means where those are equal), its strength
    in standard deviations of the rank sum."""

    at_ns: int
    before: float
    after: float
    strength: float


def find_shift(points: Sequence[tuple[int, float]], metric: str = "") -> Shift | None:
    """The surest change of level, None where there is none.

    Ranks instead of values, so that one extreme point counts no more than any other (Pettitt 1979, with the
    correction for ties of the Mann-Whitney test). Counters that only grow are turned into increases first.
    """
    rows = increases(points) if is_counter(points, metric) else list(points)
    count = len(rows)
    if count < 2 * MIN_POINTS:
        return None
    values = [value for _, value in rows]
    ranks, ties = _ranks(values)
    spread = count + 1 - ties / (count * (count - 1))
    if spread <= 0:
        return None
    best: tuple[float, int] | None = None
    total = 0.0
    for split in range(1, count):
        total += ranks[split - 1]
        if split < MIN_POINTS or count - split < MIN_POINTS:
            continue
        expected = split * (count + 1) / 2
        deviation = sqrt(split * (count - split) * spread / 12)
        strength = abs(total - expected) / deviation if deviation else 0.0
        if best is None or strength > best[0] + 1e-9:
            best = (strength, split)
    if best is None or best[0] < SIGNIFICANT:
        return None
    strength, split = best
    early, late = values[:split], values[split:]
    levels = (median(early), median(late))
    if levels[0] == levels[1]:
        levels = (mean(early), mean(late))
    return Shift(rows[split][0], levels[0], levels[1], strength)


def _ranks(values: Sequence[float]) -> tuple[list[float], float]:
    """Mid-ranks from 1, and the sum of t^3 - t over the groups of t equal values."""
    order = sorted(range(len(values)), key=lambda n: values[n])
    ranks = [0.0] * len(values)
    ties = 0.0
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for position in range(start, end + 1):
            ranks[order[position]] = (start + end) / 2 + 1
        size = end - start + 1
        ties += size**3 - size
        start = end + 1
    return ranks, ties


def is_counter(points: Sequence[tuple[int, float]], metric: str) -> bool:
    """Whether a series is a running total: named as one and almost never falling (a restart may reset it), with more
    distinct values than a gauge that moved once."""
    if not metric.endswith(_COUNTER_SUFFIXES) or len(points) < 2 * MIN_POINTS:
        return False
    steps = [b - a for (_, a), (_, b) in pairwise(points)]
    falls = sum(step < 0 for step in steps)
    return falls <= len(steps) // 20 and len({value for _, value in points}) > 4


def increases(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Increase per second since the point before; after a reset the new value is the increase."""
    found = []
    for (t0, v0), (t1, v1) in pairwise(points):
        seconds = max((t1 - t0) / 1e9, 1e-9)
        found.append((t1, (v1 - v0 if v1 >= v0 else v1) / seconds))
    return found
