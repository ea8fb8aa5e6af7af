"""The server's memory: one store that telemetry goes into and triages read; repositories from the settings, proofs in
the sandbox.

data/store     documents        data/repos/NAME   clones that `receipts ingest` made
data/otlp.db   what was received and is not in the store yet
data/services.json              services that `receipts ingest` learnt; the settings come before them
data/bundles   what was packed
data/answers   what a language model answered
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from bot.access import Access
from bot.app import Memory
from bot.gateway import gateway_of
from bot.incidents.engine import Triage
from bot.intake.otlp.collector import Collector, Options
from bot.intake.otlp.routes import Telemetry
from bot.intake.otlp.spool import Spool
from bot.investigation import Investigator, Material, Setting
from bot.material import from_store, open_repositories
from bot.metrics import Metrics
from bot.mirrors import Mirrors
from bot.model import Rerun
from bot.redaction import load_redactor
from bot.settings import INCIDENTS, Service, Settings, duration_ns
from bot.snapshots.book import read_book
from bot.store import open_store
from bot.triage import Windows
from bot.workshop import make_workshop, prover_of
from retrieval.embedding import SentenceEmbedder, open_embedder
from retrieval.errors import BadInput, EmbeddingUnavailable, ModelUnavailable, StoreError
from retrieval.kinds.registry import KINDS
from retrieval.model import Alert, ServiceInfo
from retrieval.ports import Clock, Embedder, Index, Model, Redactor, Repository

log = logging.getLogger(__name__)
REPOS, SERVICES, BUNDLES, SPOOL, ANSWERS = "repos", "services.json", "bundles", "otlp.db", "answers"


async def open_memory(settings: Settings, clock: Clock, metrics: Metrics) -> Memory:
    """Opens the store, once; the embedding model warms up behind.

    Raises: StoreLocked (another process holds the store), StoreError, BadInput.
    """
    redactor = await asyncio.to_thread(load_redactor, settings.data)
    embedder = await embedder_of(settings)
    index = await open_store(settings, embedder=embedder, redactor=redactor)
    try:
        spool = await Spool.open(settings.data / SPOOL)
    except StoreError:
        await index.close()
        raise
    options = Options(
        clock=clock,
        redactor=redactor,
        share=settings.otlp.sample,
        slow_ns=duration_ns(settings.otlp.slow),
        keep_ns=duration_ns(settings.otlp.keep),
        retention_ns=retention_ns(settings),
        acl=Access(settings.access).documents(),
    )
    model = await model_of(settings, clock, metrics)
    collector = Collector(spool, index, options, metrics)
    await collector.start()
    mirrors = Mirrors(settings.data / REPOS, repository_names(settings.services))

    async def close() -> None:
        await collector.stop()
        await mirrors.close()
        await index.close()
        if embedder is not None:
            await embedder.close()
        if model is not None:
            await model.close()

    return Memory(
        triage=_triage(settings, clock, index, Shared(redactor, embedder, collector.catch_up, mirrors, model)),
        telemetry=Telemetry(collector, metrics),
        close=close,
    )


@dataclass(frozen=True)
class Shared:
    """What a triage has in common with what fills its store; `before` brings the store up to date."""

    redactor: Redactor
    embedder: Embedder | None
    before: Callable[[], Awaitable[None]]
    mirrors: Mirrors
    model: Model | None = None


def _triage(settings: Settings, clock: Clock, index: Index, shared: Shared) -> Triage:
    prover = None
    if settings.sandbox.enabled and settings.phase >= 2:
        prover = prover_of(make_workshop(os.environ, shared.redactor, user=settings.sandbox.user))
    windows = Windows(settings.window.before, settings.window.after, settings.window.diffs)
    services = {**known_services(settings.data), **declared_services(settings.services)}
    access = Access(settings.access, settings.slack.channel)

    async def repositories() -> dict[str, Repository]:
        opened, problems = await open_repositories(await shared.mirrors.paths())
        for problem in problems:
            log.warning("repository %s cannot be used: %s", problem.source.file, problem.reason)
        return {name: repository for name, repository in opened.items() if may_use(name)}

    def may_use(repository: str) -> bool:
        return all(access.sees_service(name) for name in services_of(repository, services))

    stored = from_store(
        index,
        services={name: info for name, info in services.items() if access.sees_service(name)},
        repositories=repositories,
        windows=windows,
        acl=access.run_tags(),
        before=shared.before,
        snapshots=partial(read_book, settings.data),
    )

    async def load(alerts: Sequence[Alert], wish: Rerun | None) -> Material:
        material = await stored(alerts, wish)
        owners = {name for repo in material.repositories for name in services_of(repo, services)}
        own = {access.of_service(name) for name in owners}
        return replace(material, seen=lambda: tuple(sorted({*own, *(material.seen() if material.seen else ())})))

    bundles = settings.data / BUNDLES
    setting = Setting(
        clock=clock,
        bundles=bundles,
        prover=prover,
        embedder=shared.embedder,
        windows=windows,
        acl=access.run_tags(),
        model=shared.model,
    )
    return Investigator(load, setting)


async def model_of(settings: Settings, clock: Clock, metrics: Metrics) -> Model | None:
    """The configured language model; None, said once, where there is none."""
    if not settings.model.enabled:
        return None
    try:
        return await gateway_of(settings, clock, settings.data / ANSWERS, metrics)
    except ModelUnavailable as error:
        log.warning("no language model is asked: %s", error.told)
        return None


async def embedder_of(settings: Settings) -> SentenceEmbedder | None:
    """The configured model, loading in the background; None, said once, where there is none. Close it."""
    if not settings.embedding.model:
        return None
    try:
        embedder = await open_embedder(settings.embedding.model)
    except EmbeddingUnavailable as error:
        log.info("no dense vectors: %s", error.reason.value)
        return None
    task = asyncio.get_running_loop().create_task(embedder.warm())
    task.add_done_callback(_warmed)
    return embedder


def _warmed(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and isinstance(task.exception(), EmbeddingUnavailable):
        log.warning("the embedding model cannot be loaded; search goes on without vectors")


def declared_services(services: Mapping[str, Service]) -> dict[str, ServiceInfo]:
    """The settings' services. A repository goes by the name of the first service that uses it."""
    names = repository_names(services)
    return {
        name: ServiceInfo(
            name=name,
            repo=names.get(service.repo, ""),
            path_prefix=service.path_prefix,
            language=service.language,
            owners=tuple(service.owners),
            environment=service.environment,
        )
        for name, service in services.items()
    }


