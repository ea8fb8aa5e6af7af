"""The files of one commit: listing, reading many at once, and writing them out safely.

`git archive` is not used: it applies the repository's own attributes, which leave files out (export-ignore), rewrite
them (export-subst) or run programs (filters).
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from retrieval.code.process import run_git
from retrieval.errors import BadInput, Reason, RepositoryError

BLOB_LIMIT = 4 * 1024 * 1024
CHECKOUT_LIMIT = 1024 * 1024 * 1024
_BATCH_BYTES = 16 * 1024 * 1024
_BATCH_FILES = 2000
_LINK = "120000"
_EXECUTABLE = "100755"


class Entry(Struct, frozen=True):
    """One blob of a tree; `raw_path` are the bytes that git keeps."""

    mode: str
    blob: str
    size: int
    raw_path: bytes

    @property
    def path(self) -> str:
        return self.raw_path.decode("utf-8", "replace")


async def list_tree(repository: Path, sha: str, *, sizes: bool = True) -> list[Entry]:
    """The blobs of a commit in tree order; submodules are left out. Sizes (else 0) need the blobs to be there, which a
    partial clone may not have.

    Raises: GitFailed, RepositoryError.
    """
    out = await run_git(repository, ["ls-tree", "-r", "-z", *(["-l"] if sizes else []), "--full-tree", sha])
    entries = []
    for record in out.split(b"\0"):
        head, tab, raw_path = record.partition(b"\t")
        if not tab:
            continue
        mode, kind, blob, *size = head.decode("ascii").split()
        if kind == "blob":
            entries.append(Entry(mode, blob, int(size[0]) if size and size[0].isdigit() else 0, raw_path))
    return entries


async def read_blobs(repository: Path, entries: Iterable[Entry]) -> AsyncIterator[tuple[Entry, bytes]]:
    """The content of each entry, in order, in batches of bounded size.

    Raises: GitFailed, RepositoryError CORRUPT.
    """
    for batch in _batches(entries):
        size = sum(entry.size + 128 for entry in batch)
        wanted = "".join(f"{entry.blob}\n" for entry in batch).encode()
        out = await run_git(repository, ["cat-file", "--batch"], stdin=wanted, limit=size + 1024)
        at = 0
        for entry in batch:
            end = out.find(b"\n", at)
            header = out[at:end].split()
            if len(header) != 3 or header[1] != b"blob":
                raise RepositoryError(
                    f"{entry.path} is missing from the repository",
                    reason=Reason.CORRUPT,
                    subject=repository.name,
                    remedy="check it with git fsck, or clone again",
                )
            stop = end + 1 + int(header[2])
            yield entry, out[end + 1 : stop]
            at = stop + 1


async def read_versions(
    repository: Path, wanted: Sequence[tuple[str, str]], limit: int
) -> AsyncIterator[tuple[list[tuple[str, str]], bytes]]:
    """Each distinct content of the (commit, path) pairs once, with the pairs that have it.

    Raises: GitFailed, RepositoryError CORRUPT.
    """
    # A line break would end the question; a leading dot would make the path relative to the folder git runs in.
    asked = [(sha, path) for sha, path in wanted if "\n" not in path and not path.startswith(("./", "../"))]
    if not asked:
        return
    lines = "".join(f"{sha}:{path}\n" for sha, path in asked).encode()
    answers = (await run_git(repository, ["cat-file", "--batch-check"], stdin=lines)).splitlines()
    holders: dict[Entry, list[tuple[str, str]]] = {}
    for key, answer in zip(asked, answers, strict=True):
        blob, _, rest = answer.decode("utf-8", "replace").partition(" ")
        kind, _, size = rest.partition(" ")
        if kind == "blob" and int(size) <= limit:
            holders.setdefault(Entry("", blob, int(size), b""), []).append(key)
    async for entry, content in read_blobs(repository, holders):
        yield holders[entry], content


def _batches(entries: Iterable[Entry]) -> Iterable[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        if batch and (size + entry.size > _BATCH_BYTES or len(batch) >= _BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


async def write_tree(repository: Path, entries: list[Entry], destination: Path) -> None:
    """Write a clean tree into an empty or absent folder: plain files first, then the links that stay inside.

    Raises: BadInput (the folder is not empty), RepositoryError TOO_LARGE, GitFailed.
    """
    if sum(entry.size for entry in entries) > CHECKOUT_LIMIT:
        raise RepositoryError(
            f"the tree is larger than {CHECKOUT_LIMIT} bytes",
            reason=Reason.TOO_LARGE,
            subject=repository.name,
            remedy="give a service its own, smaller repository",
        )
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise BadInput(f"{destination} is not an empty folder", subject=str(destination), remedy="give an empty folder")
    destination.mkdir(parents=True, exist_ok=True)
    usable = [entry for entry in entries if _inside(entry.raw_path)]
    async for entry, content in read_blobs(repository, (e for e in usable if e.mode != _LINK)):
        await asyncio.to_thread(_write, destination, entry, content)
    links = [pair async for pair in read_blobs(repository, (e for e in usable if e.mode == _LINK))]
    await asyncio.to_thread(_link_all, destination, links)


def _inside(raw_path: bytes) -> bool:
    """A path that a well-made tree may hold; git itself refuses to write the others, a forged tree has them."""
    parts = raw_path.split(b"/")
    return not any(part in (b"", b".", b"..") or part.lower() == b".git" for part in parts)


def _target(destination: Path, raw_path: bytes) -> Path | None:
    """Where an entry goes, its folder made; None when something else stands in the way."""
    target = destination / os.fsdecode(raw_path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return None
    return None if os.path.lexists(target) else target


def _write(destination: Path, entry: Entry, content: bytes) -> None:
    target = _target(destination, entry.raw_path)
    if target is not None:
        target.write_bytes(content)
        target.chmod(0o755 if entry.mode == _EXECUTABLE else 0o644)


def _link_all(destination: Path, links: list[tuple[Entry, bytes]]) -> None:
    made = []
    for entry, content in links:
        text = os.fsdecode(content)
        if not text or "\0" in text or PurePosixPath(text).is_absolute():
            continue
        # Made one after the other: a link may lie in a folder that an earlier, forged link stands for.
        target = _target(destination, entry.raw_path)
        if target is not None and _contains(destination, target.parent):
            target.symlink_to(text)
            made.append(target)
    # A link may leave only through another one, so look until nothing changes.
    while leaving := [link for link in made if not _contains(destination, link)]:
        for link in leaving:
            link.unlink()
        made = [link for link in made if link not in leaving]


def _contains(destination: Path, path: Path) -> bool:
    root = os.path.realpath(destination)
    real = os.path.realpath(path)
    return real == root or real.startswith(root + os.sep)
