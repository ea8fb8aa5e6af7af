"""Points to series (pure): levels as they are, what is counted as rates.

A counter says how often something happened since its process started; what an incident shows in is how often it
happens *now*. So a counter `x` becomes `x_rate`, per second; a distribution `x` becomes `x_rate` (events per second),
`x_mean` and `x_p95` of the events of that stretch, the latter by interpolation in the bucket as Prometheus'
`histogram_quantile` does. A stretch goes from one point of a counter to its next; the first one begins at the process'
start if that was not long ago, for a mean over hours says nothing about now. A counter that was set back begins anew.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from retrieval.ingest.otlp_metrics import Point
from retrieval.model import Series, SourceRef

FIRST_STRETCH_NS = 5 * 60 * 10**9
_QUANTILE = 0.95

Key = tuple[str, tuple[tuple[str, str], ...]]  # metric, sorted labels


class Total(Struct, frozen=True):
    """How far a counter was, and when."""

    time_ns: int
    start_ns: int
    value: float
    sum: float | None = None
    buckets: tuple[int, ...] = ()
    bounds: tuple[float, ...] = ()


def key_of(point: Point) -> Key:
    return (point.metric, tuple(sorted(point.labels.items())))


def series_of(
    points: Iterable[Point], totals: Mapping[Key, Total], source: SourceRef
) -> tuple[tuple[Series, ...], dict[Key, Total]]:
    """The series that points add to, and how far the counters among them are now; `totals` is how far they were."""
    rows: dict[tuple[str, str, Key], dict[int, float]] = {}
    reached: dict[Key, Total] = {}
    for point in sorted(points, key=lambda p: (p.time_ns, p.metric)):
        key = key_of(point)
        if point.kind == "level":
            rows.setdefault((point.metric, point.unit, key), {})[point.time_ns] = point.value
            continue
        before = reached.get(key) or totals.get(key)
        stretch = _stretch(point, before)
        if point.kind == "total" and (before is None or point.time_ns > before.time_ns):
            reached[key] = _total(point)
        if stretch is None:
            continue
        for name, unit, value in _figures(point, stretch):
            rows.setdefault((name, unit, key), {})[point.time_ns] = value
    return tuple(
        Series(metric=name, labels=dict(key[1]), unit=unit, points=tuple(sorted(found.items())), source=source)
        for (name, unit, key), found in sorted(rows.items())
    ), reached


def _total(point: Point) -> Total:
    return Total(point.time_ns, point.start_ns, point.value, point.sum, point.buckets, point.bounds)


def _stretch(point: Point, before: Total | None) -> Total | None:
    """What was counted, as a total from `start_ns` to `time_ns`; None where nobody can say."""
    if point.kind == "increase":
        return _total(point) if 0 < point.start_ns < point.time_ns else None
    if before is not None and point.time_ns <= before.time_ns:
        return None  # it came late, or again
    if before is None or point.start_ns != before.start_ns or point.value < before.value:
        fresh = 0 < point.start_ns < point.time_ns <= point.start_ns + FIRST_STRETCH_NS
        return _total(point) if fresh else None
    added = None if point.sum is None or before.sum is None else point.sum - before.sum
    buckets: tuple[int, ...] = ()
    if point.bounds == before.bounds and len(point.buckets) == len(before.buckets):
        buckets = tuple(max(new - old, 0) for new, old in zip(point.buckets, before.buckets, strict=True))
    return Total(point.time_ns, before.time_ns, point.value - before.value, added, buckets, point.bounds)


def _figures(point: Point, stretch: Total) -> Iterator[tuple[str, str, float]]:
    seconds = (stretch.time_ns - stretch.start_ns) / 1e9
    unit = "1" if point.distribution else point.unit or "1"
    yield f"{point.metric}_rate", f"{unit}/s", stretch.value / seconds
    if not point.distribution or stretch.value <= 0:
        return
    if stretch.sum is not None:
        yield f"{point.metric}_mean", point.unit, stretch.sum / stretch.value
    if sum(stretch.buckets) > 0 and stretch.bounds:
        yield f"{point.metric}_p95", point.unit, quantile(_QUANTILE, stretch.buckets, stretch.bounds)


def quantile(share: float, counts: tuple[int, ...], bounds: tuple[float, ...]) -> float:
    """Where that share of the events lies, by linear interpolation within the bucket; in the last bucket, which has no
    end, the last bound (https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile)."""
    wanted, seen = share * sum(counts), 0
    edges = pairwise((min(0.0, bounds[0]), *bounds))
    for count, (low, high) in zip(counts, edges, strict=False):
        if count and seen + count >= wanted:
            return low + (high - low) * (wanted - seen) / count
        seen += count
    return bounds[-1]
