"""BM25 (`retrieval.index.bm25`) over the postings in memory."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.index.bm25 import K1, B, idf
from retrieval.index.embedded.table import Mask, View


def scores(view: View, mask: Mask, hashes: Sequence[int]) -> NDArray[np.float64]:
    """Per slot the BM25 score, 0 where the mask is false or no term is held."""
    total = np.zeros(view.size, dtype=np.float64)
    if not view.documents or not view.lengths:
        return total
    average = view.lengths / view.documents
    intact = view.documents == view.size  # nothing deleted: every entry counts
    lengths = K1 * (1 - B + B * view.columns["norm"][: view.size] / average)
    for term in hashes:
        found = [segment.entries(term) for segment in view.segments]
        frequency = sum(len(slots) if intact else int(view.live[slots].sum()) for slots, _ in found)
        if not frequency:
            continue
        weight = idf(view.documents, frequency)
        for slots, counts in found:
            seen = np.flatnonzero(mask[slots])
            slots, tf = slots[seen], counts[seen].astype(np.float64)
            total[slots] += weight * tf / (tf + lengths[slots])
    return total


def holders(view: View, mask: Mask, hashes: Sequence[int]) -> NDArray[np.uint16]:
    """Per slot how many of some exact items it holds, 0 where the mask is false."""
    total = np.zeros(view.size, dtype=np.uint16)
    for item in hashes:
        for segment in view.segments:
            slots, _ = segment.entries(item)
            total[slots] += 1
    total[~mask] = 0
    return total
