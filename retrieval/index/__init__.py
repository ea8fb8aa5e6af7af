"""Where documents are kept and found: the engines behind `retrieval.ports.Index`.

`ENGINES` is the registry: a name, and what opens it. `tests/contract/test_index.py` runs over every one.
"""

import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol

from retrieval.index import embedded
from retrieval.ports import Clock, Embedder, Index, Redactor


class Opener(Protocol):
    def __call__(
        self, path: Path | None, *, clock: Clock, embedder: Embedder | None = None, redactor: Redactor | None = None
    ) -> Awaitable[Index]: ...


ENGINES: dict[str, Opener] = {"embedded": embedded.open_engine}
LOCAL = frozenset({"embedded"})  # engines that live in this process


class SystemClock:
    """The wall clock, for expiry."""

    def now_ns(self) -> int:
        return time.time_ns()


async def open_index(
    folder: Path | None,
    *,
    embedder: Embedder | None = None,
    redactor: Redactor | None = None,
    clock: Clock | None = None,
) -> Index:
    """The embedded store of a folder; None gives a throw-away one that `close` removes.

    With a `redactor` a batch in which a secret survived is refused whole. `clock` decides what has expired.

    Raises: StoreLocked (another process or another call holds the folder), StoreError.
    """
    return await ENGINES["embedded"](folder, clock=clock or SystemClock(), embedder=embedder, redactor=redactor)
