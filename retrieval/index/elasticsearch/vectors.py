"""Vectors for what was stored without: made in the background, each text once (row A3)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from elasticsearch import AsyncElasticsearch

from retrieval.errors import EmbeddingUnavailable, RetrievalError
from retrieval.index.elasticsearch.bulk import Operation, Writer
from retrieval.index.elasticsearch.client import asked
from retrieval.index.elasticsearch.indices import Indices
from retrieval.index.elasticsearch.sources import document_of, prepared, vector_of
from retrieval.index.records import embedded_text
from retrieval.index.vectors import packed
from retrieval.ports import Embedder

_BATCH = 128


class Vectorizer:
    """A document gets its vector by being written again whole, and only if nobody wrote it meanwhile. `reason` says
    why there are none, "" when there are."""

    def __init__(self, client: AsyncElasticsearch, indices: Indices, writer: Writer, embedder: Embedder) -> None:
        self._client, self._indices, self._writer, self._embedder = client, indices, writer, embedder
        self._task: asyncio.Task[None] | None = None
        self.reason = ""

    def start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def settle(self) -> None:
        self.start()
        if self._task is not None:
            await asyncio.shield(self._task)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while rows := await self._pending():
                if not await self._vectorize(rows):
                    break
            self.reason = ""
        except EmbeddingUnavailable as error:
            self.reason = str(error)
        except RetrievalError as error:
            self.reason = error.told

    async def _pending(self) -> list[dict[str, Any]]:
        await self._indices.refresh()
        lacking = {"exists": {"field": "text_key"}}, {"term": {"model": self._embedder.model_id}}
        with asked("find texts without vectors"):
            answer = await self._client.search(
                index=self._indices.alias,
                query={"bool": {"filter": [lacking[0]], "must_not": [lacking[1]]}},
                source={"includes": ["body", "text_key"]},
                seq_no_primary_term=True,
                size=_BATCH,
                sort=[{"time": "desc"}, {"doc_id": "asc"}],
                ignore_unavailable=True,
            )
        return list(answer["hits"]["hits"])

    async def _vectorize(self, rows: Sequence[Mapping[str, Any]]) -> int:
        """How many documents were written."""
        documents = {row["_id"]: document_of(row["_source"]) for row in rows}
        texts = {row["_source"]["text_key"]: embedded_text(documents[row["_id"]]) for row in rows}
        known = await self._known(sorted(texts))
        new = sorted(set(texts) - set(known))
        made = await self._embedder.embed([texts[key] for key in new])
        known |= {key: packed(vector) for key, vector in zip(new, made, strict=True)}
        operations = []
        for row in rows:
            vector = known[row["_source"]["text_key"]]
            whole = prepared(documents[row["_id"]], self._indices.prefix, vector, self._embedder.model_id)
            unchanged = {"if_seq_no": row["_seq_no"], "if_primary_term": row["_primary_term"]}
            operations.append(Operation("index", row["_index"], row["_id"], whole.source, unchanged))
        written = await self._writer.write(operations)
        self._indices.dirty = True
        return written.done + written.missed

    async def _known(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Vectors of texts that some document has already."""
        with asked("find vectors"):
            answer = await self._client.search(
                index=self._indices.alias,
                query={"bool": {"filter": [
                    {"terms": {"text_key": list(keys)}}, {"term": {"model": self._embedder.model_id}},
                ]}},
                collapse={"field": "text_key"},
                source={"includes": ["text_key", "vector"]},
                size=len(keys),
                ignore_unavailable=True,
            )  # fmt: skip
        return {row["_source"]["text_key"]: vector_of(row["_source"]) for row in answer["hits"]["hits"]}
