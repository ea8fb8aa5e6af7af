"""One git repository, read only, by the `git` program.

A subprocess reads history faster than the bindings do and shares no memory with a foreign repository. Every revision
that reaches git is a full object name that was looked up before, so that no text from a deploy or an alert can act as
an option, a path or a ref expression.
"""

import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path, PurePosixPath

from retrieval.code.logparse import FORMAT, parse_log
from retrieval.code.process import GitFailed, run_git
from retrieval.code.tree import BLOB_LIMIT, Entry, list_tree, read_blobs, read_versions, write_tree
from retrieval.errors import Reason, RepositoryError
from retrieval.model import Commit

_REVISION = re.compile(r"[0-9a-f]{7,40}")
_LOG_LIMIT = 32 * 1024 * 1024
_ONE_BY_ONE = 500  # when a history's patches are too large together, how many commits are asked for alone
_DIFF_LIMIT = 8 * 1024 * 1024
_SHAPE = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "-M", "--full-index")
_LOG = (
    "log",
    "-z",
    f"--format={FORMAT}",
    "--encoding=UTF-8",
    "--topo-order",
    "--root",
    "--no-diff-merges",
    "--raw",
    "--abbrev=40",
    "--ignore-submodules=none",
    *_SHAPE,
)
_PATCH = ("-p", "-U0", "--inter-hunk-context=0", "--submodule=short", "--diff-algorithm=myers")


