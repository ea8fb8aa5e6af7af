"""BM25 exactly as Lucene's `BM25Similarity` computes it, so that this engine and Elasticsearch rank alike.

    sum over the distinct query terms of  idf * tf / (tf + k1 * (1 - b + b * norm / average))
    idf = ln(1 + (N - df + 0.5) / (df + 0.5))

`norm` is the document's number of terms after Lucene's one-byte rounding (`SmallFloat.intToByte4`: exact below 40).
N, df and the average are those of all documents that exist, whoever may see them: filters narrow what is returned, not
what a term is worth.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.index.embedded.table import Mask, View

K1, B = 1.2, 0.75
MAX_TERMS = 512  # distinct terms of one query; a longer text is cut, so that no alert costs more than that

_FREE = 24  # 255 - longToInt4(2**31 - 1), the lengths that a byte holds as they are


def rounded_length(length: int) -> int:
    """A length after Lucene's `intToByte4` and `byte4ToInt`: a 4-bit mantissa, rounded down."""
    if length < _FREE:
        return length
    rest = length - _FREE
    shift = max(rest.bit_length() - 4, 0)
    return _FREE + (rest >> shift << shift)


def query_terms(terms: Sequence[str]) -> list[str]:
    """The distinct terms that are asked for, sorted, so that sums come out the same to the last bit."""
    return sorted(list(dict.fromkeys(terms))[:MAX_TERMS])


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
        idf = math.log(1 + (view.documents - frequency + 0.5) / (frequency + 0.5))
        for slots, counts in found:
            seen = np.flatnonzero(mask[slots])
            slots, tf = slots[seen], counts[seen].astype(np.float64)
            total[slots] += idf * tf / (tf + lengths[slots])
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
