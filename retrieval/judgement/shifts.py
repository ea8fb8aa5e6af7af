"""Metric series that moved at the onset. Pure."""

from statistics import median

from msgspec import Struct

from retrieval.model import Case, Series


class Shift(Struct, frozen=True, kw_only=True):
    """A series with its median level before and after the onset; `size` is the difference in units of its own noise."""

    series: Series
    before: float
    after: float
    size: float

    @property
    def labels(self) -> str:
        """What tells the series from its neighbours: its labels but for the service."""
        shown = (k for k in sorted(self.series.labels) if k not in _SERVICE_LABELS)
        return ", ".join(f"{k} {self.series.labels[k]}" for k in shown)


_SERVICE_LABELS = frozenset({"service", "service_name", "job", "instance"})
MIN_POINTS = 3
MIN_SIZE = 4.0


def metric_shifts(case: Case, services: frozenset[str], limit: int = 3) -> list[Shift]:
    """The series of these services that moved most, biggest first, ties by metric and labels.

    Noise is the median absolute deviation before the onset, at least 5 % of the level and 0.001.
    """
    if case.onset is None or case.window is None:
        return []
    found = []
    for series in case.sources.series:
        if services and series.service not in services:
            continue
        before = [v for t, v in series.points if case.window.from_ns <= t < case.onset.at_ns]
        after = [v for t, v in series.points if case.onset.at_ns <= t < case.window.to_ns]
        if len(before) < MIN_POINTS or len(after) < MIN_POINTS:
            continue
        old, new = median(before), median(after)
        noise = max(1.4826 * median(abs(v - old) for v in before), 0.05 * abs(old), 0.001)
        size = abs(new - old) / noise
        if size >= MIN_SIZE:
            found.append(Shift(series=series, before=old, after=new, size=size))
    found.sort(key=lambda s: (-s.size, s.series.metric, sorted(s.series.labels.items())))
    return found[:limit]
