"""What a search costs as a store grows: `python -m tests.benchmarks.query [DOCUMENTS...]`, 10,000, 100,000 and
1,000,000 where none is named.

The embedded store holds logs, spans and commits (91, 8 and 1 of a hundred) of forty services over seven days, each with
a vector of its own. Vectors are random unit vectors: what a search costs doesn't depend on what they mean. A hundred
incidents are asked about, each by the queries that a triage asks (`retrieval.kinds.queries`), all legs of a query at
once; beside it the same search over everything that is stored, which no triage asks.

The goals: p95 of an incident's queries at most 50 ms in the largest store, and a cost that grows slower than the store.
"""

import asyncio
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from retrieval.context.window import make_window
from retrieval.index import open_index
from retrieval.kinds.queries import queries
from retrieval.model import Alert, Case, Document, Onset, Query, Topology
from tests.benchmarks.store import DIMENSIONS, GOAL_P95_MS, SERVICES, RandomVectors, corpus, hybrid, peak_mb, percentile

SIZES = (10_000, 100_000, 1_000_000)
INCIDENTS = 100


class Told(Struct):
    """Milliseconds and megabytes of one store."""

    documents: int
    seconds: float
    asked: list[float]
    widest: list[float]
    memory: float
    disk: float


def incident(about: Document) -> Case:
    """A service in trouble at the moment of a document."""
    onset = Onset(at_ns=about.time_ns, source="log", reason="")
    alert = Alert(
        source="alertmanager",
        fingerprint="1",
        name="HighErrorRate",
        status="firing",
        starts_ns=about.time_ns,
        labels={"service": about.service},
    )
    return Case(
        incident_id="benchmark",
        alerts=(alert,),
        onset=onset,
        window=make_window(onset, before="45m", after="15m", diffs="24h"),
        topology=Topology(path=(SERVICES[0], about.service, SERVICES[-1])),
    )


def asked_of(known: Sequence[Document]) -> Iterator[tuple[list[Query], Query]]:
    """The queries of each incident, and one over everything."""
    rng = random.Random(13)
    vectors = np.random.default_rng(17).standard_normal((INCIDENTS, DIMENSIONS))
    for vector in vectors:
        about = rng.choice(known)
        told: dict[str, Any] = {
            "text": " ".join(rng.sample(about.text.split(), 7)),
            "paths": about.paths,
            "symbols": about.symbols,
            "vector": tuple(vector.tolist()),
            "limit": 100,
        }
        acl = ("public", "team-a")
        mine = [replace(query, **told) for _, query in queries(incident(about), acl=acl)]
        yield mine, Query(acl=acl, **told)


async def ingest(folder: Path, count: int) -> tuple[list[Document], float]:
    index = await open_index(folder, embedder=RandomVectors())
    documents = corpus(count * 91 // 100, count * 8 // 100, count // 100)
    known: list[Document] = []
    began = time.perf_counter()
    while batch := list(islice(documents, 1000)):
        known.extend(batch[::50])
        await index.put(batch)
    if settle := getattr(index, "settle", None):
        await settle()
    took = time.perf_counter() - began
    await index.close()
    return known, took


async def answer(folder: Path, known: Sequence[Document]) -> tuple[list[float], list[float], float]:
    index = await open_index(folder, embedder=RandomVectors())
    asked, widest = list[float](), list[float]()
    for mine, wide in asked_of(known):
        for query in mine:
            began = time.perf_counter()
            await hybrid(index, query)
            asked.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        await hybrid(index, wide)
        widest.append((time.perf_counter() - began) * 1000)
    await index.close()
    return asked, widest, peak_mb()


def run_ingest(folder: Path, count: int) -> tuple[list[Document], float]:
    return asyncio.run(ingest(folder, count))


def run_answer(folder: Path, known: Sequence[Document]) -> tuple[list[float], list[float], float]:
    return asyncio.run(answer(folder, known))


def measured(count: int) -> Told:
    """A store of that size, filled and asked in processes of their own."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="receipts-query-") as folder:
        store = Path(folder) / "store"
        with spawn.Pool(1) as pool:
            known, seconds = pool.apply(run_ingest, (store, count))
        with spawn.Pool(1) as pool:
            asked, widest, memory = pool.apply(run_answer, (store, known))
        disk = sum(p.stat().st_size for p in store.iterdir()) / 1e6
    return Told(count, seconds, asked, widest, memory, disk)


def run(sizes: Sequence[int] = SIZES) -> bool:
    print(
        f"{'documents':>12}{'filled in':>12}{'p50':>9}{'p95':>9}{'worst':>9}{'all, p95':>10}{'memory':>10}{'disk':>10}"
    )
    found: list[tuple[int, float]] = []
    for count in sizes:
        told = measured(count)
        p50, p95, worst = (percentile(told.asked, share) for share in (0.5, 0.95, 1.0))
        wide = percentile(told.widest, 0.95)
        print(
            f"{count:12,}{told.seconds:10.0f} s{p50:6.1f} ms{p95:6.1f} ms{worst:6.1f} ms{wide:7.1f} ms"
            f"{told.memory:7,.0f} MB{told.disk:7,.0f} MB",
            flush=True,
        )
        found.append((count, p95))
    slower = all(b / a < larger / smaller for (smaller, a), (larger, b) in pairwise(found))
    print(f"goals: p95 at most {GOAL_P95_MS:.0f} ms; the cost grows slower than the store: {'yes' if slower else 'no'}")
    return found[-1][1] <= GOAL_P95_MS and slower


if __name__ == "__main__":
    sys.exit(0 if run([int(size) for size in sys.argv[1:]] or SIZES) else 1)
