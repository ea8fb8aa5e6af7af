"""The store that the settings name: the embedded one in the data folder, or Elasticsearch."""

from bot.settings import Settings
from retrieval.index import open_index
from retrieval.index.place import Access
from retrieval.ports import Embedder, Index, Redactor

STORE = "store"


def access_of(settings: Settings) -> Access:
    """How to log in to Elasticsearch."""
    return Access(api_key=settings.store.api_key.get_secret_value(), ca_certs=settings.store.ca_certs)


async def open_store(settings: Settings, *, embedder: Embedder | None, redactor: Redactor) -> Index:
    """Close it.

    Raises: StoreLocked (another process holds the embedded store), StoreUnavailable, StoreError, BadInput.
    """
    if not settings.store.url:
        return await open_index(settings.data / STORE, embedder=embedder, redactor=redactor)
    return await open_index(settings.store.url, embedder=embedder, redactor=redactor, access=access_of(settings))


async def open_private(url: str, settings: Settings, *, redactor: Redactor) -> Index:
    """A store for one run, removed by `close`: embedded, or at `url` under a prefix of its own.

    Raises: StoreUnavailable, StoreError, BadInput.
    """
    if not url:
        return await open_index(None, redactor=redactor)
    return await open_index(url, redactor=redactor, access=access_of(settings), temporary=True)
