"""The git repositories of a case folder: work trees and bare ones where they lie, bundles cloned into the scratch."""

import asyncio
import hashlib
import re
import shutil
from pathlib import Path

from retrieval.code.process import GitFailed, run_git
from retrieval.errors import RepositoryError
from retrieval.ingest.intake import Intake

_CLONE_LIMIT_S = 300.0
REPOSITORY_NAME = re.compile(r"[A-Za-z0-9][\w.@+-]{0,100}")  # also a folder's name in the store
_AT_ONCE = 4


async def read_repositories(folder: Path, scratch: Path, intake: Intake) -> dict[str, Path]:
    """Name -> git directory or work tree. What is no repository, or damaged, is reported and left out."""
    found = await asyncio.to_thread(_candidates, folder / "repos", intake)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def place(name: str, path: Path) -> tuple[str, Path | None]:
        async with gate:
            return name, await _place(name, path, scratch, intake)

    placed = await asyncio.gather(*(place(name, path) for name, path in found))
    return {name: path for name, path in placed if path is not None}


def _candidates(folder: Path, intake: Intake) -> list[tuple[str, Path]]:
    if not folder.is_dir():
        return []
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        name = (
            path.name.removesuffix(".bundle").removesuffix(".git")
            if path.is_dir()
            else path.name.removesuffix(".bundle")
        )
        if path.name.startswith(".") or (path.is_file() and path.suffix != ".bundle"):
            continue
        if not REPOSITORY_NAME.fullmatch(name):
            intake.problem(f"repos/{path.name}", 0, "a repository's name may hold letters, digits and . _ @ + - only")
        elif path.exists() and not (path.is_dir() or path.is_file()):  # a pipe would be waited for
            intake.problem(f"repos/{path.name}", 0, "is neither a folder nor a file")
        elif name in found:
            intake.problem(f"repos/{path.name}", 0, f"{name} is there twice; repos/{found[name].name} was used")
        else:
            found[name] = path
    return list(found.items())


async def _place(name: str, path: Path, scratch: Path, intake: Intake) -> Path | None:
    shown = f"repos/{path.name}"
    try:
        if path.is_dir():
            await run_git(path, ("rev-parse", "--git-dir"))
            return path.resolve()
        return await _clone(name, path, scratch)
    except GitFailed as failure:
        what = "is no git bundle that can be cloned" if path.is_file() else "is no git repository"
        intake.problem(
            shown, 0, f"{what}; check it with `git {'bundle verify' if path.is_file() else 'fsck'}` ({_short(failure)})"
        )
    except RepositoryError as error:
        intake.problem(shown, 0, f"{error}; {error.remedy}" if error.remedy else str(error))
    except OSError as error:
        intake.problem(shown, 0, f"can't be read ({error.strerror or type(error).__name__}); check its permissions")
    return None


def _short(failure: GitFailed) -> str:
    line = next((x.strip() for x in failure.stderr.splitlines() if x.strip().startswith(("fatal", "error"))), "")
    return re.sub(r"'?/\S+'?", "…", line)[:160] or f"exit status {failure.code}"


async def _clone(name: str, bundle: Path, scratch: Path) -> Path:
    """A bare mirror, made beside its place and moved there, so that a clone that was cut off is never taken for one.

    The place is named after the bundle's content: a bundle is cloned once for a scratch folder, and again when it
    changed.
    """
    digest = await asyncio.to_thread(_digest, bundle)
    place = scratch / "repos" / f"{name}-{digest[:12]}.git"
    if await asyncio.to_thread(place.is_dir):
        return place.resolve()
    await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
    making = place.with_suffix(".partial")
    await asyncio.to_thread(_remove, making)
    arguments = ("-c", "protocol.file.allow=always", "clone", "--mirror", "--quiet", "--no-local", "--template=")
    try:
        command = (*arguments, "--", str(bundle.resolve()), str(making.resolve()))
        await run_git(place.parent, command, timeout=_CLONE_LIMIT_S)
        if not await run_git(making, ("for-each-ref", "--count=1")):
            raise GitFailed(0, "fatal: holds no branch")  # git takes a header without refs for an empty repository
        await asyncio.to_thread(making.rename, place)
    finally:
        await asyncio.to_thread(_remove, making)
    return place.resolve()


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