def services_of(repository: str, services: Mapping[str, ServiceInfo]) -> list[str]:
    """The services that a repository holds; its own name where none is known."""
    return sorted(name for name, info in services.items() if (info.repo or name) == repository) or [repository]


def retention_ns(settings: Settings) -> dict[str, int]:
    """Nanoseconds by document kind, of the kinds that the settings name.

    Raises: BadInput for a kind that there is not.
    """
    known = {*KINDS, INCIDENTS}
    for kind in settings.retention:
        if kind not in known:
            raise BadInput(
                f"retention.{kind[:40]}: no such kind of document",
                subject=f"retention.{kind[:40]}",
                remedy=f"it is one of {', '.join(sorted(known))}",
            )
    return {kind: duration_ns(text) for kind, text in settings.retention.items() if kind != INCIDENTS}


def repository_names(services: Mapping[str, Service]) -> dict[str, str]:
    """Path or URL as configured -> name."""
    names: dict[str, str] = {}
    for name, service in sorted(services.items()):
        if service.repo:
            names.setdefault(service.repo, name)
    return names


def known_services(data: Path) -> dict[str, ServiceInfo]:
    """What `receipts ingest` learnt; nothing when it never ran or its file is broken."""
    try:
        return msgspec.json.decode((data / SERVICES).read_bytes(), type=dict[str, ServiceInfo])
    except (OSError, msgspec.DecodeError):
        return {}


def remember_services(data: Path, services: Mapping[str, ServiceInfo]) -> None:
    """Add to what is known, atomically."""
    merged = {**known_services(data), **services}
    partial = data / f".{SERVICES}.{os.getpid()}"
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(merged, order="sorted")))
    os.replace(partial, data / SERVICES)
