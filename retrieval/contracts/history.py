"""Which contracts did commits change, and how? Reads git, decides nothing else."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from retrieval.contracts.base import MAX_BYTES, Format, Unreadable
from retrieval.contracts.difference import Versions, differences
from retrieval.contracts.reading import read_contract
from retrieval.errors import RepositoryError
from retrieval.model import Commit, ContractChange, ContractElement, FileChange, Problem, SourceRef
from retrieval.ports import Repository

MAX_COMMITS = 200  # newest first
MAX_FILES = 40  # of one commit
MAX_VERSIONS = 1_000
_MIGRATIONS = 300  # files of one folder in which the table of a dropped index is looked for
_SUFFIXES = frozenset({".json", ".yaml", ".yml", ".proto", ".graphql", ".graphqls", ".gql", ".sql", ".ddl", ".py"})
_ELSEWHERE = frozenset({"test", "tests", "testing", "node_modules", "vendor", "fixtures", "testdata", ".github"})

_Read = tuple[Format, tuple[ContractElement, ...]]


class Reached(Struct, frozen=True, kw_only=True):
    """A commit, the service that it is judged for, and when it got to production (None: not looked at)."""

    commit: Commit
    service: str
    reached_ns: int | None = None


class Found(Struct, frozen=True):
    """The changes, and what could not be read of them."""

    changes: tuple[ContractChange, ...] = ()
    problems: tuple[Problem, ...] = ()


async def commit_changes(repo: Repository, commits: Sequence[Reached]) -> Found:
    """Every difference that each commit made to contracts, against its first parent.

    Raises: RepositoryError.
    """
    chosen = [(r, change) for r in commits[:MAX_COMMITS] for change in _candidates(r.commit)]
    wanted = dict.fromkeys(version for r, change in chosen for version in _versions(r.commit, change))
    read: dict[tuple[str, str], _Read] = {}
    problems: dict[Problem, None] = {}
    # A file over the limit is taken as absent, which would make all of it new: both sides have to be there.
    async for versions, content in repo.read_versions(list(wanted)[:MAX_VERSIONS], limit=MAX_BYTES):
        await asyncio.to_thread(_parse, versions, content, read, problems, repo.name)
    changes: list[ContractChange] = []
    for reached, change in chosen:
        found = _of_file(repo.name, reached, change, read)
        if any(c.what == "dropped index" and c.owner == c.member for c in found):
            found = await _with_tables(repo, reached.commit.sha, change.path, found)
        changes += found
    return Found(tuple(changes), tuple(problems))


def _candidates(commit: Commit) -> list[FileChange]:
    if len(commit.parents) > 1:
        return []
    kept = [c for c in commit.files if not c.binary and _may_be_contract(c.path)]
    return kept[:MAX_FILES]


def _may_be_contract(path: str) -> bool:
    pure = PurePosixPath(path)
    if pure.suffix.lower() not in _SUFFIXES or _ELSEWHERE & set(pure.parts[:-1]):
        return False
    return pure.suffix != ".py" or bool({"migrations", "versions", "alembic"} & set(pure.parts[:-1]))


def _versions(commit: Commit, change: FileChange) -> list[tuple[str, str]]:
    now = [] if change.status == "deleted" else [(commit.sha, change.path)]
    if commit.parents and change.status != "added":
        return [*now, (commit.parents[0], change.old_path or change.path)]
    return now


def _parse(
    versions: Sequence[tuple[str, str]],
    content: bytes,
    read: dict[tuple[str, str], _Read],
    problems: dict[Problem, None],
    repo: str,
) -> None:
    for sha, path in versions:
        same = next((read[v] for v in versions if v in read and v[1] == path), None)
        try:
            found = same or read_contract(path, content)
        except Unreadable as error:
            problems[Problem(source=SourceRef(f"{repo}@{sha}:{path}", error.line), reason=error.reason)] = None
            continue
        if found is not None:
            read[sha, path] = found


def _of_file(
    repo: str, reached: Reached, change: FileChange, read: Mapping[tuple[str, str], _Read]
) -> tuple[ContractChange, ...]:
    commit = reached.commit
    sides = [read.get(v) for v in _versions(commit, change)]
    # One side that can't be read tells nothing; steps need no earlier side.
    if not sides or sides[0] is None or (None in sides and not sides[0][0].steps):
        return ()
    format_ = sides[0][0]
    after = () if change.status == "deleted" else sides[0][1]
    before = () if change.status == "added" else sides[-1][1] if sides[-1] is not None else ()
    if not before and not format_.steps:
        return ()  # a new contract breaks nobody
    return differences(
        format_,
        Versions(
            service=reached.service,
            path=change.path,
            before=before,
            after=after,
            repo=repo,
            commit_sha=commit.sha,
            version=commit.sha[:12],
            reached_ns=reached.reached_ns,
            source=f"{repo}@{commit.sha}:{change.path}",
        ),
    )


async def _with_tables(
    repo: Repository, sha: str, path: str, changes: tuple[ContractChange, ...]
) -> tuple[ContractChange, ...]:
    """Dropped indexes with the tables that they were on, as the migrations beside this one made them."""
    folder = str(PurePosixPath(path).parent)
    try:
        beside = [p for p in await repo.files(sha) if str(PurePosixPath(p).parent) == folder and p.endswith(".sql")]
        contents = await repo.read_many(sha, beside[-_MIGRATIONS:])
    except RepositoryError:
        return changes
    tables = await asyncio.to_thread(_tables, contents)
    return tuple(
        replace(c, owner=tables[c.member], name=f"{tables[c.member]}.{c.member}")
        if c.what == "dropped index" and c.owner == c.member and c.member in tables
        else c
        for c in changes
    )


def _tables(contents: Mapping[str, bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(contents):
        try:
            read = read_contract(path, contents[path])
        except Unreadable:
            continue
        elements = read[1] if read else ()
        found.update((e.member, e.owner) for e in elements if e.what == "created index")
    return found
