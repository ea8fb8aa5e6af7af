"""The whole server over a big store: an alert comes in, and the clock runs until Slack has the answer.

The store holds the day of `fleet`. `receipts serve` runs as a process of its own beside Slack's stand-in, with neither
a language model nor a sandbox; the incidents come one after another. Measured by the stand-in's clock, from the moment
that the alert is sent:

    first post            until the incident's message is in the channel
    cited hypothesis      until that message has its conclusion
    hybrid query          one query of such an incident, asked of all legs at once; beside it one over all documents
    memory                the server's peak and its embedding model's process's, added up, with a vector for every text

With vectors, those of the documents are random, stored under the model's name (what a search costs does not depend on
what they mean, and the model would need an hour); the queries' are the model's.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bot.intake.sources import registry
from bot.live import REPOS, remember_services
from bot.redaction import load_redactor
from bot.store import STORE
from retrieval.code.git import open_repository
from retrieval.context.window import make_window
from retrieval.embedding import open_embedder
from retrieval.errors import EmbeddingUnavailable
from retrieval.index import open_index
from retrieval.kinds.queries import queries
from retrieval.kinds.storing import Keeping, store_sources
from retrieval.model import Case, Onset, Query, Topology
from retrieval.ports import Index
from tests.acceptance.processes import Slack, bot, slack
from tests.benchmarks import fleet

FIRST_POST_S, HYPOTHESIS_S, HYBRID_S, MEMORY_MB = 1.0, 5.0, 0.05, 1024.0
PATIENCE_S = 60.0
PAUSE_S = 1.5  # between incidents: one channel takes a message every 1.2 s, whoever writes


class Told(Struct, frozen=True, kw_only=True):
    """Seconds from the sending of one alert. `right`: the conclusion names the function that fails and cites."""

    first_post: float
    hypothesis: float
    right: bool


class RandomVectors:
    """Vectors under a real model's name."""

    def __init__(self, model_id: str, dimensions: int) -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self._random = np.random.default_rng(7)

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        drawn = self._random.standard_normal((len(texts), self.dimensions))
        return [tuple(row) for row in drawn.tolist()]


async def fill(data: Path, model: str) -> None:
    """The data folder of a server, as `receipts ingest` leaves it."""
    histories = [await fleet.build_history(service, data / REPOS) for service in fleet.SERVICES]
    began = time.perf_counter()
    sources = fleet.sources(histories)
    print(f"made              {len(sources.logs):,} log lines, {len(sources.spans):,} spans", flush=True)
    redactor = load_redactor(data)
    embedder = None
    if model:
        found = await open_embedder(model)
        embedder = RandomVectors(found.model_id, found.dimensions)
    index = await open_index(data / STORE, embedder=embedder, redactor=redactor)
    repositories = {h.name: await open_repository(h.name, h.path) for h in histories}
    stored = await store_sources(index, sources, repositories, Keeping(redactor=redactor))
    await index.settle()
    await index.close()
    remember_services(data, sources.services)
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(stored.counts.items()) if count)
    print(f"stored            {told} in {time.perf_counter() - began:.0f} s", flush=True)


async def incidents(address: str, seen: Slack) -> list[Told]:
    """Every incident of the day, one after another."""
    found = []
    async with aiohttp.ClientSession() as session:
        for number, incident in enumerate(fleet.incidents()):
            sent = time.time()
            async with session.post(f"{address}/alerts/alertmanager", json=fleet.alert_of(incident)) as answer:
                assert answer.status == 202, await answer.text()
            found.append(await _told(seen, number, sent, incident))
            await asyncio.sleep(PAUSE_S)
    return found


