"""The embedded engine: SQLite keeps, numpy searches.

Why not a text index beside the database: a second store has to be kept in step and replayed after a crash, breaks ties
by its own segments, and its ranking differs with deletions. Here every answer is computed exactly from one durable
source, which at the size one host can hold (a million documents) costs milliseconds.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from retrieval.errors import BadInput, EmbeddingUnavailable, Reason, StoreError
from retrieval.index.analyzer import analyze
from retrieval.index.bm25 import query_terms
from retrieval.index.embedded import bm25
from retrieval.index.embedded.database import Database
from retrieval.index.embedded.folder import Folder
from retrieval.index.embedded.memory import Memory
from retrieval.index.embedded.postings import item_hash, term_hash
from retrieval.index.embedded.ranking import Scores, Slots, best
from retrieval.index.embedded.records import prepare
from retrieval.index.embedded.table import Mask, View, filtered
from retrieval.index.overlap import items
from retrieval.index.records import embedded_text, key_item, refuse_secrets
from retrieval.index.vectors import packed, unit
from retrieval.model import Document, Hit, Query
from retrieval.ports import Clock, Embedder, Redactor

_T = TypeVar("_T")
_BATCH = 128  # texts of one call to the embedding model
_KEEP_VECTORS_NS = 90 * 86_400 * 10**9  # a text that comes back within a quarter is not embedded again
_RETRIES = 3  # of a read whose documents were replaced between ranking and reading


class EmbeddedIndex:
    """`retrieval.ports.Index` over one folder. Close it; a temporary one is removed then.

    Vectors are made in the background after `put`, so that a cold model delays nothing; `settle` waits for them.
    """

    name = "embedded"

    def __init__(
        self, folder: Folder, database: Database, *, clock: Clock, embedder: Embedder | None, redactor: Redactor | None
    ) -> None:
        self._folder = folder
        self._database = database
        self._memory = Memory(database)
        self._clock = clock
        self._embedder = embedder
        self._redactor = redactor
        self._writing = threading.Lock()
        self._embedding: asyncio.Task[None] | None = None
        self._closed = False
        self.no_vectors = "" if embedder else "no embedding model is configured"

    async def put(self, documents: Sequence[Document]) -> int:
        count = await self._in_thread(self._put, documents)
        self._embed_in_background()
        return count

    def _put(self, documents: Sequence[Document]) -> int:
        if self._redactor is not None:
            refuse_secrets(documents, self._redactor)
        prepared = prepare(documents)
        packed_by_id = {p.document.id: p.postings for p in prepared}
        with self._writing:
            rows, replaced = self._database.put(prepared)
            if rows:
                self._memory.apply([(row, packed_by_id[row.id]) for row in rows], replaced)
        return len(prepared)

    async def get(self, ids: Sequence[str], *, acl: Sequence[str]) -> list[Document]:
        return await self._in_thread(self._get, ids, frozenset(acl))

    def _get(self, ids: Sequence[str], tags: frozenset[str]) -> list[Document]:
        rids = self._database.rids(list(dict.fromkeys(ids)))
        bodies = self._database.bodies(list(rids.values()))
        now = self._clock.now_ns()
        found = [bodies[rids[wanted]] for wanted in ids if rids.get(wanted) in bodies]
        return [d for d in found if tags.intersection(d.acl) and (d.expires_ns is None or d.expires_ns > now)]

    async def lexical(self, query: Query) -> list[Hit]:
        return await self._in_thread(self._hits, query, self._lexical)

    def _lexical(self, view: View, mask: Mask, query: Query) -> tuple[Mask, Scores]:
        if not query.text.strip():
            return mask, np.zeros(view.size, dtype=np.float64)
        terms = query_terms(analyze(query.text))
        scores = bm25.scores(view, mask, [term_hash(term) for term in terms])
        return _at(view, (passing := np.flatnonzero(mask))[scores[passing] > 0]), scores

    async def dense(self, query: Query) -> list[Hit]:
        return await self._in_thread(self._hits, query, self._dense)

    def _dense(self, view: View, mask: Mask, query: Query) -> tuple[Mask, Scores]:
        vectors = self._memory.vectors
        scores = np.zeros(view.size, dtype=np.float64)
        if not vectors.dimensions or not query.vector:
            return np.zeros(view.size, dtype=np.bool_), scores
        if len(query.vector) != vectors.dimensions:
            raise BadInput(f"The query's vector has {len(query.vector)} dimensions, the store's {vectors.dimensions}.")
        passing = np.flatnonzero(mask)
        slots = passing[view.columns["vector"][passing] >= 0]
        wanted = unit(np.asarray(query.vector, dtype=np.float32))
        scores[slots] = vectors.cosines(view.columns["vector"][slots], wanted)
        return _at(view, slots), scores

    async def symbolic(self, query: Query) -> list[Hit]:
        return await self._in_thread(self._hits, query, self._symbolic)

    def _symbolic(self, view: View, mask: Mask, query: Query) -> tuple[Mask, Scores]:
        """The same figure as `overlap.symbol_overlap`; every key that is asked for was met, or the mask is false."""
        asked, met = items(query), len(query.keys)
        held = bm25.holders(view, mask, [item_hash(item) for item in sorted(asked)])
        passing = np.flatnonzero(mask)
        slots = passing if met else passing[held[passing] > 0]
        shared = held[slots].astype(np.float64) + met
        union = len(asked) + met + view.columns["items"][slots] + met - shared
        scores = np.zeros(view.size, dtype=np.float64)
        scores[slots] = shared / union
        return _at(view, slots), scores

    def _hits(self, query: Query, leg: Callable[[View, Mask, Query], tuple[Mask, Scores]]) -> list[Hit]:
        for _ in range(_RETRIES):
            view = self._memory.view
            found, scores = leg(view, self._mask(view, query), query)
            slots = np.flatnonzero(found)
            chosen = best(slots, scores[slots], view.columns["time"][slots], view.ids, query.limit)
            rids = [int(view.columns["rid"][slot]) for slot, _ in chosen]
            bodies = self._database.bodies(rids)
            if len(bodies) == len(rids):
                break
        return [
            Hit(document=bodies[rid], score=score)
            for rid, (_, score) in zip(rids, chosen, strict=True)
            if rid in bodies
        ]

    def _mask(self, view: View, query: Query) -> Mask:
        mask = filtered(view, query, self._clock.now_ns())
        for name, value in query.keys.items():
            mask &= bm25.holders(view, mask, [item_hash(key_item(name, value))]) > 0
        return mask

    async def count(self, query: Query) -> int:
        return await self._in_thread(lambda: int(self._mask(self._memory.view, query).sum()))

    async def delete(self, query: Query) -> int:
        return await self._in_thread(self._delete, lambda view: self._mask(view, query))

    async def sweep(self, now_ns: int) -> int:
        def expired(view: View) -> Mask:
            return view.live & (view.columns["expires"][: view.size] <= now_ns)

        count = await self._in_thread(self._delete, expired)
        await self._in_thread(self._database.forget_vectors, now_ns - _KEEP_VECTORS_NS)
        return count

    def _delete(self, chosen: Callable[[View], Mask]) -> int:
        with self._writing:
            view = self._memory.view
            rids = [int(rid) for rid in view.columns["rid"][np.flatnonzero(chosen(view))]]
            if rids:
                self._database.delete(rids)
                self._memory.apply([], rids)
        return len(rids)

    async def alias(self, name: str, snapshot: str) -> None:
        await self._in_thread(self._alias, name, snapshot)

    def _alias(self, name: str, snapshot: str) -> None:
        with self._writing:
            self._database.alias(name, snapshot)
            self._memory.alias(name, snapshot)

    async def settle(self) -> str:
        """Wait until every stored text has its vector; returns why there are none, or ""."""
        self._embed_in_background()
        if self._embedding is not None:
            await asyncio.shield(self._embedding)
        return self.no_vectors

    def _embed_in_background(self) -> None:
        if self._embedder and (self._embedding is None or self._embedding.done()):
            self._embedding = asyncio.get_running_loop().create_task(self._embed(self._embedder))

    async def _embed(self, embedder: Embedder) -> None:
        while pending := await self._in_thread(self._database.pending, _BATCH):
            try:
                vectors = await embedder.embed([embedded_text(document) for document in pending.values()])
            except EmbeddingUnavailable as error:
                self.no_vectors = str(error)
                return
            found = [(key, d.time_ns, packed(v)) for (key, d), v in zip(pending.items(), vectors, strict=True)]
            await self._in_thread(self._add_vectors, found)
            self.no_vectors = ""

    def _add_vectors(self, vectors: list[tuple[bytes, int, bytes]]) -> None:
        with self._writing:
            self._memory.add_vectors(self._database.add_vectors(vectors))

    async def close(self) -> None:
        """Let go of the folder; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._embedding is not None:
            self._embedding.cancel()
            await asyncio.gather(self._embedding, return_exceptions=True)
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._writing:
            self._database.close()
            self._folder.release()

    async def _in_thread(self, work: Callable[..., _T], *arguments: object) -> _T:
        if self._closed:
            raise StoreError("The store is closed.", reason=Reason.UNAVAILABLE)
        return await asyncio.to_thread(work, *arguments)


def _at(view: View, slots: Slots) -> Mask:
    mask = np.zeros(view.size, dtype=np.bool_)
    mask[slots] = True
    return mask


async def open_engine(
    place: Path | None, *, clock: Clock, embedder: Embedder | None = None, redactor: Redactor | None = None
) -> EmbeddedIndex:
    """Open the store in a folder, made when absent; None: a temporary one.

    Raises: StoreLocked, StoreError.
    """

    def opened() -> EmbeddedIndex:
        folder = Folder(place)
        try:
            database = Database(folder.database, durable=not folder.temporary)
            if embedder is not None:
                database.use_model(embedder.model_id)
            return EmbeddedIndex(folder, database, clock=clock, embedder=embedder, redactor=redactor)
        except StoreError:
            folder.release()
            raise

    return await asyncio.to_thread(opened)
