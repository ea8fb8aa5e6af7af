"""Source trees as members of a bundle: plain tar, the same bytes for the same files, so that a stranger without the
repository can run the test again."""

import io
import os
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bundles.errors import DamagedBundle
from retrieval.ports import Repository

MAX_TREE_BYTES = 8 * 2**20


def member_of(repo: str, sha: str) -> str:
    """Name of a tree in the bundle: `source/shop@0123456789ab.tar`."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in repo).lstrip(".") or "repo"
    return f"source/{safe}@{sha[:12]}.tar"


async def trees_of(repository: Repository, repo: str, commits: Sequence[str]) -> dict[str, bytes]:
    """Member name -> tar for each commit; empty when together they are larger than 8 MiB (the reader then needs the
    repository).

    Raises: RepositoryError.
    """
    found: dict[str, bytes] = {}
    for sha in dict.fromkeys(commits):
        with tempfile.TemporaryDirectory(prefix="receipts-tree-") as scratch:
            tree = Path(scratch) / "tree"
            await repository.checkout(sha, tree)
            packed = pack_tree(tree)
        if packed is None:
            return {}
        found[member_of(repo, sha)] = packed
    return found if sum(map(len, found.values())) <= MAX_TREE_BYTES else {}


def pack_tree(tree: Path) -> bytes | None:
    """Regular files and links, sorted, without owner and time; None when larger than 8 MiB."""
    buffer, total = io.BytesIO(), 0
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(tree.rglob("*"), key=lambda p: p.relative_to(tree).as_posix()):
            if path.is_symlink():
                info = tarfile.TarInfo(path.relative_to(tree).as_posix())
                info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
                archive.addfile(info)
            elif path.is_file():
                content = path.read_bytes()
                total += len(content)
                if total > MAX_TREE_BYTES:
                    return None
                info = tarfile.TarInfo(path.relative_to(tree).as_posix())
                info.size, info.mode = len(content), 0o755 if path.stat().st_mode & 0o100 else 0o644
                archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def unpack_tree(name: str, packed: bytes, destination: Path) -> None:
    """Lay a tree out in an absent or empty folder; nothing leaves it. Raises: DamagedBundle.

    By hand, for Python before 3.11.4 has no extraction filters: folders and plain files, then the links, so that
    nothing is ever written through one.
    """
    destination.mkdir(parents=True, exist_ok=True)
    root = destination.resolve()
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
            members = archive.getmembers()
            for member in members:
                if not member.issym():
                    _place(archive, member, _inside(root, member.name))
        links = [(_inside(root, member.name), member.linkname) for member in members if member.issym()]
        for place, target in links:
            _link(place, target)
        if not all(Path(os.path.realpath(place)).is_relative_to(root) for place, _ in links):
            raise ValueError("a link that leaves the tree")
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise DamagedBundle(name, "is not a source tree") from error


def _place(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    """A folder, or a plain file with all of its content. Raises: ValueError for anything else."""
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    source = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    content = source.read() if source else b""
    if source is None or len(content) != member.size:
        raise ValueError(member.name)
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("xb") as file:
        file.write(content)
    place.chmod(0o755 if member.mode & 0o100 else 0o644)


def _link(place: Path, target: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.parent.resolve() != place.parent:
        raise ValueError("a link inside a linked folder")
    place.symlink_to(target)


def _inside(root: Path, name: str) -> Path:
    """Where a member lies under `root`. Raises: ValueError when that is not inside."""
    if name.startswith("/") or ".." in name.split("/"):
        raise ValueError(name)
    return root / name
