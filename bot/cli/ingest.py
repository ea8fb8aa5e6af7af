"""`receipts ingest KIND PATH...`: put telemetry, changes, repositories or a case folder into the server's store."""

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import click
from msgspec import Struct, structs

from bot.access import Access
from bot.live import REPOS, embedder_of, remember_services, retention_ns
from bot.material import open_repositories
from bot.redaction import load_redactor
from bot.settings import Settings, load
from bot.store import open_store
from retrieval.code.clone import mirror
from retrieval.errors import BadInput
from retrieval.ingest.case_folder import read_sources
from retrieval.ingest.repositories import REPOSITORY_NAME
from retrieval.ingest.streaming import stream_files
from retrieval.kinds.storing import Keeping, Stored, store_sources
from retrieval.model import CaseSources, Problem, ServiceInfo
from retrieval.ports import Redactor

KINDS = (
    *("traces", "logs", "metrics", "repo", "deploys", "flags", "config", "contracts", "junit", "postmortems"),
    *("tickets", "dumps", "profiles", "coverage", "environment", "case"),
)


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="settings as YAML")
@click.option("--name", default="", help="repo: its name, when it is not the folder's")
def command(kind: str, paths: tuple[Path, ...], config: Path | None, name: str) -> None:
    """Put into the store what KIND says. The server must be stopped: the store has one writer."""
    settings = load(config, os.environ)
    ingested = asyncio.run(ingest(settings, kind, paths, name))
    for problem in ingested.problems:
        click.echo(f"{problem.source}: {problem.reason}", err=True)
    for skipped in ingested.stored.skipped:
        click.echo(f"{skipped.subject}: left out ({skipped.reason})", err=True)
    for found, count in sorted(ingested.stored.counts.items()):
        if count:
            click.echo(f"{count} {found} documents")


class Ingested(Struct, frozen=True):
    """What was stored, and what could not be used of what was read."""

    stored: Stored
    problems: tuple[Problem, ...] = ()

    def with_more(self, stored: Stored, problems: Sequence[Problem]) -> "Ingested":
        counts = Counter(self.stored.counts) + Counter(stored.counts)
        skipped = (*self.stored.skipped, *stored.skipped)
        return Ingested(Stored(dict(counts), skipped), (*self.problems, *problems))


async def ingest(settings: Settings, kind: str, paths: Sequence[Path], name: str = "") -> Ingested:
    """Everything, batch by batch where it comes in batches.

    Raises: BadInput, StoreLocked (the server is running), StoreError, RepositoryError.
    """
    redactor = load_redactor(settings.data)
    acl, kept = Access(settings.access).documents(), retention_ns(settings)
    keeping = Keeping(redactor=redactor, acl=acl, retention_ns=kept, received_ns=time.time_ns())
    embedder = await embedder_of(settings)
    index = await open_store(settings, embedder=embedder, redactor=redactor)
    ingested = Ingested(Stored({}))
    try:
        with tempfile.TemporaryDirectory(prefix="receipts-ingest-") as scratch:
            work = Work(settings.data, Path(scratch), redactor, name)
            async with aclosing(_read(work, kind, paths)) as batches:
                async for sources in batches:
                    repositories, problems = await open_repositories(sources.repos)
                    stored = await store_sources(index, sources, repositories, keeping)
                    ingested = ingested.with_more(stored, (*sources.problems, *problems))
                    if sources.services and kind in ("case", "repo"):
                        await asyncio.to_thread(remember_services, settings.data, sources.services)
    finally:
        await index.close()
        if embedder is not None:
            await embedder.close()
    return ingested


class Work(Struct, frozen=True):
    """Where to read into, and how; `name` is a repository's that is not its folder's."""

    data: Path
    scratch: Path
    redactor: Redactor
    name: str


async def _read(work: Work, kind: str, paths: Sequence[Path]) -> AsyncGenerator[CaseSources, None]:
    if kind == "repo":
        yield await _repositories(work.data, {work.name or _name(path): path for path in paths})
    elif kind == "case":
        if len(paths) != 1:
            raise BadInput("ingest case takes one folder at a time", remedy="call it once for each")
        sources = await read_sources(paths[0], redactor=work.redactor, scratch=work.scratch)
        kept = await _repositories(work.data, sources.repos)
        yield structs.replace(sources, repos=kept.repos)
    else:
        async with aclosing(stream_files(kind, paths, redactor=work.redactor)) as batches:
            async for batch in batches:
                yield batch


async def _repositories(data: Path, found: Mapping[str, Path]) -> CaseSources:
    """Mirrors in the data folder, and a service of each repository's name."""
    repos = {}
    for name, path in sorted(found.items()):
        if not REPOSITORY_NAME.fullmatch(name):
            raise BadInput(f"repository name {name[:40]!r}", remedy="letters, digits and . _ @ + - only; use --name")
        repos[name] = await mirror(str(path), data / REPOS / name)
    services = {name: ServiceInfo(name=name, repo=name, declared=False) for name in repos}
    return CaseSources(repos=repos, services=services)


def _name(path: Path) -> str:
    return path.resolve().name.removesuffix(".git").removesuffix(".bundle")
