"""How fast log files become documents, and whether memory stays flat: `python -m tests.benchmarks.ingest [RECORDS]`.

The path is that of `receipts ingest logs`: a process that parses and redacts, another that makes templates and indexes.
Printed beside it: redaction alone, over the same lines. With vectors, new templates
(each word drawn, so that none was seen before) are embedded by the real model.

The lines are made from a fixed seed: forty services, some four hundred templates, ids and addresses that occur once. By
their own times they are a thousand a second, or, in the sparse part, one a second, where nearly every record becomes a
document of its own.
"""

import asyncio
import json
import multiprocessing
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from bot.redaction import load_redactor
from retrieval.embedding import open_embedder
from retrieval.errors import EmbeddingUnavailable
from retrieval.index import open_index
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.ingest.streaming import stream_files
from retrieval.kinds.storing import Keeping, store_sources
from tests.benchmarks.store import corpus

RECORDS_S, TEMPLATES_S, GROWTH = 5_000.0, 300.0, 1.10
RECORDS = 2_000_000
FILE = 20_000  # records of one file
TEMPLATES = 600
SPACING_NS, SPARSE_NS = 10**6, 10**9  # between two records, by their own times


def write(path: Path, first: int, count: int, spacing_ns: int = SPACING_NS) -> list[str]:
    """A file of JSON records, which it returns as text too."""
    rng = random.Random(first)
    texts = [document.text for document in corpus(400, 0, 0)]
    said = [f"{rng.choice(texts)} user{first + n}@example.com from 10.0.{n % 250}.{n % 199}" for n in range(count)]
    with path.open("a") as file:
        for n, text in enumerate(said):
            at = 1_790_000_000 * 10**9 + (first + n) * spacing_ns
            record = {"ts": at, "level": "INFO", "service": f"s-{n % 40}", "message": text}
            file.write(json.dumps(record) + "\n")
    return said


def resident_mb(process: int | str = "self") -> float:
    """What a process holds now, in MiB; 0 when it is gone. Linux only."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    except FileNotFoundError:
        return 0.0
    return int(found.group(1)) / 1024 if found else 0.0


def all_resident_mb() -> float:
    """This process, and the one that reads."""
    return resident_mb() + sum(resident_mb(child.pid or 0) for child in multiprocessing.active_children())


async def logs(folder: Path, records: int, spacing_ns: int) -> tuple[float, float, list[float]]:
    """Seconds, documents, and what was held after each batch."""
    redactor = load_redactor(folder)
    index = await open_index(folder / "store", redactor=redactor)
    for first in range(0, records, FILE):
        await asyncio.to_thread(write, folder / "app.jsonl", first, min(FILE, records - first), spacing_ns)
    read, made, held = 0, 0, list[float]()
    began = time.perf_counter()
    async with aclosing(stream_files("logs", [folder / "app.jsonl"], redactor=redactor)) as batches:
        async for sources in batches:
            stored = await store_sources(index, sources, {}, Keeping(redactor=redactor, received_ns=1))
            read, made = read + len(sources.logs), made + stored.counts.get("log", 0)
            held.append(all_resident_mb())
    took = time.perf_counter() - began
    await index.close()
    assert read == records
    return took, made, held


def redaction(texts: Sequence[str]) -> float:
    """Lines a second of texts that no redactor has seen before."""
    redactor = throwaway_redactor()
    began = time.perf_counter()
    for text in texts:
        redactor.text(text)
    return len(texts) / (time.perf_counter() - began)


def embedded(folder: Path, records: int) -> bool:
    met = True
    for name, count, spacing_ns in (("sparse", records // 20, SPARSE_NS), ("log records", records, SPACING_NS)):
        (folder / name).mkdir()
        took, made, held = asyncio.run(logs(folder / name, count, spacing_ns))
        goal = f" (goal {RECORDS_S:,.0f})" if spacing_ns == SPACING_NS else ""
        print(f"{name:17} {count / took:10,.0f} a second, {count:,} in {took:.0f} s, {made:,.0f} documents{goal}")
        if goal:
            early = max(held[: max(1, len(held) // 10)])
            print(f"memory            {max(held):10,.0f} MiB, first tenth {early:,.0f} (goal: {GROWTH:.0%} of it)")
            met = count / took >= RECORDS_S and max(held) <= GROWTH * early
        shutil.rmtree(folder / name)
    texts = write(folder / "some.jsonl", 0, FILE)
    print(f"redaction alone   {redaction(texts):10,.0f} lines a second")
    return met


async def templates(model: str) -> bool:
    """New templates embedded by the model, a second."""
    embedder = await open_embedder(model)
    await embedder.warm()
    rng = random.Random(3)
    words = ["order", "payment", "timeout", "refused", "cart", "coupon", "queue", "retry", "database", "user", "failed"]
    texts = [" ".join(rng.choices(words, k=rng.randint(6, 16))) for _ in range(TEMPLATES)]
    began = time.perf_counter()
    await embedder.embed(texts)
    speed = len(texts) / (time.perf_counter() - began)
    await embedder.close()
    print(f"new templates     {speed:10,.0f} a second by {embedder.runtime} (goal {TEMPLATES_S:,.0f})")
    return speed >= TEMPLATES_S


def run(records: int = RECORDS, model: str = "all-MiniLM-L6-v2") -> bool:
    """Print the figures; True when every goal is met."""
    with tempfile.TemporaryDirectory(prefix="receipts-ingest-") as folder:
        met = embedded(Path(folder), records)
    try:
        return asyncio.run(templates(model)) and met
    except EmbeddingUnavailable as error:
        print(f"no figures with vectors: {error}", file=sys.stderr)
        return False


def main(arguments: Sequence[str]) -> int:
    return 0 if run(int(arguments[0]) if arguments else RECORDS) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
