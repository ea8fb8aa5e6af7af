"""Where a triage's material comes from: a case folder, or what the server's store and settings hold."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from bot.investigation import Load, Material
from bot.model import Rerun
from bot.snapshots.book import Book
from bot.triage import Windows, load_span
from retrieval.code.git import open_repository
from retrieval.errors import RepositoryError
from retrieval.index import open_index
from retrieval.index.reading import Reading
from retrieval.ingest.case_folder import read_sources
from retrieval.kinds.loading import load_sources
from retrieval.kinds.storing import Keeping, store_sources
from retrieval.model import LIVE, Alert, CaseSources, Problem, ServiceInfo, SourceRef
from retrieval.ports import Index, Redactor, Repository


async def open_repositories(
    paths: Mapping[str, Path],
) -> tuple[dict[str, Repository], tuple[Problem, ...]]:
    """Those that can be opened, and a problem for each that cannot."""
    opened: dict[str, Repository] = {}
    problems = []
    for name, path in sorted(paths.items()):
        try:
            opened[name] = await open_repository(name, path)
        except RepositoryError as error:
            problems.append(Problem(source=SourceRef(f"repos/{name}"), reason=error.told))
    return opened, tuple(problems)


Private = Callable[[], Awaitable[Index]]


def from_folder(folder: Path, redactor: Redactor, private: Private | None = None) -> Load:
    """Reads a case folder into a throw-away store, which goes when the triage ends; `private` opens another than an
    embedded one."""

    async def load(alerts: Sequence[Alert], wish: Rerun | None) -> Material:
        scratch = tempfile.TemporaryDirectory(prefix="receipts-case-")
        sources = await read_sources(folder, redactor=redactor, scratch=Path(scratch.name))
        repositories, problems = await open_repositories(sources.repos)
        sources = structs.replace(sources, problems=(*sources.problems, *problems))
        index = await (private() if private else open_index(None, redactor=redactor))
        await store_sources(index, sources, repositories, Keeping(redactor=redactor))

        async def release() -> None:
            await index.close()
            scratch.cleanup()

        return Material(sources, index, repositories, release)

    return load


Snapshots = Callable[[], Book]
Repositories = Callable[[], Awaitable[dict[str, Repository]]]


def from_store(
    index: Index,
    *,
    services: Mapping[str, ServiceInfo],
    repositories: Repositories,
    windows: Windows,
    acl: tuple[str, ...] = ("public",),
    before: Callable[[], Awaitable[None]] | None = None,
    snapshots: Snapshots | None = None,
) -> Load:
    """Loads what the store holds of the window around the alerts; services and their repositories come from the
    settings. Nothing is read but what `acl` opens. `before` is awaited first: it puts what has just been received into
    the store. `snapshots` says which snapshot is in force, and whether there is one of a name."""

    async def load(alerts: Sequence[Alert], wish: Rerun | None) -> Material:
        if before is not None:
            await before()
        asked = Windows(
            before=(wish.before if wish else "") or windows.before,
            after=(wish.after if wish else "") or windows.after,
            diffs=windows.diffs,
        )
        from_ns, to_ns = load_span(None, alerts, asked)
        opened = await repositories()
        reading = Reading(index, acl)
        knowledge, problems = await _knowledge(snapshots, wish.snapshot if wish else "")
        sources: CaseSources = await load_sources(reading, acl=acl, from_ns=from_ns, to_ns=to_ns, knowledge=knowledge)
        sources = structs.replace(sources, problems=(*sources.problems, *problems))
        declared = {**sources.services, **services}
        paths = {name: repository.path for name, repository in opened.items()}
        return Material(
            structs.replace(sources, services=declared, repos=paths),
            reading,
            opened,
            knowledge=knowledge,
            seen=lambda: reading.seen,
        )

    return load


async def _knowledge(snapshots: Snapshots | None, wished: str) -> tuple[str, tuple[Problem, ...]]:
    """The snapshot that one triage sees: the one that was asked for, else the one in force now."""
    if snapshots is None:
        return LIVE, ()
    book = await asyncio.to_thread(snapshots)
    if not wished or wished == LIVE or book.of(wished) is not None:
        return wished or book.active, ()
    reason = "there is no such snapshot; the one in force was asked"
    return book.active, (Problem(source=SourceRef(f"snapshot {wished[:40]}"), reason=reason),)