class GitRepository:
    """Implements `retrieval.ports.Repository`. Made by `open_repository`; holds no process and no file open."""

    def __init__(self, name: str, path: Path, boundary: frozenset[str]) -> None:
        self.name = name
        self.path = path
        self._boundary = boundary  # the commits whose parents a shallow clone lacks
        self._resolved: dict[str, str] = {}

    async def resolve(self, revision: str) -> str:
        """The full name of a commit; abbreviations of seven digits and more are accepted, refs are not.

        Raises: RepositoryError NOT_FOUND (also when ambiguous), SHALLOW, CORRUPT, TIMEOUT.
        """
        wanted = revision.strip().lower()
        if not _REVISION.fullmatch(wanted):
            raise self._error(f"{revision[:80]!r} is no commit name", Reason.NOT_FOUND, "give 7 to 40 hex digits")
        if wanted not in self._resolved:
            self._resolved[wanted] = await self._look_up(wanted)
        return self._resolved[wanted]

    async def head(self) -> str:
        """The full name of the commit that the clone points to.

        Raises: RepositoryError NOT_FOUND (an empty repository), CORRUPT, TIMEOUT.
        """
        try:
            told = await self._git("rev-parse", "--verify", "HEAD^{commit}")
        except GitFailed as failure:
            raise self._error("points to no commit", Reason.NOT_FOUND, "push a branch to it") from failure
        return told.decode().strip()

    async def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant` (a commit is its own ancestor).

        Raises: RepositoryError; SHALLOW when the answer is no only as far as the history goes.
        """
        old, new = await self.resolve(ancestor), await self.resolve(descendant)
        try:
            await self._git("merge-base", "--is-ancestor", old, new)
        except GitFailed as failure:
            if failure.code != 1:
                raise self._corrupt(failure) from failure
            if self._boundary and await self._reaches_boundary(new, ""):
                raise self._shallow(f"whether {old[:12]} came before {new[:12]}") from failure
            return False
        return True

    async def log(self, *, after: str = "", until: str, limit: int = 2000) -> list[Commit]:
        """Commits reachable from `until` and not from `after`, at most `limit`, with zero-context hunks, children
        before parents. Commits at the end of a shallow history have no files: what they changed can't be told.

        Raises: RepositoryError; SHALLOW when `after` is given and the history ends before it is reached.
        """
        end = await self.resolve(until)
        start = await self.resolve(after) if after else ""
        if start and self._boundary and await self._reaches_boundary(end, start):
            raise self._shallow(f"the commits between {start[:12]} and {end[:12]}")
        revisions = [f"--max-count={limit}", end, *([f"^{start}"] if start else []), "--"]
        commits = await self._log(revisions)
        return [self._without_guess(commit) for commit in commits]

    async def commit(self, sha: str) -> Commit:
        """One commit with its files and hunks. Raises: RepositoryError."""
        commits = await self._log(["--max-count=1", "--no-walk", await self.resolve(sha), "--"])
        return self._without_guess(commits[0])

    async def files(self, sha: str) -> list[str]:
        """The paths of the files at a commit, in order; submodules are left out. Raises: RepositoryError."""
        return [entry.path for entry in await self._entries(sha, sizes=False)]

    async def read(self, sha: str, path: str) -> bytes:
        """A file's bytes at a commit, at most 4 MiB; a symbolic link gives the text of its target.

        Raises: RepositoryError NOT_FOUND, TOO_LARGE, CORRUPT, SHALLOW, TIMEOUT.
        """
        commit = await self.resolve(sha)
        pure = PurePosixPath(path)
        if not path or pure.is_absolute() or ".." in pure.parts or "\0" in path:
            raise self._error(f"{path[:200]!r} is no path in a repository", Reason.NOT_FOUND, "give a relative path")
        try:
            return await run_git(self.path, ["cat-file", "blob", f"{commit}:{pure}"], limit=BLOB_LIMIT)
        except GitFailed as failure:
            if str(pure) in await self.files(commit):
                raise self._corrupt(failure) from failure
            raise self._error(f"{path!r} is not in {commit[:12]}", Reason.NOT_FOUND, "check the path") from failure

    async def read_many(self, sha: str, paths: Sequence[str]) -> dict[str, bytes]:
        """The bytes of several files at a commit, by one process. What is absent or larger than 4 MiB is left out.

        Raises: RepositoryError.
        """
        wanted = set(paths)
        entries = [entry for entry in await self._entries(sha) if entry.path in wanted and entry.size <= BLOB_LIMIT]
        try:
            return {entry.path: content async for entry, content in read_blobs(self.path, entries)}
        except GitFailed as failure:
            raise self._corrupt(failure) from failure

    async def read_versions(
        self, wanted: Sequence[tuple[str, str]], *, limit: int
    ) -> AsyncIterator[tuple[list[tuple[str, str]], bytes]]:
        """Files at many commits, by two processes for all of them; commits are full names. Each distinct content comes
        once, with every (commit, path) that has it; what is absent or larger than `limit` bytes is left out.

        Raises: RepositoryError.
        """
        try:
            async for found in read_versions(self.path, wanted, limit):
                yield found
        except GitFailed as failure:
            raise self._corrupt(failure) from failure

    async def diff(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """Unified diff text with three lines of context; `paths` are literal. Raises: RepositoryError."""
        ends = [await self.resolve(old), await self.resolve(new)]
        try:
            out = await run_git(
                self.path, ["diff-tree", "-r", "-p", "-U3", *_SHAPE, *ends, "--", *paths], limit=_DIFF_LIMIT
            )
        except GitFailed as failure:
            raise self._corrupt(failure) from failure
        return out.decode("utf-8", "replace")

    async def checkout(self, sha: str, destination: Path) -> None:
        """A clean tree without `.git` in an empty or absent folder; symbolic links that leave it are dropped.

        Raises: RepositoryError, BadInput (the folder is not empty).
        """
        try:
            await write_tree(self.path, await self._entries(sha), destination)
        except GitFailed as failure:
            raise self._corrupt(failure) from failure

    async def _look_up(self, wanted: str) -> str:
        try:
            names = (await self._git("rev-parse", f"--disambiguate={wanted}")).split()
            asked = b"".join(b"%s^{commit}\n" % name for name in names[:50]) if names else b""
            lines = (await run_git(self.path, ["cat-file", "--batch-check"], stdin=asked)).splitlines() if asked else []
        except GitFailed as failure:
            raise self._corrupt(failure) from failure
        found = sorted({line.split()[0].decode() for line in lines if line.split()[1:2] == [b"commit"]})
        if len(found) == 1:
            return found[0]
        if found:
            raise self._error(f"{wanted} is ambiguous", Reason.NOT_FOUND, "give more digits")
        if self._boundary:
            raise self._shallow(f"commit {wanted}")
        raise self._error(f"no commit {wanted}", Reason.NOT_FOUND, "fetch the repository again, with all its branches")

    async def _log(self, revisions: list[str]) -> list[Commit]:
        try:
            return parse_log(await run_git(self.path, [*_LOG, *_PATCH, *revisions], limit=_LOG_LIMIT), self.name)
        except GitFailed as failure:
            raise self._corrupt(failure) from failure
        except RepositoryError as error:
            if error.reason is not Reason.TOO_LARGE:
                raise
        # One vendored archive must not cost the hunks of all the other commits.
        bare = await self._names_only(revisions)
        return [await self._alone(commit) if n < _ONE_BY_ONE else commit for n, commit in enumerate(bare)]

    async def _names_only(self, revisions: list[str]) -> list[Commit]:
        try:
            return parse_log(await run_git(self.path, [*_LOG, *revisions], limit=_LOG_LIMIT), self.name)
        except GitFailed as failure:
            raise self._corrupt(failure) from failure

    async def _alone(self, commit: Commit) -> Commit:
        try:
            out = await run_git(
                self.path, [*_LOG, *_PATCH, "--max-count=1", "--no-walk", commit.sha, "--"], limit=_DIFF_LIMIT
            )
        except GitFailed as failure:
            raise self._corrupt(failure) from failure
        except RepositoryError as error:
            if error.reason is not Reason.TOO_LARGE:
                raise
            return commit
        return parse_log(out, self.name)[0]

    def _without_guess(self, commit: Commit) -> Commit:
        """git shows a commit at a shallow boundary as if it had added every file."""
        if commit.sha not in self._boundary:
            return commit
        return Commit(
            repo=commit.repo,
            sha=commit.sha,
            author=commit.author,
            author_ns=commit.author_ns,
            committed_ns=commit.committed_ns,
            subject=commit.subject,
            body=commit.body,
        )

    async def _reaches_boundary(self, end: str, start: str) -> bool:
        try:
            reached = await self._git("rev-list", end, *([f"^{start}"] if start else []), "--")
        except GitFailed as failure:
            raise self._corrupt(failure) from failure
        return any(sha in self._boundary for sha in reached.decode("ascii").split())

    async def _entries(self, sha: str, *, sizes: bool = True) -> list[Entry]:
        commit = await self.resolve(sha)
        try:
            return await list_tree(self.path, commit, sizes=sizes)
        except GitFailed as failure:
            raise self._corrupt(failure) from failure

    async def _git(self, *arguments: str) -> bytes:
        return await run_git(self.path, arguments)

    def _error(self, message: str, reason: Reason, remedy: str) -> RepositoryError:
        return RepositoryError(f"{self.name}: {message}", reason=reason, subject=self.name, remedy=remedy)

    def _corrupt(self, failure: GitFailed) -> RepositoryError:
        return self._error(
            f"git failed: {failure.stderr[:300]}", Reason.CORRUPT, "check it with git fsck, or clone again"
        )

    def _shallow(self, what: str) -> RepositoryError:
        return self._error(f"a shallow clone cannot tell {what}", Reason.SHALLOW, "git fetch --unshallow")


async def open_repository(name: str, path: Path) -> GitRepository:
    """Open a work tree, a linked work tree, a bare repository or a shallow clone.

    Raises: RepositoryError NOT_FOUND (no repository there), CORRUPT (one that git cannot read), TIMEOUT.
    """
    if not path.is_dir():
        raise RepositoryError(
            f"{name}: no folder {path}",
            reason=Reason.NOT_FOUND,
            subject=name,
            remedy="give the folder of a clone, bare or with its work tree",
        )
    try:
        out = await run_git(path, ["rev-parse", "--git-path", "shallow"])
    except GitFailed as failure:
        looks = (path / ".git").exists() or (path / "objects").is_dir()
        raise RepositoryError(
            f"{name}: git cannot read {path}: {failure.stderr[:300]}",
            reason=Reason.CORRUPT if looks else Reason.NOT_FOUND,
            subject=name,
            remedy="clone it again" if looks else "give the folder of a clone, bare or with its work tree",
        ) from failure
    listed = path / out.decode("utf-8", "replace").strip()
    boundary = frozenset(listed.read_text("ascii").split()) if listed.is_file() else frozenset[str]()
    return GitRepository(name, path, boundary)
