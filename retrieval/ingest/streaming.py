"""Log files of any size as batches of bounded size, read in a process of their own where they are large.

Reading, which redacts, costs about as much as making documents of what was read and indexing them; two processes do
both at once, and neither ever holds more than a few batches.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from retrieval.errors import BadInput, Reason
from retrieval.ingest.case_folder import files_of, gathered, read_files, readers_of, redacted_records
from retrieval.ingest.intake import Intake
from retrieval.model import CaseSources
from retrieval.ports import Redactor

STREAMED = frozenset({"logs"})  # other records belong together: a trace must not be cut in two
BATCH_RECORDS = 20_000
BATCH_CHARACTERS = 16 * 2**20
ALONE_BYTES = 4 * 2**20  # below this a second process costs more than it saves


async def stream_files(kind: str, paths: Sequence[Path], *, redactor: Redactor) -> AsyncGenerator[CaseSources, None]:
    """Files of one kind in the order given, batch by batch; kinds that are not `STREAMED` come as one.

    Raises: BadInput (no such kind, no such file, the reading process was ended).
    """
    readers_of(kind, paths)
    if kind not in STREAMED:
        yield await read_files(kind, paths, redactor=redactor)
        return
    if await asyncio.to_thread(_size, paths) < ALONE_BYTES:
        found = batches(kind, paths, redactor)
        while (batch := await asyncio.to_thread(next, found, None)) is not None:
            yield batch
        return
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, kind, list(paths), redactor), daemon=True)
    await asyncio.to_thread(process.start)
    sender.close()
    try:
        while (batch := await asyncio.to_thread(_received, receiver)) is not None:
            yield batch
    finally:
        receiver.close()
        process.kill()
        await asyncio.to_thread(process.join)
        process.close()


def _size(paths: Sequence[Path]) -> int:
    return sum(file.stat().st_size for file in files_of(paths))


def batches(kind: str, paths: Sequence[Path], redactor: Redactor) -> Iterator[CaseSources]:
    """The same in this process. A batch's problems are those that were met while it was read."""
    readers = readers_of(kind, paths)
    for file in files_of(paths):
        intake = Intake()
        records = redacted_records(readers, file, intake, redactor)
        while True:
            batch = list(_some(records))
            problems = intake.problems()
            if batch or problems:
                yield gathered({"logs": batch}, problems)
            if not batch:
                break
            intake.forget()


def _some(records: Iterator[Any]) -> Iterator[Any]:
    """As many as a batch may hold, by number and by size."""
    characters = 0
    for record in islice(records, BATCH_RECORDS):
        yield record
        characters += len(record.body)
        if characters >= BATCH_CHARACTERS:
            return


def _send(sender: Connection, kind: str, paths: list[Path], redactor: Redactor) -> None:
    """In the reading process. A pipe that is full makes it wait, one that is closed ends it."""
    try:
        for batch in batches(kind, paths, redactor):
            sender.send(batch)
        sender.send(None)
    except BrokenPipeError:
        return
    finally:
        sender.close()


def _received(receiver: Connection) -> CaseSources | None:
    try:
        batch: CaseSources | None = receiver.recv()
    except (EOFError, OSError) as error:
        raise BadInput(
            "The process that reads the files ended early; what came before is stored.",
            reason=Reason.UNAVAILABLE,
            remedy="See whether memory ran out; ingest the same files again, nothing is doubled.",
        ) from error
    return batch
