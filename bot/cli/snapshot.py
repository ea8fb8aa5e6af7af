"""`receipts snapshot build|evaluate|publish|rollback|list`: code and knowledge, switched as one (rows C5, C9)."""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import click
from msgspec import Struct, structs

from bot.access import Access
from bot.live import REPOS, declared_services, embedder_of, known_services, repository_names
from bot.material import open_repositories
from bot.mirrors import Mirrors
from bot.redaction import load_redactor
from bot.settings import Settings, load
from bot.snapshots.book import Book, Snapshot, read_book, write_book
from bot.snapshots.build import build, drop, gather
from bot.snapshots.evaluate import Judge, read_probes
from bot.store import open_store
from retrieval.kinds.storing import Keeping
from retrieval.model import ServiceInfo
from retrieval.ports import Index, Redactor, Repository


class Room(Struct, frozen=True):
    """What building and evaluating work with."""

    index: Index
    repositories: dict[str, Repository]
    services: dict[str, ServiceInfo]
    redactor: Redactor


@click.group()
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="settings as YAML")
@click.pass_context
def command(context: click.Context, config: Path | None) -> None:
    """Code, changes and what was written down, built under a name and switched as one. With the embedded store `build`
    and `evaluate` need the server stopped; `publish` and `rollback` do not, and the running server follows them."""
    context.obj = load(config, os.environ)


@command.command(name="build")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.pass_obj
def _build(settings: Settings, folders: tuple[Path, ...]) -> None:
    """Read the known repositories as they are now, and FOLDERS with postmortems/, tickets/ and contracts/."""
    snapshot = asyncio.run(built(settings, folders))
    for kind, count in snapshot.counts.items():
        click.echo(f"{count} {kind} documents")
    click.echo(snapshot.id)


@command.command(name="evaluate")
@click.argument("name")
@click.option("--probes", type=click.Path(path_type=Path), help="YAML list of questions, and what answers have to name")
@click.pass_obj
def _evaluate(settings: Settings, name: str, probes: Path | None) -> None:
    """Ask a snapshot about itself and what PROBES ask. Exit code 1 when it may not be published."""
    snapshot = asyncio.run(evaluated(settings, name, probes))
    found = snapshot.evaluation
    assert found is not None
    for line in found.failed:
        click.echo(line, err=True)
    click.echo(f"{found.probes} probes, empty hits {found.empty_hits:.2f}, faithfulness {found.faithfulness:.2f}")
    raise SystemExit(0 if found.passed else 1)


@command.command(name="publish")
@click.argument("name")
@click.pass_obj
def _publish(settings: Settings, name: str) -> None:
    """Put a snapshot into force: the next triage sees it, one that has begun ends with what it began with."""
    write_book(settings.data, read_book(settings.data).published(name))
    click.echo(f"{name} is in force")


@command.command(name="rollback")
@click.pass_obj
def _rollback(settings: Settings) -> None:
    """Put the one before into force again; three are kept."""
    book = read_book(settings.data).rolled_back()
    write_book(settings.data, book)
    click.echo(f"{book.active} is in force")


@command.command(name="list")
@click.pass_obj
def _list(settings: Settings) -> None:
    """Snapshots, the newest last."""
    book = read_book(settings.data)
    for snapshot in book.snapshots:
        click.echo(f"{snapshot.id}  {_state(book, snapshot)}  {sum(snapshot.counts.values())} documents")
    if book.active not in {s.id for s in book.snapshots}:
        click.echo(f"{book.active}  in force")


def _state(book: Book, snapshot: Snapshot) -> str:
    if snapshot.id == book.active:
        return "in force"
    if snapshot.id in book.earlier:
        return "to roll back to"
    if snapshot.evaluation is None:
        return "built"
    return "may be published" if snapshot.evaluation.passed else "failed its evaluation"


async def built(settings: Settings, folders: Sequence[Path]) -> Snapshot:
    """A new snapshot in the book; those that nobody can roll back to any more are removed.

    Raises: BadInput, StoreLocked, StoreError.
    """
    access = Access(settings.access)
    async with _room(settings) as room:
        with tempfile.TemporaryDirectory(prefix="receipts-snapshot-") as scratch:
            knowledge = await gather(
                room.repositories, room.services, folders, redactor=room.redactor, scratch=Path(scratch)
            )
            keeping = Keeping(
                redactor=room.redactor,
                acl=access.documents(),
                snapshot=knowledge.id,
                tips={name: (sha,) for name, sha in knowledge.heads.items()},
            )
            snapshot, _ = await build(room.index, knowledge, keeping, time.time_ns())
        book = read_book(settings.data).with_one(snapshot)
        unneeded = book.unneeded()
        for name in unneeded:
            await drop(room.index, name, access.every())
        write_book(settings.data, book.without(unneeded))
    return snapshot


async def evaluated(settings: Settings, name: str, probes: Path | None) -> Snapshot:
    """Raises: BadInput, StoreLocked, StoreError."""
    snapshot = read_book(settings.data).known(name)
    asked = read_probes(probes) if probes else []
    async with _room(settings) as room:
        judge = Judge(room.index, snapshot, room.repositories, Access(settings.access).every())
        found = await judge.evaluation(asked)
    snapshot = structs.replace(snapshot, evaluation=found)
    write_book(settings.data, read_book(settings.data).with_one(snapshot))
    return snapshot


@asynccontextmanager
async def _room(settings: Settings) -> AsyncIterator[Room]:
    redactor = load_redactor(settings.data)
    embedder = await embedder_of(settings)
    mirrors = Mirrors(settings.data / REPOS, repository_names(settings.services))
    index = await open_store(settings, embedder=embedder, redactor=redactor)
    try:
        repositories, _ = await open_repositories(await mirrors.paths())
        services = {**known_services(settings.data), **declared_services(settings.services)}
        yield Room(index, repositories, services, redactor)
    finally:
        await index.close()
        await mirrors.close()
        if embedder is not None:
            await embedder.close()
