"""One triage from its alerts to its bundle: what is known is loaded, the stages run, the case is packed.

The same for a case folder and for a server's store; they differ in `Load` only.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from bot.access import Sets, noted
from bot.model import BundleRef, Rerun
from bot.triage import Progress, Prover, Tools, Windows, triage
from bundles.manifest import files_of
from bundles.pack import size_of, write_zip
from bundles.trees import trees_of
from retrieval.errors import RepositoryError
from retrieval.index.analyzer import VERSION
from retrieval.model import LIVE, Alert, Case, CaseSources
from retrieval.ports import Clock, Embedder, Index, Model, Repository


@dataclass(frozen=True)
class Material:
    """What one triage works on. `release` gives back what loading took; `seen` are the tag sets of all that was read of
    it so far, which is what a reader of the conclusion must be allowed to see."""

    sources: CaseSources
    index: Index
    repositories: Mapping[str, Repository] = field(default_factory=dict)
    release: Callable[[], Awaitable[None]] | None = None
    knowledge: str = LIVE  # the snapshot that this triage sees from its beginning to its end
    seen: Callable[[], Sets] | None = None


Load = Callable[[Sequence[Alert], Rerun | None], Awaitable[Material]]


@dataclass(frozen=True)
class Setting:
    """What does not change from one triage to the next."""

    clock: Clock
    bundles: Path
    prover: Prover | None = None
    embedder: Embedder | None = None
    windows: Windows = field(default_factory=Windows)
    acl: tuple[str, ...] = ("public",)
    model: Model | None = None
    patient: bool = False


class Investigator:
    """The engine's `Triage`."""

    def __init__(self, load: Load, setting: Setting) -> None:
        self._load = load
        self._setting = setting

    async def run(
        self, incident_id: str, alerts: tuple[Alert, ...], *, wish: Rerun | None, progress: Progress
    ) -> tuple[Case, BundleRef | None]:
        """The concluded case and its bundle on disk. Identical material gives an identical bundle.

        Raises: RetrievalError.
        """
        setting = self._setting
        await progress("read", alerts[0].summary if alerts else "")
        started = setting.clock.now_ns()
        material = await self._load(alerts, wish)
        read_ms = (setting.clock.now_ns() - started) / 1e6
        tools = Tools(
            index=material.index,
            clock=setting.clock,
            embedder=setting.embedder,
            repositories=material.repositories,
            prover=setting.prover,
            windows=setting.windows,
            acl=setting.acl,
            model=setting.model,
            patient=setting.patient,
            knowledge=material.knowledge,
        )
        try:
            case = await triage(incident_id, alerts, material.sources, tools, wish=wish, progress=progress)
            case = msgspec.structs.replace(case, timings_ms={"read": read_ms, **case.timings_ms})
            if material.seen is not None:
                case = noted(case, material.seen())
            await progress("pack", case.hypotheses[0].summary if case.hypotheses else "")
            trees = await _trees(case, material.repositories)
        finally:
            if material.release is not None:
                await material.release()
        return case, await asyncio.to_thread(pack, case, setting.bundles, trees, material.knowledge)


async def _trees(case: Case, repositories: Mapping[str, Repository]) -> dict[str, bytes]:
    """The trees at the deployed and the last good commit, where a test was run."""
    proof = case.proof
    if proof is None or not proof.test or proof.at_deployed is None or proof.repo not in repositories:
        return {}
    commits = [attempt.commit for attempt in (proof.at_deployed, proof.at_good) if attempt is not None]
    try:
        return await trees_of(repositories[proof.repo], proof.repo, commits)
    except RepositoryError:
        return {}


def pack(case: Case, folder: Path, trees: Mapping[str, bytes], knowledge: str = LIVE) -> BundleRef:
    """Write `folder/INCIDENT.zip`. Which store was asked isn't told: every one gives the same answer."""
    versions = {"receipts": own_version(), "analyzer": str(VERSION), "rules": "1"}
    if knowledge != LIVE:
        versions["snapshot"] = knowledge
    if case.model is not None:
        versions["model"] = f"{case.model.name} ({case.model.outcome.value})"
    files = files_of(case, versions=versions, sources=trees)
    path = folder / f"{case.incident_id}.zip"
    digest = write_zip(path, files)
    return BundleRef(path=path, sha256=digest, size=size_of(path))


def own_version() -> str:
    try:
        return version("receipts")
    except PackageNotFoundError:
        return "0"


def incident_id_of(body: bytes) -> str:
    """The id of a case folder's incident: the same for the same alert body."""
    return f"inc-{hashlib.sha256(body).hexdigest()[:16]}"
