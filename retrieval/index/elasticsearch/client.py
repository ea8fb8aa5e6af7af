"""The connection to a cluster, and its errors in our words.

Also for what lies in a cluster already: whatever reads indices of others uses `connect` and `asked`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from elastic_transport import ConnectionTimeout, SerializationError, TlsError, TransportError
from elasticsearch import ApiError, AsyncElasticsearch, UnsupportedProductError

from retrieval.errors import BadInput, Reason, StoreError, StoreUnavailable
from retrieval.index.place import Access, Place, place_of

_TIMEOUT_S = 30.0
_LIMITED = frozenset({429, 502, 503, 504})
_REFUSED = frozenset({401, 403})


def connect(place: Place, access: Access) -> AsyncElasticsearch:
    """A client; nothing is sent yet. Close it. Raises: BadInput (a file of certificates that can't be used)."""
    options: dict[str, Any] = {}
    if access.api_key:
        options["api_key"] = access.api_key
    if access.ca_certs and place.host.startswith("https"):
        options["ca_certs"] = access.ca_certs
    try:
        return AsyncElasticsearch(
            [place.host], request_timeout=_TIMEOUT_S, max_retries=2, retry_on_timeout=False, **options
        )
    except (OSError, ValueError) as error:
        raise BadInput(
            "store.ca_certs: cannot be used", subject="store.ca_certs", remedy="a file of PEM certificates"
        ) from error


async def version_of(url: str, access: Access) -> str:
    """The number of what answers. Raises: BadInput, StoreUnavailable, StoreError."""
    async with connect(place_of(url), access) as client:
        with asked("say what it is"):
            return str((await client.info())["version"]["number"])


@contextmanager
def asked(what: str) -> Iterator[None]:
    """Raises: StoreUnavailable (no answer, or too busy: it may be asked again), StoreError (refused, or not
    understood). What is told holds nothing that the server said."""
    try:
        yield
    except ConnectionTimeout as error:
        raise StoreUnavailable(f"Elasticsearch did not {what} in time.", reason=Reason.TIMEOUT) from error
    except UnsupportedProductError as error:
        raise StoreError(
            "What answers at store.url is not Elasticsearch.",
            subject="store.url",
            remedy="OpenSearch and proxies that hide the product are not supported; name an Elasticsearch 8.19 or 9.",
        ) from error
    except TlsError as error:
        raise StoreError(
            "Elasticsearch's certificate is not trusted.",
            reason=Reason.UNAVAILABLE,
            subject="store.url",
            remedy="Name the file of your authority's certificates in store.ca_certs.",
        ) from error
    except SerializationError as error:
        raise StoreError(f"Elasticsearch's answer to {what} could not be read.") from error
    except TransportError as error:
        raise StoreUnavailable(
            "Elasticsearch does not answer.", subject="store.url", remedy="Start it, or correct store.url."
        ) from error
    except ApiError as error:
        raise refusal(what, error.status_code, _kind(error)) from error


def refusal(what: str, status: int, kind: str) -> StoreError:
    if status in _REFUSED:
        return StoreError(
            f"Elasticsearch does not allow us to {what} ({status}).",
            reason=Reason.UNAVAILABLE,
            subject="store.api_key",
            remedy="The key needs read, write, create_index and manage on the indices of our prefix.",
        )
    if status in _LIMITED:
        return StoreUnavailable(f"Elasticsearch is too busy to {what} ({status}).")
    return StoreError(f"Elasticsearch could not {what} ({status} {kind}).")


def _kind(error: ApiError) -> str:
    """The name of the server's error, without its text, which may repeat what was sent."""
    return error.message if re.fullmatch(r"[a-z_]{1,80}", error.message or "") else "error"
