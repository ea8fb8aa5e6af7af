"""A query to the bodies of searches. Every body of one query has the same filters. Pure."""

from collections.abc import Sequence
from typing import Any

from retrieval.index.elasticsearch.mapping import digest, vector_name, word
from retrieval.index.overlap import items
from retrieval.index.records import clamped, key_item
from retrieval.model import Query

Body = dict[str, Any]

WINDOW = 10_000  # hits of one search: `index.max_result_window`
CANDIDATES = 1_000  # of each kNN search; as many as a narrow filter passes make it exact
_CLAUSES = 1_000  # of one query; the server takes at least 1,024
_OVERSAMPLE = 3.0  # found by their bytes, ranked by their floats
_NEWEST: list[Body] = [{"time": "desc"}, {"doc_id": "asc"}]
_BEST: list[Body] = [{"_score": "desc"}, *_NEWEST]


def filters(query: Query, now_ns: int) -> list[Body]:
    """What a document must pass before anything is computed of it."""
    found: list[Body] = [
        {"terms": {"acl": [word(tag) for tag in query.acl]}},
        {"term": {"snapshot": word(query.snapshot)}},
        {"range": {"expires": {"gt": clamped(now_ns)}}},
    ]
    if query.kinds:
        found.append({"terms": {"kind": [word(kind) for kind in query.kinds]}})
    if query.services:
        found.append({"terms": {"service": [word(service) for service in query.services]}})
    for name in ("environment", "language"):
        if value := getattr(query, name):
            found.append({"term": {name: word(value)}})
    moments = {"gte": query.from_ns, "lt": query.to_ns}
    if bounds := {bound: clamped(at) for bound, at in moments.items() if at is not None}:
        found.append({"range": {"time": bounds}})
    return [*found, *({"term": {"items": digest(key_item(*pair))}} for pair in query.keys.items())]


def newest(passed: Sequence[Body], size: int, after: Sequence[Any] = ()) -> Body:
    return _page({"bool": {"filter": list(passed)}}, size, _NEWEST, after)


def lexical(passed: Sequence[Body], terms: Sequence[str], size: int) -> Body:
    matching = {"match": {"terms": {"query": " ".join(terms), "operator": "or"}}}
    return _page({"bool": {"filter": list(passed), "must": [matching]}}, size, _BEST)


def statistics(terms: Sequence[str]) -> Body:
    """How many documents exist, how many terms they have, and how many hold each term: of all that is alive, whoever
    may see it. The server's own figures would count what was deleted until a segment is merged."""
    frequencies = {str(n): {"term": {"terms": term}} for n, term in enumerate(terms)}
    return {
        "size": 0,
        "track_total_hits": True,
        "aggs": {"length": {"sum": {"field": "length"}}, "holding": {"filters": {"filters": frequencies}}},
    }


def dense(passed: Sequence[Body], vector: Sequence[float], model: str, size: int) -> Body:
    """`size` nearest of what passes; k and the number of candidates are bounded by the server."""
    known: Body = {"exists": {"field": "model"}} if not model else {"term": {"model": model}}
    return {
        "size": size,
        "track_total_hits": False,
        "_source": ["body", "vector"],
        "knn": {
            "field": vector_name(len(vector)),
            "query_vector": list(vector),
            "k": size,
            "num_candidates": min(max(CANDIDATES, 2 * size), WINDOW),
            "filter": [*passed, known],
            "rescore_vector": {"oversample": _OVERSAMPLE},
        },
    }


def symbolic(passed: Sequence[Body], query: Query, size: int, after: Sequence[Any] = ()) -> Body:
    """Scored by how many items are shared, and within one number of them by how few items a document has."""
    shared = [{"constant_score": {"filter": {"term": {"items": digest(i)}}}} for i in sorted(items(query))[:_CLAUSES]]
    needed = 0 if query.keys else 1
    wanted: Body = {"filter": list(passed), "should": shared, "minimum_should_match": needed}
    sort = [{"_score": "desc"}, {"shared": "asc"}, *_NEWEST]
    return {**_page({"bool": wanted}, size, sort, after), "_source": ["body", "shared"]}


def _page(query: Body, size: int, sort: Sequence[Body], after: Sequence[Any] = ()) -> Body:
    body: Body = {"size": size, "track_total_hits": False, "_source": ["body"], "query": query, "sort": list(sort)}
    return {**body, "search_after": list(after)} if after else body
