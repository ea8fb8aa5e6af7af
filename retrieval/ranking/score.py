"""The default score of a document for a query (row A4), every part kept. Pure.

    0.35 symbol overlap + 0.20 path proximity + 0.20 BM25 + 0.20 cosine + 0.05 recency

Each part is 0..1. A leg that gave no answer at all is left out and the others' weights are scaled up to 1: what is not
known must not count as what is unlike. `Hit.parts` then lacks the leg's name.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from retrieval.index.overlap import path_proximity, symbol_overlap
from retrieval.model import Document, Hit, Query

_DECIMALS = 6  # below, two machines' arithmetic may differ


class Weights(Struct, frozen=True, kw_only=True):
    """Of the parts; they need not sum to 1. `half_life_ns` is the age at which recency is one half, `floor` what is
    left of it at any age where a signature matches."""

    symbol: float = 0.35
    path: float = 0.20
    lexical: float = 0.20
    dense: float = 0.20
    recency: float = 0.05
    half_life_ns: int = 6 * 3_600 * 10**9
    floor: float = 0.25


DEFAULT = Weights()


def recency(query: Query, document: Document, now_ns: int, weights: Weights = DEFAULT) -> float:
    """How near in time, 0..1: halves with every half-life, never below the floor where a signature matches. What has no
    time is as old as can be."""
    floor = weights.floor if signature_matches(query, document) else 0.0
    if not document.time_ns:
        return floor
    age = abs(now_ns - document.time_ns)
    return max(floor, float(0.5 ** min(age / weights.half_life_ns, 64.0)))


def signature_matches(query: Query, document: Document) -> bool:
    pairs = (
        (query.error_signature, document.error_signature),
        (query.stack_signature, document.stack_signature),
    )
    return any(asked and asked == held for asked, held in pairs)


def score(
    query: Query, document: Document, legs: Mapping[str, float | None], now_ns: int, weights: Weights = DEFAULT
) -> Hit:
    """A document with its score. `legs` holds `lexical` and `dense`, normalised to 0..1; None where a leg is missing.

    A document's own weight (attribute `weight`, 1 by default) scales these two: a section that names a cause says more
    with the same words.
    """
    own = document.attributes.get("weight", 1.0)
    parts: dict[str, float] = {
        "symbol": symbol_overlap(query, document),
        "path": path_proximity(query.paths, document.paths),
        "recency": recency(query, document, now_ns, weights),
    }
    for name in ("lexical", "dense"):
        value = legs.get(name)
        if value is not None:
            parts[name] = min(max(value, 0.0) * own, 1.0)
    total = sum(getattr(weights, name) for name in parts)
    earned = sum(getattr(weights, name) * parts[name] for name in sorted(parts))
    return Hit(
        document=document,
        score=round(earned / total, _DECIMALS) if total else 0.0,
        parts={name: round(parts[name], _DECIMALS) for name in sorted(parts)},
    )


def ranked(hits: Sequence[Hit], per_kind: int) -> list[Hit]:
    """Best first, each document once with its best score, at most `per_kind` of a kind; ties by document id (row B5).

    Of one failure there are hundreds of logs and spans that score alike; without a share for each kind they would leave
    no room for the diff that explains them.
    """
    best: dict[str, Hit] = {}
    for hit in hits:
        known = best.get(hit.document.id)
        if known is None or hit.score > known.score:
            best[hit.document.id] = hit
    taken: Counter[str] = Counter()
    kept = []
    for hit in sorted(best.values(), key=lambda h: (-h.score, h.document.id)):
        taken[hit.document.kind] += 1
        if taken[hit.document.kind] <= per_kind:
            kept.append(hit)
    return kept
