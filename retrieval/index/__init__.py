"""Where documents are kept and found: the engines behind `retrieval.ports.Index`.

`ENGINES` is the registry: a name, and what opens it; a place that begins with http is Elasticsearch's, any other is a
folder of the embedded store. `tests/contract/test_index.py` runs over every one.
"""

import importlib
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Protocol

from retrieval.errors import Reason, StoreError
from retrieval.index import embedded
from retrieval.index.place import Access
from retrieval.ports import Clock, Embedder, Index, Redactor


class Opener(Protocol):
    def __call__(
        self, place: Any, *, clock: Clock, embedder: Embedder | None = None, redactor: Redactor | None = None
    ) -> Awaitable[Index]: ...


def _room() -> Any:
    """Elasticsearch's. Its client is imported when a cluster is asked for: it costs half a second, and is an extra."""
    try:
        return importlib.import_module("retrieval.index.elasticsearch")
    except ImportError as error:
        raise StoreError(
            "Elasticsearch's client is not installed.",
            reason=Reason.NOT_INSTALLED,
            subject="store.url",
            remedy="pip install '.[elasticsearch]', or leave store.url empty for the embedded store.",
        ) from error


def _elasticsearch(place: str, **options: Any) -> Awaitable[Index]:
    opened: Awaitable[Index] = _room().open_engine(place, **options)
    return opened


async def cluster_version(url: str, *, access: Access) -> str:
    """What answers there. Raises: BadInput, StoreError (not installed, refused, no answer)."""
    version: str = await _room().version_of(url, access)
    return version


ENGINES: dict[str, Opener] = {"embedded": embedded.open_engine, "elasticsearch": _elasticsearch}
LOCAL = frozenset({"embedded"})  # engines that live in this process


class SystemClock:
    """The wall clock, for expiry."""

    def now_ns(self) -> int:
        return time.time_ns()


async def open_index(
    place: Path | str | None,
    *,
    embedder: Embedder | None = None,
    redactor: Redactor | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> Index:
    """The embedded store of a folder, or Elasticsearch by its URL; None gives a throw-away embedded store that `close`
    removes. `options` are the engine's own.

    With a `redactor` a batch in which a secret survived is refused whole. `clock` decides what has expired.

    Raises: StoreLocked (another process or another call holds the folder), StoreError.
    """
    remote = isinstance(place, str) and place.startswith(("http://", "https://"))
    engine = ENGINES["elasticsearch" if remote else "embedded"]
    given = place if remote or place is None else Path(place)
    return await engine(given, clock=clock or SystemClock(), embedder=embedder, redactor=redactor, **options)
