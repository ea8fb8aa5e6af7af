"""Against real nodes: the same hits as the embedded store, and nothing lost or doubled when a node dies."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from retrieval.errors import StoreUnavailable
from retrieval.index import open_index
from retrieval.model import Document, Query
from retrieval.ports import Index
from tests.benchmarks.store import corpus, questions
from tests.contract.index_documents import FixedClock, WordVectors, document, query
from tests.elasticsearch.node import VERSIONS, Missing, Node, absent

pytestmark = pytest.mark.elasticsearch
EITHER = [pytest.param(v, marks=pytest.mark.xdist_group(f"elasticsearch-{v}")) for v in VERSIONS]
DOCUMENTS, QUESTIONS, TOP = 5_000, 300, 50


@pytest.fixture(params=EITHER)
async def stores(request: pytest.FixtureRequest, nodes: Callable[[str], Node]) -> AsyncIterator[tuple[Index, Index]]:
    """The embedded store and a cluster, both holding the corpus."""
    clock, url = FixedClock(), nodes(request.param).url
    documents = list(corpus(DOCUMENTS - 700, 600, 100))
    async with AsyncExitStack() as stack:
        here = await open_index(None, clock=clock, embedder=WordVectors())
        stack.push_async_callback(here.close)
        there = await open_index(url, clock=clock, embedder=WordVectors(), temporary=True)
        stack.push_async_callback(there.close)
        for index in (here, there):
            for at in range(0, DOCUMENTS, 1_000):
                assert await index.put(documents[at : at + 1_000]) == 1_000
            assert await index.settle() == ""
        yield here, there


async def asked() -> list[Query]:
    about = list(corpus(DOCUMENTS - 700, 600, 100))
    questions_ = [replace(q, limit=TOP) for q in questions(about, QUESTIONS)]
    vectors = await WordVectors().embed([q.text for q in questions_])
    return [replace(q, vector=vector) for q, vector in zip(questions_, vectors, strict=True)]


async def test_a_cluster_gives_the_hits_of_the_embedded_store(stores: tuple[Index, Index]) -> None:
    here, there = stores
    near = among = found = 0
    for question in await asked():
        mine, theirs = [[(h.document.id, h.score) for h in await i.lexical(question)] for i in stores]
        assert theirs == mine
        found += len(mine)
        assert [h.document.id for h in await there.symbolic(question)] == [
            h.document.id for h in await here.symbolic(question)
        ]
        nearest = {h.document.id for h in await here.dense(question)}
        near += len(nearest)
        among += len(nearest & {h.document.id for h in await there.dense(question)})
    assert found > 5_000
    assert near > 5_000
    assert among / near >= 0.99


async def _put(
    index: Index, batches: Sequence[Sequence[Document]], acknowledged: list[str], begun: asyncio.Event
) -> None:
    for batch in batches:
        while True:
            try:
                await index.put(batch)
            except StoreUnavailable:  # whoever is told so has kept what was not taken
                continue
            break
        acknowledged += [d.id for d in batch]
        if len(acknowledged) >= 3_000:
            begun.set()


@pytest.mark.xdist_group("elasticsearch-8.19.9")
async def test_a_node_that_dies_in_the_middle_of_a_bulk_loses_and_doubles_nothing(tmp_path: Path) -> None:
    try:
        node = await asyncio.to_thread(Node("8.19.9", tmp_path).start)
    except Missing as missing:
        absent(str(missing))
    batches = [[document(f"b{b}/{n}", f"batch {b} item {n}") for n in range(500)] for b in range(30)]
    acknowledged: list[str] = []
    index = await open_index(node.url)
    try:
        begun = asyncio.Event()
        writing = asyncio.create_task(_put(index, batches, acknowledged, begun))
        await begun.wait()
        await asyncio.sleep(0.02)  # into the next bulk
        port, before = node.port, len(acknowledged)
        node.kill()
        assert before < 15_000
        await asyncio.to_thread(node.start, port)
        await writing
        assert len(acknowledged) == 15_000
        assert await index.count(query()) == 15_000
        for at in range(0, 15_000, 1_000):
            some = acknowledged[at : at + 1_000]
            assert [d.id for d in await index.get(some, acl=("public",))] == some
    finally:
        await index.close()
        node.stop()
