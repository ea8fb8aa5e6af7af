"""`retrieval.ports.Index` over a cluster.

The server filters and chooses candidates; scores and order are computed here (`ranking.py`). A reader sees what it has
written: the first question after a write refreshes the indices, so that loading much pays for it once.
"""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from elasticsearch import AsyncElasticsearch
from msgspec.structs import replace

from retrieval.errors import BadInput, Reason, StoreError
from retrieval.index.analyzer import analyze
from retrieval.index.bm25 import query_terms
from retrieval.index.elasticsearch import bodies, ranking
from retrieval.index.elasticsearch.bulk import CHUNK_ITEMS, Operation, Rejected, Writer
from retrieval.index.elasticsearch.client import asked, connect, refusal
from retrieval.index.elasticsearch.indices import Indices
from retrieval.index.elasticsearch.mapping import digest, week_end_ns, word
from retrieval.index.elasticsearch.sources import Prepared, document_of, prepare, vector_of
from retrieval.index.elasticsearch.vectors import Vectorizer
from retrieval.index.overlap import items, jaccard
from retrieval.index.place import Access, place_of
from retrieval.index.records import clamped, refuse_secrets
from retrieval.index.vectors import unit
from retrieval.model import Document, Hit, Query
from retrieval.ports import Clock, Embedder, Redactor

log = logging.getLogger(__name__)

_SPARE = 100  # candidates beyond the limit, among which our order may differ from the server's
_PAGE = 1_000
_IN_FLIGHT = 2  # bulk requests of one batch that are under way at once
_Row = dict[str, Any]


