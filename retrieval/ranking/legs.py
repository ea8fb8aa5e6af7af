"""Three ways to look for every query at once, a time-out for each, one ranking over all (rows A4, B5, C3)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from retrieval.errors import EmbeddingUnavailable, StoreUnavailable
from retrieval.index import LOCAL
from retrieval.model import Document, Hit, Query
from retrieval.ports import Embedder, Index
from retrieval.ranking.score import DEFAULT, Weights, ranked, score

TIMEOUT_S = 0.45  # of one leg of an outside store (row C3)
# A store in this process can be slow but not absent, and an answer that depends on a machine's load can't be repeated.
PATIENT_TIMEOUT_S = 10.0
# Of the query's own vectors. A model that is still loading must not keep the first alert waiting (it loads behind).
MODEL_TIMEOUT_S = 1.0
LEGS = ("symbolic", "lexical", "dense")
_WIDER = 2  # a leg looks for so many times the documents that are wanted, since legs disagree


class Missing(Struct, frozen=True, order=True):
    """A leg that gave no answer to a query; `kinds` are those that it asked of, joined by commas."""

    leg: str
    kinds: str
    reason: str  # timeout | unavailable | no_vectors


class Retrieval(Struct, frozen=True):
    """Hits, best first, and what is missing from them; `missing` empty means that every leg answered."""

    hits: tuple[Hit, ...]
    missing: tuple[Missing, ...] = ()


class Search(Struct, frozen=True, kw_only=True):
    """How to search. `now_ns` is the moment that recency is measured from: the onset, not the wall clock."""

    now_ns: int
    weights: Weights = DEFAULT
    limit: int = 200
    per_kind: int = 25
    timeout_s: float = TIMEOUT_S


class _Answer(Struct):
    query: Query
    legs: dict[str, list[Hit]]
    missing: list[Missing]


async def retrieve(
    index: Index, queries: Sequence[Query], *, at_ns: int, embedder: Embedder | None = None, patient: bool = False
) -> Retrieval:
    """`search` as of a moment, with the default weights. A store in this process is always waited for, another one only
    by the `patient`: whoever wants the same answer every time more than an early one."""
    patience = PATIENT_TIMEOUT_S if patient or index.name in LOCAL else TIMEOUT_S
    return await search(index, queries, Search(now_ns=at_ns, timeout_s=patience), embedder)


async def search(index: Index, queries: Sequence[Query], how: Search, embedder: Embedder | None = None) -> Retrieval:
    """Ask all queries, each by all legs concurrently, and rank what they found together.

    A leg that is too slow, unavailable or has nothing to compare (no model, no vectors) is left out, named, and its
    weight is spread over the others. Same store, same queries: same hits in the same order.

    Raises: StoreError (the store itself is broken), BadInput.
    """
    patience = min(how.timeout_s, MODEL_TIMEOUT_S)
    vectors, why = await _vectors([query.text for query in queries], embedder, patience)
    with_vectors = [replace(query, vector=vectors.get(query.text, query.vector)) for query in queries]
    answers = await asyncio.gather(*(_ask(index, query, why, how.timeout_s) for query in with_vectors))
    return Retrieval(
        tuple(ranked(_scored(answers, how), how.per_kind)[: how.limit]),
        tuple(sorted({missing for answer in answers for missing in answer.missing})),
    )


async def _vectors(
    texts: Sequence[str], embedder: Embedder | None, timeout_s: float
) -> tuple[Mapping[str, tuple[float, ...]], str]:
    """A vector for each distinct text, in one call. A model that is still loading goes on loading behind."""
    wanted = sorted({text for text in texts if text.strip()})
    if embedder is None or not wanted:
        return {}, "no_vectors"
    work = asyncio.ensure_future(embedder.embed(wanted))
    work.add_done_callback(_retrieved)
    try:
        async with asyncio.timeout(timeout_s):
            vectors = await asyncio.shield(work)
    except TimeoutError:
        return {}, "timeout"
    except EmbeddingUnavailable:
        return {}, "unavailable"
    return dict(zip(wanted, vectors, strict=True)), "no_vectors"


def _retrieved(work: "asyncio.Future[list[tuple[float, ...]]]") -> None:
    """Look at a late failure, so that it is not reported as forgotten."""
    if not work.cancelled():
        work.exception()


async def _ask(index: Index, query: Query, no_vector: str, timeout_s: float) -> _Answer:
    wide = replace(query, limit=query.limit * _WIDER)
    kinds = ",".join(query.kinds)
    answer = _Answer(query, {}, [])
    calls: dict[str, Callable[[Query], Awaitable[list[Hit]]]] = {"symbolic": index.symbolic, "lexical": index.lexical}
    if query.vector:
        calls["dense"] = index.dense
    else:
        answer.missing.append(Missing("dense", kinds, no_vector))
    results = await asyncio.gather(*(_leg(call, wide, timeout_s) for call in calls.values()))
    for name, result in zip(calls, results, strict=True):
        if isinstance(result, str):
            answer.missing.append(Missing(name, kinds, result))
        elif name == "dense" and not result:
            answer.missing.append(Missing(name, kinds, "no_vectors"))
        else:
            answer.legs[name] = result
    return answer


async def _leg(call: Callable[[Query], Awaitable[list[Hit]]], query: Query, timeout_s: float) -> list[Hit] | str:
    try:
        async with asyncio.timeout(timeout_s):
            return await call(query)
    except TimeoutError:
        return "timeout"
    except StoreUnavailable:
        return "unavailable"


def _scored(answers: Sequence[_Answer], how: Search) -> list[Hit]:
    """Every document of every answer. BM25 is measured against the best of the whole retrieval: all queries ask about
    the same incident, in largely the same words."""
    best = max((hit.score for answer in answers for hit in answer.legs.get("lexical", ())), default=0.0)
    found: list[Hit] = []
    for answer in answers:
        lexical = {h.document.id: h.score / best if best else 0.0 for h in answer.legs.get("lexical", ())}
        dense = {h.document.id: h.score for h in answer.legs.get("dense", ())}
        documents: dict[str, Document] = {h.document.id: h.document for name in LEGS for h in answer.legs.get(name, ())}
        for key, document in sorted(documents.items()):
            legs = {
                "lexical": lexical.get(key, 0.0) if "lexical" in answer.legs else None,
                "dense": dense.get(key, 0.0) if "dense" in answer.legs else None,
            }
            found.append(score(answer.query, document, legs, how.now_ns, how.weights))
    return found
