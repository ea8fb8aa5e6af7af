"""What only the embedded engine promises: one owner, no loss, vectors in the background, one truth after any crash."""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from retrieval.errors import EmbeddingUnavailable, Reason, StoreError, StoreLocked
from retrieval.index import open_index
from retrieval.index.embedded import memory
from retrieval.index.embedded.folder import DATABASE
from tests.contract.index_documents import FixedClock, WordVectors, document, query

ROOT = Path(__file__).resolve().parents[3]
WRITER = """
import asyncio, sys
from pathlib import Path
from retrieval.index import open_index
from retrieval.model import Document

async def main():
    index = await open_index(Path(sys.argv[1]))
    start = int(sys.argv[2])
    for batch in range(start, start + 10_000):
        lines = [f"batch{batch} line {n}" for n in range(25)]
        await index.put([Document(id=f"{batch}-{n}", kind="log", text=t, time_ns=n) for n, t in enumerate(lines)])
        print(batch, flush=True)

asyncio.run(main())
"""


async def killed_writer(folder: Path, start: int, after: int) -> int:
    """Ingest in another process and kill it; returns the last batch that it said was durable."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WRITER,
        str(folder),
        str(start),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    last = -1
    while last < start + after:
        last = int(await process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest = await process.stdout.read()
    await process.wait()
    return max([last, *(int(line) for line in rest.split())])


async def test_a_killed_process_loses_no_acknowledged_document(tmp_path: Path) -> None:
    last = -1
    for n in range(3):
        start = last + 1
        last = await killed_writer(tmp_path, start, after=3 + 4 * n)
        index = await open_index(tmp_path, clock=FixedClock())
        count = await index.count(query())
        found = {h.document.id for h in await index.lexical(query("line", limit=count + 1))}
        acknowledged = {f"{batch}-{i}" for batch in range(last + 1) for i in range(25)}
        assert acknowledged <= found
        assert len(found) == count and count % 25 == 0  # whole batches only
        assert await index.delete(query("x", keys={"none": "x"})) == 0
        await index.put([document(f"{last + 1}-{i}", f"batch{last + 1} line {i}") for i in range(25)])
        last += 1
        await index.close()


async def test_a_second_owner_is_refused_with_the_first_one_s_number(tmp_path: Path) -> None:
    first = await open_index(tmp_path)

    with pytest.raises(StoreLocked, match=str(os.getpid())) as refused:
        await open_index(tmp_path)

    assert refused.value.remedy
    await first.close()
    await (await open_index(tmp_path)).close()


async def test_a_throw_away_store_leaves_nothing_behind() -> None:
    index = await open_index(None)
    await index.put([document("1")])
    folder = index._folder.path  # type: ignore[attr-defined]
    assert folder.is_dir()

    await index.close()
    await index.close()

    assert not folder.exists()
    with pytest.raises(StoreError, match="closed"):
        await index.count(query())


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"not a database at all" * 100)

    with pytest.raises(StoreError, match="damaged") as refused:
        await open_index(tmp_path)

    assert refused.value.reason is Reason.CORRUPT
    with pytest.raises(StoreError, match="damaged"):  # and not: locked
        await open_index(tmp_path)


async def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    await (await open_index(tmp_path)).close()
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        connection.execute("UPDATE meta SET value = '0.0' WHERE name = 'schema'")
    connection.close()

    with pytest.raises(StoreError, match=r"schema 0\.0"):
        await open_index(tmp_path)


async def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(StoreError, match="cannot be used"):
        await open_index(tmp_path / "file")


async def test_readers_see_whole_batches_while_one_writes() -> None:
    index = await open_index(None, clock=FixedClock())

    async def write() -> None:
        for round_ in range(20):
            await index.put([document(f"d{n}", f"round{round_} word") for n in range(50)])

    async def read() -> None:
        for _ in range(40):
            texts = {hit.document.text for hit in await index.lexical(query("word", limit=60))}
            assert len(texts) <= 1

    await asyncio.gather(write(), read(), read())
    assert await index.count(query()) == 50
    await index.close()


async def test_memory_is_given_back_after_many_replacements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_DEAD", 10)
    index = await open_index(None, clock=FixedClock())
    await index.alias("current", "live")
    for round_ in range(12):
        await index.put([document(f"d{n}", f"round{round_} word") for n in range(10)])
        asked = query(f"round{round_}", snapshot="current", limit=20)
        assert len(await index.lexical(asked)) == 10

    assert index._memory.view.size <= 40  # type: ignore[attr-defined]
    assert await index.lexical(query("round3")) == []
    await index.close()


async def test_a_text_is_embedded_once() -> None:
    model = WordVectors()
    index = await open_index(None, embedder=model, clock=FixedClock())
    await index.put([document(f"d{n}", "same text") for n in range(5)])
    assert await index.settle() == ""  # type: ignore[attr-defined]
    await index.put([document("more", "same text"), document("d1", "same text", service="now elsewhere")])
    assert await index.settle() == ""  # type: ignore[attr-defined]

    assert model.texts == ["same text"]
    vector = (await model.embed(["same text"]))[0]
    assert len(await index.dense(query(vector=vector))) == 6
    await index.close()


async def test_another_model_s_vectors_are_forgotten(tmp_path: Path) -> None:
    first = await open_index(tmp_path, embedder=WordVectors("one"), clock=FixedClock())
    await first.put([document("1", "text")])
    assert await first.settle() == ""  # type: ignore[attr-defined]
    await first.close()

    model = WordVectors("two", dimensions=8)
    second = await open_index(tmp_path, embedder=model, clock=FixedClock())
    vector = (await model.embed(["text"]))[0]
    assert await second.dense(query(vector=vector)) == []
    assert await second.settle() == ""  # type: ignore[attr-defined]
    assert len(await second.dense(query(vector=vector))) == 1
    await second.close()


async def test_vectors_outlive_their_documents_by_a_quarter(tmp_path: Path) -> None:
    day = 86_400 * 10**9
    model = WordVectors()
    index = await open_index(tmp_path, embedder=model, clock=FixedClock())
    await index.put([document("1", "text", time_ns=day, expires_ns=2 * day)])
    assert await index.settle() == ""  # type: ignore[attr-defined]
    assert await index.sweep(30 * day) == 1
    await index.put([document("2", "text", time_ns=31 * day, expires_ns=32 * day)])
    assert await index.settle() == ""  # type: ignore[attr-defined]
    assert model.texts == ["text"]

    assert await index.sweep(200 * day) == 1
    await index.put([document("3", "text", time_ns=201 * day)])
    assert await index.settle() == ""  # type: ignore[attr-defined]
    assert model.texts == ["text", "text"]
    await index.close()


class NoModel:
    model_id = "none"
    dimensions = 3

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        raise EmbeddingUnavailable("not installed")


async def test_without_a_model_everything_but_the_dense_leg_works() -> None:
    index = await open_index(None, embedder=NoModel(), clock=FixedClock())
    await index.put([document("1")])

    assert await index.settle() == "not installed"  # type: ignore[attr-defined]
    assert await index.dense(query(vector=(1.0, 0.0, 0.0))) == []
    assert len(await index.lexical(query("payment"))) == 1
    await index.close()


async def test_a_store_grows_past_its_first_columns_and_opens_again(tmp_path: Path) -> None:
    index = await open_index(tmp_path, clock=FixedClock(), embedder=WordVectors(dimensions=4))
    await index.put([document(f"d{n:04}", f"number {n}", service=f"s{n % 3}") for n in range(1_500)])
    before = await index.lexical(query("number 1499", services=("s1", "s2"), limit=3))
    assert await index.settle() == ""  # type: ignore[attr-defined]
    await index.close()

    again = await open_index(tmp_path, clock=FixedClock())

    assert await again.count(query()) == 1_500
    assert await again.lexical(query("number 1499", services=("s1", "s2"), limit=3)) == before
    assert len(await again.dense(query(vector=(1.0, 0.0, 0.0, 0.0), limit=2_000))) == 1_500
    await again.close()


async def test_a_full_disk_is_said_and_nothing_of_the_batch_is_there(tmp_path: Path) -> None:
    index = await open_index(tmp_path, clock=FixedClock())
    await index.put([document("1")])
    index._database._writer.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]

    with pytest.raises(StoreError, match="full") as refused:
        await index.put([document(f"big{n}", "word " * 5_000) for n in range(50)])

    assert refused.value.reason is Reason.UNAVAILABLE
    assert [h.document.id for h in await index.lexical(query(limit=99))] == ["1"]
    await index.close()
