"""BM25 (`retrieval.index.bm25`) over the postings in memory. What a query costs follows what passes its filters, not
what is stored."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.index.bm25 import K1, B, idf
from retrieval.index.embedded.postings import Slots
from retrieval.index.embedded.table import Mask, View

_NARROW = 16  # entries of a term for each slot that passes, from which on searching them beats reading them all


def scores(view: View, mask: Mask, hashes: Sequence[int]) -> NDArray[np.float64]:
    """Per slot the BM25 score, 0 where the mask is false or no term is held."""
    total = np.zeros(view.size, dtype=np.float64)
    passing = np.flatnonzero(mask)
    if not view.documents or not view.lengths or not len(passing):
        return total
    average = view.lengths / view.documents
    intact = view.documents == view.size  # nothing deleted: every entry counts
    for term in hashes:
        found = [segment.entries(term) for segment in view.segments]
        frequency = sum(len(slots) if intact else int(view.live[slots].sum()) for slots, _ in found)
        if not frequency:
            continue
        weight = idf(view.documents, frequency)
        for slots, counts in found:
            seen = _passing(slots, mask, passing)
            slots, tf = slots[seen], counts[seen].astype(np.float64)
            total[slots] += weight * tf / (tf + K1 * (1 - B + B * view.columns["norm"][slots] / average))
    return total


def holders(view: View, mask: Mask, hashes: Sequence[int]) -> NDArray[np.uint16]:
    """Per slot how many of some exact items it holds, 0 where the mask is false."""
    total = np.zeros(view.size, dtype=np.uint16)
    passing = np.flatnonzero(mask)
    if not len(passing):
        return total
    for item in hashes:
        for segment in view.segments:
            slots, _ = segment.entries(item)
            total[slots[_passing(slots, mask, passing)]] += 1
    return total


def _passing(slots: Slots, mask: Mask, passing: Slots) -> Slots:
    """Positions in `slots` whose slot passes, ascending. `passing` is where the mask is true; both are ascending."""
    if not len(slots):
        return slots
    low, high = np.searchsorted(passing, [slots[0], slots[-1] + 1])
    if _NARROW * (high - low) >= len(slots):
        return np.flatnonzero(mask[slots])
    inside = passing[low:high]
    at = np.searchsorted(slots, inside)
    held: Slots = at[slots[at] == inside]
    return held
