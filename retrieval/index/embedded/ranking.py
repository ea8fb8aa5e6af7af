"""The best slots of many, in the order that every engine keeps: score and time descending, id ascending. Pure."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.intp]
Scores = NDArray[np.float64]
Times = NDArray[np.int64]


def best(slots: Slots, scores: Scores, times: Times, ids: Sequence[str], limit: int) -> list[tuple[int, float]]:
    """At most `limit` (slot, score) pairs. `scores` and `times` go with `slots`; `ids` is by slot.

    Ids are compared only where score and time are equal, so that a store of any size costs two partitions.
    """
    if limit <= 0 or not len(slots):
        return []
    kept = _head(scores, limit)
    slots, scores, times = slots[kept], scores[kept], times[kept]
    last = scores.min()
    above, level = np.flatnonzero(scores > last), np.flatnonzero(scores == last)
    level = level[_head(times[level], limit - len(above))]
    chosen = np.concatenate([above, level])
    found = [(float(scores[at]), int(times[at]), ids[int(slots[at])], int(slots[at])) for at in chosen]
    found.sort(key=lambda hit: (-hit[0], -hit[1], hit[2]))
    return [(slot, score) for score, _, _, slot in found[:limit]]


def _head(values: NDArray[np.generic], limit: int) -> Slots:
    """Positions of the `limit` greatest values and of all that equal the least of them."""
    if len(values) <= limit:
        return np.arange(len(values))
    threshold = np.partition(values, len(values) - limit)[len(values) - limit]
    return np.flatnonzero(values >= threshold)
