"""Where the services' repositories lie; those that are elsewhere are mirrored, and the mirrors kept fresh.

An alert does not wait for a git host that is slow or away: what was mirrored before is used then, and fetching goes on.
"""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from retrieval.code.clone import is_url, mirror
from retrieval.errors import RetrievalError

log = logging.getLogger(__name__)
PATIENCE_S = 2.0
_AT_ONCE = 4


class Mirrors:
    """`folder` holds a repository for each name: mirrors made here, and what `receipts ingest` put there. `sources`
    are paths and URLs, each with its name; they come before what is in the folder."""

    def __init__(self, folder: Path, sources: Mapping[str, str], *, patience_s: float = PATIENCE_S) -> None:
        self._folder = folder
        self._sources = dict(sorted(sources.items()))
        self._patience_s = patience_s
        self._fetching: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def paths(self) -> dict[str, Path]:
        """What there is of each repository, after at most `patience_s` of fetching what is new. A URL that was never
        reached has none."""
        for source, name in self._sources.items():
            if is_url(source) and name not in self._fetching:
                task = asyncio.get_running_loop().create_task(self._fetch(source, name), name=f"fetch {name}")
                self._fetching[name] = task
                task.add_done_callback(partial(self._fetched, name))
        if self._fetching:
            await asyncio.wait(self._fetching.values(), timeout=self._patience_s)
        found = {path.name: path for path in await asyncio.to_thread(self._listed)}
        return found | {name: Path(source) for source, name in self._sources.items() if not is_url(source)}

    def _fetched(self, name: str, task: "asyncio.Task[None]") -> None:
        self._fetching.pop(name, None)

    async def close(self) -> None:
        tasks = list(self._fetching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _listed(self) -> list[Path]:
        return sorted(p for p in self._folder.glob("*") if p.is_dir() and not p.name.startswith("."))

    async def _fetch(self, source: str, name: str) -> None:
        async with self._slots:
            try:
                await mirror(source, self._folder / name)
            except RetrievalError as error:
                log.warning("services.%s.repo cannot be fetched: %s", name, error.reason.value)