async def _told(seen: Slack, number: int, sent: float, incident: fleet.Incident) -> Told:
    """Wait until the bundle of the latest incident is in its thread, and look back at when what was posted."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        await asyncio.sleep(0.25)
        calls = [call for call in (await seen.transcript())["calls"] if call["answer"] == "ok"]
        posts = [c for c in calls if c["method"] == "chat.postMessage" and not c["arguments"].get("thread_ts")]
        if len(posts) > number and any(c["method"] == "files.completeUploadExternal" and c["at"] > sent for c in calls):
            return _measured(calls, posts[number], sent, incident)
    raise AssertionError(f"incident {number} was not told in {PATIENCE_S:.0f} s")


def _measured(calls: list[dict[str, Any]], post: dict[str, Any], sent: float, incident: fleet.Incident) -> Told:
    replies = [c["at"] for c in calls if c["arguments"].get("thread_ts") and c["at"] > sent]
    edits = [c for c in calls if c["method"] == "chat.update" and sent < c["at"] < min(replies)]
    last = edits[-1]
    told = str(last["arguments"]["blocks"])
    return Told(
        first_post=post["at"] + post["seconds"] - sent,
        hypothesis=last["at"] + last["seconds"] - sent,
        right=f"step_{incident.module}_{incident.function}()" in told and "E1" in told,
    )


async def hybrid(data: Path, model: str) -> tuple[list[float], list[float]]:
    """Seconds of each query that the incidents ask, all legs at once; and of one over everything that is stored."""
    embedder = await open_embedder(model) if model else None
    index = await open_index(data / STORE, embedder=embedder)
    asked, widest = [], []
    for incident in fleet.incidents():
        text = f"HighErrorRate {incident.service} 5xx on POST /orders {fleet.traceback_of(incident)}"
        path = f"{incident.service}/module_{incident.module}.py"
        told: dict[str, Any] = {
            "text": text,
            "paths": (path,),
            "symbols": (f"{path}::step_{incident.module}_{incident.function}",),
            "vector": (await embedder.embed([text]))[0] if embedder else (),
            "limit": 100,
        }
        for _, query in queries(_case(incident)):
            asked.append(await _timed(index, replace(query, **told)))
        widest.append(await _timed(index, Query(acl=("public",), **told)))
    await index.close()
    if embedder is not None:
        await embedder.close()
    return asked, widest


def _case(incident: fleet.Incident) -> Case:
    onset = Onset(at_ns=incident.at_ns, source="log", reason="")
    callee = fleet.callee_of(incident.service)
    return Case(
        incident_id=incident.service,
        alerts=tuple(registry({})["alertmanager"].parse(json.dumps(fleet.alert_of(incident)).encode(), {}).alerts),
        onset=onset,
        window=make_window(onset, before="45m", after="15m", diffs="24h"),
        topology=Topology(path=("edge", incident.service, callee)),
    )


async def _timed(index: Index, query: Query) -> float:
    began = time.perf_counter()
    await asyncio.gather(index.lexical(query), index.symbolic(query), index.dense(query))
    return time.perf_counter() - began


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def measure(folder: Path, model: str) -> bool:
    data = folder / "data"
    data.mkdir(parents=True)
    await fill(data, model)
    settings = {"RECEIPTS_EMBEDDING__MODEL": model, "RECEIPTS_SANDBOX__ENABLED": "false"}
    began = time.perf_counter()
    async with slack(folder / "slack.json") as seen, bot(data, 0, {**settings, **seen.settings()}) as server:
        address = await server.ready()
        print(f"started           in {time.perf_counter() - began:.1f} s", flush=True)
        told = await incidents(address, seen)
        memory, others = server.peak_mb(), server.children_peak_mb()
    asked, widest = await hybrid(data, model)
    met = [
        _goal("first post", [t.first_post for t in told], FIRST_POST_S),
        _goal("cited hypothesis", [t.hypothesis for t in told], HYPOTHESIS_S),
        _goal("hybrid query", asked, HYBRID_S),
        memory + sum(others) <= MEMORY_MB,
    ]
    parts = f": the server {memory:,.0f}, its embedding model's process {sum(others):,.0f}" if others else ""
    print(f"memory            {memory + sum(others):8,.0f} MiB peak (goal {MEMORY_MB:,.0f}){parts}")
    _goal("  over all", widest, HYBRID_S)  # no triage asks so; told, and no goal
    right = sum(t.right for t in told)
    print(f"conclusions       {right:8} of {len(told)} name the function that fails, and cite", flush=True)
    return all(met) and right == len(told)


def _goal(name: str, seconds: Sequence[float], goal: float) -> bool:
    p50, p95, worst = (percentile(seconds, share) * 1000 for share in (0.5, 0.95, 1.0))
    told = f"{p50:8,.0f} ms p50, {p95:,.0f} ms p95, {worst:,.0f} ms worst"
    print(f"{name:<17} {told} (goal {goal * 1000:,.0f})", flush=True)
    return p95 <= goal * 1000


def run(model: str = "all-MiniLM-L6-v2") -> bool:
    """Print the figures without vectors and, where the model is installed, with; True when all goals are met."""
    models = [""]
    try:
        asyncio.run(open_embedder(model))
        models.append(model)
    except EmbeddingUnavailable as error:
        print(f"no figures with vectors: {error}", file=sys.stderr)
    met = True
    for name in models:
        print(f"-- {'with vectors' if name else 'without vectors'}", flush=True)
        with tempfile.TemporaryDirectory(prefix="receipts-slice-") as folder:
            met = asyncio.run(measure(Path(folder), name)) and met
    return met
