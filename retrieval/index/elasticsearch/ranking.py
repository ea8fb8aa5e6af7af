"""Exact scores over what a search brought back. Pure.

Elasticsearch computes BM25 in single precision and from statistics that still count deleted documents; its order serves
to choose candidates. What is told is computed here, by the same formula and to the same bit as the embedded engine
does, so that an answer does not depend on where documents are kept.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from retrieval.index.analyzer import analyze
from retrieval.index.bm25 import K1, MAX_COUNT, B, idf, rounded_length
from retrieval.index.vectors import DECIMALS, F32, unpacked
from retrieval.model import Document, Hit

_NOISE = 1e-5  # relative; a float's sum of 512 terms is exact to about 3e-6


class Statistics(Struct, frozen=True):
    """Of all documents alive: how many, their terms in all, and how many hold each term."""

    documents: int
    lengths: int
    frequencies: Mapping[str, int]


def bm25(document: Document, statistics: Statistics) -> float:
    """The score that `retrieval.index.embedded.bm25.scores` gives the same document; terms in sorted order."""
    terms = Counter(analyze(f"{document.title}\n{document.text}"))
    average = statistics.lengths / statistics.documents
    length = K1 * (1 - B + B * rounded_length(terms.total()) / average)
    total = 0.0
    for term, frequency in sorted(statistics.frequencies.items()):
        count = min(terms[term], MAX_COUNT)
        if count and frequency:
            total += idf(statistics.documents, frequency) * count / (count + length)
    return total


def cosines(vectors: Sequence[bytes], wanted: F32) -> list[float]:
    if not vectors:
        return []
    found: list[float] = np.round(np.vecdot(unpacked(list(vectors)), wanted).astype(np.float64), DECIMALS).tolist()
    return found


def ordered(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Score and time descending, id ascending: the order of every engine."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.document.time_ns, hit.document.id))[:limit]


def settled(found: Sequence[Hit], limit: int) -> bool:
    """Whether no document beyond those that were fetched, in the server's order, can belong to the best `limit`."""
    if len(found) <= limit:
        return False
    best = sorted((hit.score for hit in found), reverse=True)[limit - 1]
    return best > found[-1].score * (1 + _NOISE)
