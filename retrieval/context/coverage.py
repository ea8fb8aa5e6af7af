"""How much of a stretch of time was recorded at all: rates are per recorded minute, for recordings have gaps."""

from bisect import bisect_left
from collections.abc import Iterable

from retrieval.model import CaseSources

BUCKET_NS = 60_000_000_000
PAUSE_MINUTES = 3


class Coverage:
    """The minutes in which anything was recorded."""

    def __init__(self, times_ns: Iterable[int]) -> None:
        self._minutes = sorted({time // BUCKET_NS for time in times_ns})

    @property
    def start_ns(self) -> int:
        return self._minutes[0] * BUCKET_NS if self._minutes else 0

    @property
    def end_ns(self) -> int:
        return (self._minutes[-1] + 1) * BUCKET_NS if self._minutes else 0

    def resumed_ns(self, by_ns: int) -> int:
        """Where the recording that `by_ns` lies in (or follows) began: after the last pause of `PAUSE_MINUTES`."""
        index = bisect_left(self._minutes, by_ns // BUCKET_NS + 1) - 1
        if index < 0:
            return by_ns
        while index and self._minutes[index] - self._minutes[index - 1] <= PAUSE_MINUTES:
            index -= 1
        return self._minutes[index] * BUCKET_NS

    def minutes(self, from_ns: int, to_ns: int) -> float:
        """Recorded minutes in [from_ns, to_ns), at least a sixtieth so that it can be divided by."""
        first, last = from_ns // BUCKET_NS, to_ns // BUCKET_NS
        low, high = bisect_left(self._minutes, first), bisect_left(self._minutes, last + 1)
        total = float(high - low)
        if low < high and self._minutes[low] == first:
            total -= (from_ns % BUCKET_NS) / BUCKET_NS
        if low < high and self._minutes[high - 1] == last:
            total -= 1 - (to_ns % BUCKET_NS) / BUCKET_NS
        return max(total, 1 / 60)


def coverage_of(sources: CaseSources) -> Coverage:
    """From the times of all spans and log records."""
    return Coverage([*(span.start_ns for span in sources.spans), *(log.time_ns for log in sources.logs)])
