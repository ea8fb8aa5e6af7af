"""How fast log files become documents, and whether memory stays flat: `python -m tests.benchmarks.ingest [RECORDS]`.

The path is that of `receipts ingest logs`, file by file as a rotating log hands them over: parse, redact, make
templates, index, in one process. Printed beside it: redaction alone, over the same lines. With vectors, new templates
(each word drawn, so that none was seen before) are embedded by the real model.

The lines are made from a fixed seed: some four hundred templates, ids and addresses that occur once.
"""

import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bot.redaction import load_redactor
from retrieval.embedding import open_embedder
from retrieval.errors import EmbeddingUnavailable
from retrieval.index import open_index
from retrieval.ingest.case_folder import read_files
from retrieval.kinds.storing import Keeping, store_sources
from tests.benchmarks.store import corpus

RECORDS_S, TEMPLATES_S, GROWTH = 5_000.0, 300.0, 1.10
RECORDS = 2_000_000
FILE = 20_000  # records of one file
TEMPLATES = 600


def write(path: Path, first: int, count: int) -> list[str]:
    """A file of JSON records, which it returns as text too."""
    rng = random.Random(first)
    texts = [document.text for document in corpus(400, 0, 0)]
    said = [f"{rng.choice(texts)} user{first + n}@example.com from 10.0.{n % 250}.{n % 199}" for n in range(count)]
    lines = [
        json.dumps(
            {"ts": (1_790_000_000 + first + n) * 10**9, "level": "INFO", "service": f"s-{n % 40}", "message": text}
        )
        for n, text in enumerate(said)
    ]
    path.write_text("\n".join(lines) + "\n")
    return said


def resident_mb() -> float:
    """What this process holds now, in MiB. Linux only."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found.group(1)) / 1024


async def logs(folder: Path, records: int) -> bool:
    redactor = load_redactor(folder)
    index = await open_index(folder / "store", redactor=redactor)
    file, took, held, texts = folder / "app.jsonl", 0.0, list[float](), list[str]()
    for first in range(0, records, FILE):
        texts = write(file, first, min(FILE, records - first))
        began = time.perf_counter()
        sources = await read_files("logs", [file], redactor=redactor)
        await store_sources(index, sources, {}, Keeping(redactor=redactor, received_ns=1))
        took += time.perf_counter() - began
        assert len(sources.logs) == len(texts)
        del sources
        held.append(resident_mb())
    await index.close()
    began = time.perf_counter()
    for text in texts:
        redactor.text(text)
    alone = len(texts) / (time.perf_counter() - began)
    early = held[min(len(held) - 1, max(0, len(held) // 10))]
    print(f"log records       {records / took:10,.0f} a second, {records:,} in {took:.0f} s (goal {RECORDS_S:,.0f})")
    print(f"redaction alone   {alone:10,.0f} lines a second")
    print(f"memory            {held[-1]:10,.0f} MiB, after a tenth {early:,.0f} (goal: at most {GROWTH:.0%} of it)")
    return records / took >= RECORDS_S and held[-1] <= GROWTH * early


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
        met = asyncio.run(logs(Path(folder), records))
    try:
        return asyncio.run(templates(model)) and met
    except EmbeddingUnavailable as error:
        print(f"no figures with vectors: {error}", file=sys.stderr)
        return False


def main(arguments: Sequence[str]) -> int:
    return 0 if run(int(arguments[0]) if arguments else RECORDS) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
