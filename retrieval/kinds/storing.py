"""From what was read to an index: records of every kind, and the commits and symbols of the repositories they run."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from retrieval.code.touched import touched_by
from retrieval.contracts.history import Reached, commit_changes
from retrieval.errors import Reason, RepositoryError, SecretSurvived
from retrieval.kinds.base import Material
from retrieval.kinds.registry import KINDS
from retrieval.languages import MAX_SOURCE_BYTES, language_of
from retrieval.model import CaseSources, Commit, ContractChange, Document, Symbol
from retrieval.ports import Index, Redactor, Repository

_BATCH = 1_000  # documents of one transaction
_SYMBOL_FILES = 2_000  # source files of one repository that are parsed
_FROM_CODE = ("diff", "symbol")
_SKIPPED = (Reason.NOT_FOUND, Reason.TOO_LARGE)


class Keeping(Struct, frozen=True, kw_only=True):
    """How it is kept: who may see a service's documents ("" is everything else), in which snapshot, how long each kind.

    The readers' records were redacted at the door; `redactor` redacts what is made here, texts and repositories.
    `tips` names the commits of a repository to begin at, beside those that the deploys name; of the newest
    `touched_limit` commits the touched symbols are found, which needs the parser. `received_ns` is
    when it came, from which retention counts; `failing` are traces that failed in what is not among the sources.
    """

    acl: dict[str, tuple[str, ...]] = field(default_factory=dict)
    snapshot: str = "live"
    retention_ns: dict[str, int] = field(default_factory=dict)
    redactor: Redactor | None = None
    tips: dict[str, tuple[str, ...]] = field(default_factory=dict)
    commit_limit: int = 2_000
    touched_limit: int = 60
    received_ns: int = 0
    failing: frozenset[str] = frozenset()


class Skipped(Struct, frozen=True):
    """A repository that could not be read, or a document in which a secret survived, and why it was left out."""

    subject: str
    reason: str


class Stored(Struct, frozen=True):
    """How many documents of each kind are durable, and what had to be left out."""

    counts: dict[str, int]
    skipped: tuple[Skipped, ...] = ()


@runtime_checkable
class ReadsMany(Protocol):
    """A repository that reads several files by one process."""

    async def read_many(self, sha: str, paths: Sequence[str]) -> dict[str, bytes]: ...


async def store_sources(
    index: Index, sources: CaseSources, repositories: Mapping[str, Repository], keeping: Keeping | None = None
) -> Stored:
    """Put everything into an index; storing the same again changes nothing.

    A repository that can't be read, or a document that still holds a secret, is left out and named; the rest is
    stored.

    Raises: StoreError.
    """
    keeping = keeping or Keeping()
    read, skipped = await _repositories(sources, repositories, keeping)
    material = Material(
        sources=sources,
        commits=tuple(read.commits),
        touched=read.touched,
        symbols=read.symbols,
        files=read.files,
        contract_changes=tuple(read.contract_changes),
        acl=keeping.acl,
        snapshot=keeping.snapshot,
        retention_ns=keeping.retention_ns,
        received_ns=keeping.received_ns,
        failing=keeping.failing,
    )
    counts: Counter[str] = Counter()
    for kind in KINDS.values():
        found = kind.documents(material)
        if keeping.redactor is not None:
            found = _redacted(found, keeping.redactor, whole=kind.name in _FROM_CODE)
        while batch := await asyncio.to_thread(_take, found):
            counts[kind.name] += await _put(index, batch, skipped)
    return Stored(dict(counts), tuple(skipped))


async def _put(index: Index, batch: list[Document], skipped: list[Skipped]) -> int:
    """All of a batch, or, where a secret survived in it, what is clean of it."""
    try:
        return await index.put(batch)
    except SecretSurvived as refusal:
        if len(batch) == 1:
            skipped.append(Skipped(refusal.subject, refusal.reason.value))
            return 0
    half = len(batch) // 2
    return await _put(index, batch[:half], skipped) + await _put(index, batch[half:], skipped)


def _redacted(documents: Iterator[Document], redactor: Redactor, *, whole: bool) -> Iterator[Document]:
    """Title and text are redacted as the text that they are, since fields were put into them; `whole`: attributes
    too."""
    for document in documents:
        attributes = redactor.value("", document.attributes) if whole else document.attributes
        yield replace(
            document,
            title=redactor.text(document.title),
            text=redactor.text(document.text),
            attributes=attributes if isinstance(attributes, dict) else {},
        )


def _take(documents: Iterator[Document]) -> list[Document]:
    return [document for document, _ in zip(documents, range(_BATCH), strict=False)]


class _Read(Struct):
    commits: list[Commit] = field(default_factory=list)
    touched: dict[tuple[str, str], tuple[Symbol, ...]] = field(default_factory=dict)
    symbols: dict[str, tuple[Symbol, ...]] = field(default_factory=dict)
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    contract_changes: list[ContractChange] = field(default_factory=list)


async def _repositories(
    sources: CaseSources, repositories: Mapping[str, Repository], keeping: Keeping
) -> tuple[_Read, list[Skipped]]:
    read, skipped = _Read(), list[Skipped]()
    for name in sorted(repositories):
        try:
            await _repository(read, repositories[name], _tips(sources, name, keeping), keeping)
        except RepositoryError as error:
            skipped.append(Skipped(name, error.reason.value))
    return read, skipped


def _tips(sources: CaseSources, repo: str, keeping: Keeping) -> list[str]:
    """The commits to begin at, the one deployed last first."""
    services = {name for name, info in sources.services.items() if info.repo == repo} or {repo}
    deploys = sorted((d for d in sources.deploys if d.service in services), key=lambda d: (-d.started_ns, d.git_sha))
    return list(dict.fromkeys([*(d.git_sha for d in deploys), *keeping.tips.get(repo, ())]))


async def _repository(read: _Read, repo: Repository, tips: Sequence[str], keeping: Keeping) -> None:
    seen: dict[str, Commit] = {}
    head = ""
    for tip in tips:
        try:
            sha = await repo.resolve(tip)
        except RepositoryError as error:
            if error.reason is Reason.NOT_FOUND:
                continue
            raise
        head = head or sha
        if sha not in seen:
            seen.update((c.sha, c) for c in await repo.log(until=sha, limit=keeping.commit_limit))
    commits = sorted(seen.values(), key=lambda c: (-c.committed_ns, c.sha))[: keeping.commit_limit]
    read.commits.extend(commits)
    touched = await touched_by(repo, commits[: keeping.touched_limit])
    reached = [Reached(commit=c, service=repo.name) for c in commits[: keeping.touched_limit]]
    read.contract_changes.extend((await commit_changes(repo, reached)).changes)
    read.touched.update(((repo.name, sha), tuple(symbols)) for sha, symbols in touched.items())
    if head:
        read.files[repo.name] = tuple(await repo.files(head))
        read.symbols[repo.name] = await _symbols(repo, head, read.files[repo.name])


async def _symbols(repo: Repository, sha: str, files: Sequence[str]) -> tuple[Symbol, ...]:
    wanted = [path for path in files if language_of(path) is not None][:_SYMBOL_FILES]
    contents = (
        await repo.read_many(sha, wanted) if isinstance(repo, ReadsMany) else await _one_by_one(repo, sha, wanted)
    )
    return await asyncio.to_thread(_parsed, contents)


async def _one_by_one(repo: Repository, sha: str, paths: Sequence[str]) -> dict[str, bytes]:
    found = {}
    for path in paths:
        try:
            found[path] = await repo.read(sha, path)
        except RepositoryError as error:
            if error.reason not in _SKIPPED:
                raise
    return found


def _parsed(contents: Mapping[str, bytes]) -> tuple[Symbol, ...]:
    found: list[Symbol] = []
    for path in sorted(contents):
        language = language_of(path)
        if language is not None and len(contents[path]) <= MAX_SOURCE_BYTES:
            found.extend(language.symbols(path, contents[path]))
    return tuple(found)
