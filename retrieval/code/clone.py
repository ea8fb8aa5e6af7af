"""Clones that the program keeps for itself: bare mirrors, made beside their place and moved there."""

import asyncio
import re
import shutil
from pathlib import Path

from retrieval.code.process import GitFailed, run_git
from retrieval.errors import BadInput, Reason, RepositoryError

_LIMIT_S = 600.0
_URL = re.compile(r"(?P<scheme>https|ssh|file)://[^\s]+|(?:[\w.-]+@)?[\w.-]+:(?!//)[^\s]+")


def is_url(text: str) -> bool:
    """Whether it names a repository elsewhere (https, ssh, file, or scp's `host:path`), not a folder."""
    return bool(_URL.fullmatch(text)) and not text.startswith(("-", "/", "."))


async def mirror(source: str, destination: Path) -> Path:
    """A bare mirror of a folder, a bundle or a URL at `destination`; refreshed when it is there already.

    Raises: RepositoryError (git cannot read the source), BadInput (it is neither a path that exists nor a URL).
    """
    url = is_url(source)
    if not url and not await asyncio.to_thread(Path(source).exists):
        raise BadInput(f"{source}: no such repository", reason=Reason.NOT_FOUND, remedy="give a path or URL of a clone")
    where = source if url else str(await asyncio.to_thread(Path(source).resolve))
    allow = [part for scheme in ("https", "ssh", "file") for part in ("-c", f"protocol.{scheme}.allow=always")]
    try:
        if await asyncio.to_thread(destination.is_dir):
            fetch = (*allow, "fetch", "--quiet", "--prune", "--no-tags", "--", where, "+refs/*:refs/*")
            await run_git(destination, fetch, timeout=_LIMIT_S)
            return destination
        await asyncio.to_thread(destination.parent.mkdir, parents=True, exist_ok=True)
        making = destination.with_name(f".{destination.name}.partial")
        await asyncio.to_thread(shutil.rmtree, making, ignore_errors=True)
        clone = (
            *allow,
            "clone",
            "--mirror",
            "--quiet",
            "--no-local",
            "--template=",
            "--",
            where,
            str(making.resolve()),
        )
        await run_git(destination.parent, clone, timeout=_LIMIT_S)
        await asyncio.to_thread(making.rename, destination)
    except GitFailed as failure:
        raise RepositoryError(
            f"{destination.name}: git cannot read its source (exit status {failure.code})",
            subject=destination.name,
            remedy="check that the path or URL is a git repository that this user may read",
        ) from failure
    return destination
