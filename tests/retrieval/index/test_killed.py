"""Forty times kill -9 in the middle of ingest: what was acknowledged is there, once, and every index agrees."""

import asyncio
import multiprocessing
import os
import random
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from retrieval.index import open_index
from retrieval.model import Document
from retrieval.ports import Index
from tests.contract.index_documents import document, query
from tests.elasticsearch.node import Node

KILLS, BATCH = 40, 40


def made(number: int) -> Document:
    return document(f"d{number:06}", f"word{number} batch{number // BATCH} common", paths=(f"src/{number}.py",))


def ingest(place: Any, first: int, acknowledged: Connection) -> None:
    """In a process of its own: batch after batch; each is told when the store has taken it."""

    async def endless() -> None:
        index = await open_index(place)
        at = first
        while True:
            await index.put([made(n) for n in range(at, at + BATCH)])
            at += BATCH
            acknowledged.send(at)

    asyncio.run(endless())


def killed(place: Any, first: int, rng: random.Random) -> int:
    """Start it, kill it at some moment; returns the first number that was not acknowledged."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["retrieval.index", "elasticsearch"])
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=ingest, args=(place, first, theirs), daemon=True)
    process.start()
    theirs.close()
    at = first
    try:
        for _ in range(rng.randrange(4)):
            at = mine.recv()
        mine.poll(rng.random() * 0.03)
    finally:
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
    while mine.poll():
        try:
            at = mine.recv()
        except EOFError:
            break
    mine.close()
    process.close()
    return at


async def agrees(index: Index, acknowledged: int) -> int:
    """That everything acknowledged is there once, and by every way; returns the number of documents."""
    count = await index.count(query())
    assert acknowledged <= count <= acknowledged + BATCH
    assert count % BATCH == 0 or index.name != "embedded"  # a batch is one transaction there
    ids = [made(n).id for n in range(acknowledged)]
    for at in range(0, acknowledged, 1_000):
        assert [d.id for d in await index.get(ids[at : at + 1_000], acl=("public",))] == ids[at : at + 1_000]
    return count


async def found_every_way(index: Index, number: int) -> None:
    wanted = made(number)
    assert [h.document.id for h in await index.lexical(query(f"word{number}"))] == [wanted.id]
    assert [h.document.id for h in await index.symbolic(query(paths=wanted.paths))] == [wanted.id]


@asynccontextmanager
async def closing(index: Index) -> AsyncIterator[Index]:
    try:
        yield index
    finally:
        await index.close()


@pytest.mark.parametrize(
    "store",
    [
        "embedded",
        pytest.param("8.19.9", marks=[pytest.mark.elasticsearch, pytest.mark.xdist_group("elasticsearch-8.19.9")]),
    ],
)
async def test_forty_kills_lose_and_double_nothing(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    nodes: Callable[[str], Node] | None = request.getfixturevalue("nodes") if store != "embedded" else None
    place: Any = f"{nodes(store).url}/killed" if nodes else tmp_path / "store"
    rng, acknowledged = random.Random(5), 0
    for kill in range(KILLS):
        acknowledged = await asyncio.to_thread(killed, place, acknowledged, rng)
        if kill % 5 == 4:
            async with closing(await open_index(place)) as index:
                await agrees(index, acknowledged)
    async with closing(await open_index(place)) as index:
        count = await agrees(index, acknowledged)
        assert acknowledged > 10 * BATCH
        for number in rng.sample(range(count), 40):
            await found_every_way(index, number)
        assert len({h.document.id for h in await index.lexical(query("common", limit=count + 10))}) == count
        await index.delete(query())
