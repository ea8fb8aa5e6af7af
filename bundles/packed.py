"""The source trees that a bundle carries, as a repository: enough to run its test without the real one."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from bundles.trees import member_of, unpack_tree
from retrieval.errors import Reason, RepositoryError
from retrieval.model import Commit


class PackedRepository:
    """`retrieval.ports.Repository` over unpacked trees; it knows files and no history."""

    def __init__(self, name: str, trees: Mapping[str, Path]) -> None:
        self.name = name
        self.path = next(iter(trees.values()), Path())
        self._trees = trees

    async def resolve(self, revision: str) -> str:
        return next((sha for sha in self._trees if sha.startswith(revision)), "") or self._unknown(revision)

    async def files(self, sha: str) -> list[str]:
        tree = self._tree(sha)
        return await asyncio.to_thread(
            lambda: sorted(p.relative_to(tree).as_posix() for p in tree.rglob("*") if p.is_file() or p.is_symlink())
        )

    async def read(self, sha: str, path: str) -> bytes:
        file = self._tree(sha) / path
        try:
            return await asyncio.to_thread(file.read_bytes)
        except OSError as error:
            raise RepositoryError(f"{self.name}: no {path}", reason=Reason.NOT_FOUND, subject=path) from error

    async def read_many(self, sha: str, paths: Sequence[str]) -> dict[str, bytes]:
        present = set(await self.files(sha))
        return {path: await self.read(sha, path) for path in paths if path in present}

    async def read_versions(
        self, wanted: Sequence[tuple[str, str]], *, limit: int
    ) -> AsyncIterator[tuple[list[tuple[str, str]], bytes]]:
        for sha, path in wanted:
            content = (await self.read_many(sha, [path])).get(path)
            if content is not None and len(content) <= limit:
                yield [(sha, path)], content

    async def checkout(self, sha: str, destination: Path) -> None:
        tree = self._tree(sha)
        await asyncio.to_thread(shutil.copytree, tree, destination, symlinks=True, dirs_exist_ok=True)

    async def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return bool(self._unknown("history"))

    async def log(self, *, after: str = "", until: str, limit: int = 2000) -> list[Commit]:
        self._unknown("history")
        return []

    async def commit(self, sha: str) -> Commit:
        raise RepositoryError(f"{self.name}: no history", reason=Reason.SHALLOW, subject=self.name)

    async def diff(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        return self._unknown("history")

    def _tree(self, sha: str) -> Path:
        if sha not in self._trees:
            self._unknown(sha)
        return self._trees[sha]

    def _unknown(self, what: str) -> str:
        raise RepositoryError(
            f"{self.name}: {what} is not in the bundle", reason=Reason.NOT_FOUND, subject=self.name,
            remedy="give --repo, a clone of the repository",
        )  # fmt: skip


def unpack_repository(files: Mapping[str, bytes], repo: str, commits: Sequence[str], folder: Path) -> PackedRepository:
    """The trees of these commits, as far as the bundle holds them, laid out under `folder`. Raises: DamagedBundle."""
    trees = {}
    for sha in commits:
        name = member_of(repo, sha)
        if name in files and sha not in trees:
            trees[sha] = folder / sha[:12]
            unpack_tree(name, files[name], trees[sha])
    return PackedRepository(repo, trees)
