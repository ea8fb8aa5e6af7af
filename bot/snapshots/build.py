"""A snapshot is made: repositories at pinned commits, and folders of what was written down."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct

from bot.snapshots.book import Snapshot
from retrieval.errors import BadInput, RepositoryError
from retrieval.ingest.case_folder import read_sources
from retrieval.kinds.registry import KNOWLEDGE
from retrieval.kinds.storing import Keeping, Stored, store_sources
from retrieval.model import CaseSources, Query, ServiceInfo
from retrieval.ports import Index, Redactor, Repository


@runtime_checkable
class Pointing(Protocol):
    """A repository that points to a commit of its own."""

    async def head(self) -> str: ...


class Knowledge(Struct, frozen=True, kw_only=True):
    """What goes in. `heads` are the repositories' commits; `sources` hold only what was written down."""

    sources: CaseSources
    repositories: dict[str, Repository]
    heads: dict[str, str]

    @property
    def id(self) -> str:
        """The same content gives the same name."""
        told = hashlib.blake2b(digest_size=6)
        for name, sha in sorted(self.heads.items()):
            told.update(f"{name}\0{sha}\0".encode())
        for record in (*self.sources.postmortems, *self.sources.tickets, *self.sources.contract_files):
            told.update(repr(record).encode())
        return f"s-{told.hexdigest()}"


async def gather(
    repositories: Mapping[str, Repository],
    services: Mapping[str, ServiceInfo],
    folders: Sequence[Path],
    *,
    redactor: Redactor,
    scratch: Path,
) -> Knowledge:
    """Repositories at what they point to now; of each folder, laid out as a case folder, what is knowledge.

    Raises: BadInput (no such folder, nothing to build from).
    """
    heads = {}
    for name, repository in sorted(repositories.items()):
        if isinstance(repository, Pointing):
            with suppress(RepositoryError):  # an empty one
                heads[name] = await repository.head()
    sources = CaseSources(services=dict(services))
    for folder in folders:
        found = await read_sources(folder, redactor=redactor, scratch=scratch)
        sources = CaseSources(
            services=sources.services,
            postmortems=(*sources.postmortems, *found.postmortems),
            tickets=(*sources.tickets, *found.tickets),
            contract_files=(*sources.contract_files, *found.contract_files),
            problems=(*sources.problems, *found.problems),
        )
    if not heads and not (sources.postmortems or sources.tickets or sources.contract_files):
        raise BadInput(
            "there is nothing to build a snapshot from",
            remedy="declare `services` with their repo, `receipts ingest repo PATH`, or name folders with postmortems",
        )
    return Knowledge(sources=sources, repositories={n: repositories[n] for n in heads}, heads=heads)


async def build(index: Index, knowledge: Knowledge, keeping: Keeping, built_ns: int) -> tuple[Snapshot, Stored]:
    """Put it under its own name, where nobody is asked about it yet. `keeping` gives the snapshot's name.

    Raises: StoreError.
    """
    stored = await store_sources(index, knowledge.sources, knowledge.repositories, keeping)
    counts = {kind: count for kind, count in sorted(stored.counts.items()) if count and kind in KNOWLEDGE}
    return Snapshot(id=keeping.snapshot, built_ns=built_ns, heads=knowledge.heads, counts=counts), stored


async def drop(index: Index, name: str, acl: Sequence[str]) -> int:
    """Remove a snapshot's documents; returns how many."""
    return await index.delete(Query(acl=tuple(acl), snapshot=name))