class ElasticsearchIndex:
    """Close it; a temporary one removes its indices then. A `put` that is answered is on disk: the server writes its
    log through before it acknowledges. What the server will never take is set aside in `PREFIX-rejected`, told in the
    log, and not counted; a batch that was cut off is whole again when it is put again."""

    name = "elasticsearch"

    def __init__(
        self,
        client: AsyncElasticsearch,
        indices: Indices,
        *,
        clock: Clock,
        embedder: Embedder | None,
        redactor: Redactor | None,
        temporary: bool,
    ) -> None:
        self._client, self._indices = client, indices
        self._clock, self._redactor, self._temporary = clock, redactor, temporary
        self._writer = Writer(client)
        self._model = embedder.model_id if embedder else ""
        self._vectorizer = Vectorizer(client, indices, self._writer, embedder) if embedder else None
        self._closed = False

    @property
    def no_vectors(self) -> str:
        return self._vectorizer.reason if self._vectorizer else "no embedding model is configured"

    async def put(self, documents: Sequence[Document]) -> int:
        self._open()
        if self._redactor is not None:
            await asyncio.to_thread(refuse_secrets, documents, self._redactor)
        latest = {document.id: document for document in documents}
        pieces = [latest[key] for key in sorted(latest)]
        written = 0
        sending: list[asyncio.Task[int]] = []
        try:
            for at in range(0, len(pieces), CHUNK_ITEMS):  # one is made ready while others are on their way
                ready = await asyncio.to_thread(prepare, pieces[at : at + CHUNK_ITEMS], self._indices.prefix)
                await self._indices.make({p.index for p in ready})
                if len(sending) == _IN_FLIGHT:
                    written += await sending.pop(0)
                sending.append(asyncio.create_task(self._send(ready)))
            while sending:
                written += await sending.pop(0)
        finally:
            await asyncio.gather(*sending, return_exceptions=True)
        if self._vectorizer and pieces:
            self._vectorizer.start()
        return written

    async def _send(self, ready: Sequence[Prepared]) -> int:
        moved = await self._indices.elsewhere({p.id: p.index for p in ready})
        operations = [Operation("index", p.index, p.id, p.source) for p in ready]
        self._indices.dirty = True
        written = await self._writer.write([*operations, *(Operation("delete", at, key) for at, key in moved)])
        self._indices.dirty = True
        await self._set_aside(written.rejected)
        return len(ready) - len(written.rejected)

    async def _set_aside(self, rejected: Sequence[Rejected]) -> None:
        if not rejected:
            return
        kinds = sorted({r.kind for r in rejected})
        log.warning("%d documents were rejected by the store and set aside (%s)", len(rejected), ", ".join(kinds))
        await self._indices.keep_rejected(
            [(r.operation.id, r.status, r.kind, str((r.operation.source or {}).get("body", ""))) for r in rejected],
            self._writer,
        )

    async def get(self, ids: Sequence[str], *, acl: Sequence[str]) -> list[Document]:
        await self._refreshed()
        wanted = list(dict.fromkeys(ids))
        now = {"range": {"expires": {"gt": clamped(self._clock.now_ns())}}}
        found: dict[str, Document] = {}
        for at in range(0, len(wanted), _PAGE):
            some = {"ids": {"values": [digest(key) for key in wanted[at : at + _PAGE]]}}
            tags = {"terms": {"acl": [word(tag) for tag in acl]}}
            for row in await self._search({**bodies.newest([some, now, tags], _PAGE), "sort": ["_doc"]}):
                document = document_of(row["_source"])
                found[document.id] = document
        return [found[key] for key in ids if key in found]

    async def lexical(self, query: Query) -> list[Hit]:
        passed = await self._filters(query)
        if query.limit <= 0:
            return []
        if not query.text.strip():
            return await self._newest(passed, query.limit)
        terms = query_terms(analyze(query.text))
        if not terms:
            return []
        size = min(query.limit + _SPARE, bodies.WINDOW)
        while True:
            told, rows = await self._both(bodies.statistics(terms), bodies.lexical(passed, terms, size))
            found = await asyncio.to_thread(_rescored, rows, _statistics(told, terms))
            if len(rows) < size or size == bodies.WINDOW or ranking.settled(found, query.limit):
                return ranking.ordered(found, query.limit)
            size = min(2 * size, bodies.WINDOW)

    async def _newest(self, passed: Sequence[bodies.Body], limit: int) -> list[Hit]:
        found: list[Hit] = []
        after: Sequence[Any] = ()
        while len(found) < limit:
            size = min(limit - len(found), bodies.WINDOW)
            rows = await self._search(bodies.newest(passed, size, after))
            found += [Hit(document=document_of(row["_source"]), score=0.0) for row in rows]
            if len(rows) < size:
                break
            after = rows[-1]["sort"]
        return ranking.ordered(found, limit)

    async def dense(self, query: Query) -> list[Hit]:
        passed = await self._filters(query)
        dimensions = await self._indices.dimensions()
        if not dimensions or not query.vector or query.limit <= 0:
            return []
        if len(query.vector) != dimensions:
            raise BadInput(f"The query's vector has {len(query.vector)} dimensions, the store's {dimensions}.")
        wanted = unit(np.asarray(query.vector, dtype=np.float32))
        if not wanted.any():
            return []
        size = min(query.limit + _SPARE, bodies.WINDOW // 2)
        rows = await self._search(bodies.dense(passed, wanted.tolist(), self._model, size))
        scores = ranking.cosines([vector_of(row["_source"]) for row in rows], wanted)
        hits = [Hit(document=document_of(r["_source"]), score=s) for r, s in zip(rows, scores, strict=True)]
        return ranking.ordered(hits, query.limit)

    async def symbolic(self, query: Query) -> list[Hit]:
        passed = await self._filters(query)
        asked_items, met = len(items(query)), len(query.keys)
        if query.limit <= 0 or not (asked_items or met):
            return []
        size = min(max(query.limit, _SPARE), bodies.WINDOW)
        found: list[Hit] = []
        after: Sequence[Any] = ()
        while True:
            rows = await self._search(bodies.symbolic(passed, query, size, after))
            for row in rows:
                shared = round(row["sort"][0])
                score = jaccard(shared + met, asked_items + met, row["_source"]["shared"] + met)
                found.append(Hit(document=document_of(row["_source"]), score=score))
            found = ranking.ordered(found, max(query.limit, 1))
            if len(rows) < size or (len(found) >= query.limit and _beaten(rows[-1], found[-1], asked_items, met)):
                return found
            after = rows[-1]["sort"]

    async def count(self, query: Query) -> int:
        passed = await self._filters(query)
        with asked("count"):
            answer = await self._client.count(
                index=self._indices.alias, query={"bool": {"filter": passed}}, ignore_unavailable=True
            )
        return int(answer["count"])

    async def delete(self, query: Query) -> int:
        return await self._delete(await self._filters(query))

    async def sweep(self, now_ns: int) -> int:
        """Weeks that are over go as a whole, the rest document by document."""
        self._open()
        over = [name for name in await self._indices.names() if (week_end_ns(name) or now_ns + 1) <= now_ns]
        dropped = await self._indices.drop(over) if over else 0
        return dropped + await self._delete([{"range": {"expires": {"lte": clamped(now_ns)}}}])

    async def _delete(self, passed: Sequence[bodies.Body]) -> int:
        await self._refreshed()
        total = 0
        while rows := await self._search({**bodies.newest(passed, _PAGE), "_source": False}):
            written = await self._writer.write([Operation("delete", row["_index"], row["_id"]) for row in rows])
            if not written.done:
                raise StoreError(f"{len(rows)} documents could not be deleted.")
            total += written.done
            self._indices.dirty = True
            await self._refreshed()
        return total

    async def alias(self, name: str, snapshot: str) -> None:
        self._open()
        await self._indices.point(name, snapshot)

    async def settle(self) -> str:
        """Wait until every stored text has its vector; returns why there are none, or ""."""
        if self._vectorizer:
            await self._vectorizer.settle()
        return self.no_vectors

    async def close(self) -> None:
        """A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._vectorizer:
            await self._vectorizer.stop()
        try:
            if self._temporary:
                await self._indices.remove()
        finally:
            await self._client.close()

    def _open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.", reason=Reason.UNAVAILABLE)

    async def _filters(self, query: Query) -> list[bodies.Body]:
        """Also brings what was written before the eye of a search."""
        await self._refreshed()
        snapshot = await self._indices.snapshot(query.snapshot)
        return bodies.filters(replace(query, snapshot=snapshot), self._clock.now_ns())

    async def _refreshed(self) -> None:
        self._open()
        await self._indices.refresh()

    async def _search(self, body: bodies.Body) -> list[_Row]:
        self._open()
        found: list[_Row] = (await self._answers(body))[0]["hits"]["hits"]
        return found

    async def _both(self, told: bodies.Body, body: bodies.Body) -> tuple[Any, list[_Row]]:
        first, second = await self._answers(told, body)
        return first, second["hits"]["hits"]

    async def _answers(self, *wanted: bodies.Body) -> list[Any]:
        """One request for all of them. What only some of the shards could answer is no answer."""
        head = {
            "index": self._indices.alias,
            "ignore_unavailable": True,
            "allow_partial_search_results": False,
            "preference": self._indices.prefix,
            "search_type": "dfs_query_then_fetch",
        }
        with asked("search"):
            answer = await self._client.msearch(searches=[part for body in wanted for part in (head, body)])
        for one in answer["responses"]:
            if "error" in one:
                raise refusal("search", int(one.get("status", 500)), str(one["error"].get("type", "")))
        return list(answer["responses"])


def _rescored(rows: Sequence[_Row], statistics: ranking.Statistics) -> list[Hit]:
    documents = [document_of(row["_source"]) for row in rows]
    return [Hit(document=document, score=ranking.bm25(document, statistics)) for document in documents]


def _statistics(told: Any, terms: Sequence[str]) -> ranking.Statistics:
    found = told.get("aggregations") or {}
    counts = found.get("holding", {}).get("buckets", {})
    return ranking.Statistics(
        documents=int(told["hits"]["total"]["value"]),
        lengths=int(found.get("length", {}).get("value") or 0),
        frequencies={term: int(counts[str(n)]["doc_count"]) if counts else 0 for n, term in enumerate(terms)},
    )


def _beaten(last: _Row, worst: Hit, asked_items: int, met: int) -> bool:
    """Whether no document after the last one of a page can come before the worst that would be told: one that shares as
    much has more items, one that shares less reaches at most what it shares over what was asked for."""
    shared = round(last["sort"][0])
    same = jaccard(shared + met, asked_items + met, last["_source"]["shared"] + met)
    less = (shared - 1 + met) / (asked_items + met) if shared else 0.0
    return worst.score >= same and worst.score > less


async def open_engine(
    url: str,
    *,
    clock: Clock,
    embedder: Embedder | None = None,
    redactor: Redactor | None = None,
    access: Access | None = None,
    temporary: bool = False,
) -> ElasticsearchIndex:
    """Connect to `place_of(url)`; `temporary` takes a private prefix that `close` removes.

    Raises: BadInput, StoreUnavailable, StoreError.
    """
    place = place_of(url)
    prefix = f"{place.prefix}-private-{secrets.token_hex(8)}" if temporary else place.prefix
    client = connect(place, access or Access())
    indices = Indices(client, prefix, embedder.dimensions if embedder else 0)
    try:
        await indices.open()
    except BaseException:
        await client.close()
        raise
    return ElasticsearchIndex(client, indices, clock=clock, embedder=embedder, redactor=redactor, temporary=temporary)
