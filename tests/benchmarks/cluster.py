"""How fast documents go into Elasticsearch: `python -m tests.benchmarks.cluster URL [DOCUMENTS]`.

The same documents are sent twice, in the same run: by the store (which analyses, packs, chunks and checks every item),
and raw, ready made, by the client's own `async_bulk` with its default chunks. The goal is 80 % of raw.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from elasticsearch.helpers import async_bulk

from retrieval.index import open_index
from retrieval.index.elasticsearch.client import connect
from retrieval.index.elasticsearch.mapping import SETTINGS, mappings
from retrieval.index.elasticsearch.sources import prepare
from retrieval.index.place import Access, place_of
from retrieval.model import Document
from tests.benchmarks.store import corpus

DOCUMENTS, BATCH, SHARE = 40_000, 1_000, 0.8
RAW = "receipts-benchmark-raw"


async def stored(url: str, documents: Sequence[Document]) -> float:
    """Documents a second by the store, until all can be found."""
    index = await open_index(url, temporary=True)
    try:
        await index.put(documents[:BATCH])
        began = time.perf_counter()
        for at in range(BATCH, len(documents), BATCH):
            await index.put(documents[at : at + BATCH])
        return (len(documents) - BATCH) / (time.perf_counter() - began)
    finally:
        await index.close()


async def raw(url: str, documents: Sequence[Document]) -> float:
    """The same by the client's helper, of sources that were made before."""
    ready = prepare(documents, RAW)
    actions: list[dict[str, Any]] = [{"_index": RAW, "_id": p.id, "_source": p.source} for p in ready]
    async with connect(place_of(url), Access()) as client:
        await client.indices.delete(index=RAW, ignore_unavailable=True)
        await client.indices.create(index=RAW, settings=SETTINGS, mappings=mappings(0))
        try:
            await async_bulk(client, actions[:BATCH])
            began = time.perf_counter()
            await async_bulk(client, actions[BATCH:])
            return (len(actions) - BATCH) / (time.perf_counter() - began)
        finally:
            await client.indices.delete(index=RAW, ignore_unavailable=True)


async def measured(url: str, count: int) -> bool:
    documents = list(islice(corpus(count, 0, 0), count))
    pairs = [(await stored(url, documents), await raw(url, documents)) for _ in range(2)]
    ours, theirs = max(a for a, _ in pairs), max(b for _, b in pairs)
    print(f"by the store      {ours:10,.0f} documents a second, {count:,} of them")
    print(f"raw               {theirs:10,.0f} documents a second")
    print(f"share             {ours / theirs:10.0%} (goal {SHARE:.0%})")
    return ours >= SHARE * theirs


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("name a cluster: http://HOST:PORT [DOCUMENTS]", file=sys.stderr)
        return 2
    count = int(arguments[1]) if len(arguments) > 1 else DOCUMENTS
    return 0 if asyncio.run(measured(arguments[0], count)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
