"""Log files of any size, batch by batch, in this process and in another."""

import json
import multiprocessing
import os
import signal
from contextlib import aclosing
from pathlib import Path

import pytest

from retrieval.errors import BadInput
from retrieval.ingest import streaming
from retrieval.ingest.case_folder import read_files
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.ingest.streaming import batches, stream_files
from retrieval.model import CaseSources


def logged(path: Path, count: int, first: int = 0) -> Path:
    with path.open("a") as file:
        for n in range(first, first + count):
            record = {"ts": 1_790_000_000_000_000_000 + n, "service": "pay", "message": f"line {n} by ada{n}@acme.io"}
            file.write(json.dumps(record) + "\n")
    return path


async def everything(path: Path) -> list[CaseSources]:
    async with aclosing(stream_files("logs", [path], redactor=throwaway_redactor())) as found:
        return [batch async for batch in found]


async def test_batches_hold_what_the_whole_holds_and_no_more_than_they_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "BATCH_RECORDS", 40)
    path = logged(tmp_path / "a.jsonl", 100)
    whole = await read_files("logs", [path], redactor=throwaway_redactor())

    found = await everything(path)

    assert [len(batch.logs) for batch in found] == [40, 40, 20]
    assert tuple(record for batch in found for record in batch.logs) == whole.logs
    assert all(set(batch.services) == {"pay"} for batch in found)


def test_a_batch_is_bounded_in_size_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH_CHARACTERS", 100)
    found = batches("logs", [logged(tmp_path / "a.jsonl", 20)], throwaway_redactor())

    assert max(len(batch.logs) for batch in found) <= 4


async def test_a_large_file_is_read_by_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = logged(tmp_path / "a.jsonl", 300)
    here = await everything(path)
    monkeypatch.setattr(streaming, "ALONE_BYTES", 1)

    async with aclosing(stream_files("logs", [path], redactor=throwaway_redactor())) as found:
        there = [await anext(found)]
        assert multiprocessing.active_children()
        there += [batch async for batch in found]

    assert there == here
    assert not multiprocessing.active_children()


async def test_a_reading_process_that_dies_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "ALONE_BYTES", 1)
    path = logged(tmp_path / "a.jsonl", 60_000)

    async with aclosing(stream_files("logs", [path], redactor=throwaway_redactor())) as found:
        await anext(found)
        (child,) = multiprocessing.active_children()
        os.kill(child.pid or 0, signal.SIGKILL)
        with pytest.raises(BadInput, match="ended early") as refusal:
            _ = [batch async for batch in found]

    assert refusal.value.remedy


async def test_who_stops_early_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "ALONE_BYTES", 1)
    async with aclosing(
        stream_files("logs", [logged(tmp_path / "a.jsonl", 50_000)], redactor=throwaway_redactor())
    ) as found:
        await anext(found)

    assert not multiprocessing.active_children()


async def test_what_cannot_be_used_is_told_once_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH_RECORDS", 10)
    path = tmp_path / "a.jsonl"
    for n in range(8):
        logged(path, 5, n * 5)
        with path.open("a") as file:
            file.write("{broken\n" * 10)

    problems = [problem for batch in await everything(path) for problem in batch.problems]

    single = [p for p in problems if p.source.line]
    counted = sum(int(p.reason.split()[0]) for p in problems if not p.source.line)
    assert len({p.source.line for p in single}) == len(single) == 50
    assert counted == 30


async def test_other_kinds_come_whole_and_bad_paths_are_named(tmp_path: Path) -> None:
    path = tmp_path / "deploys.jsonl"
    path.write_text('{"service": "pay", "git_sha": "a1", "started_at": "2026-01-01T00:00:00Z"}\n' * 3)
    async with aclosing(stream_files("deploys", [path], redactor=throwaway_redactor())) as found:
        assert [len(batch.deploys) async for batch in found] == [3]
    with pytest.raises(BadInput, match="does not exist"):
        await everything(tmp_path / "absent.jsonl")
