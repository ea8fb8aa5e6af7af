"""The connection to a cluster, and its errors in our words.

Also for what lies in a cluster already: whatever reads indices of others uses `connect` and `asked`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from elastic_transport import ConnectionTimeout, SerializationError, TlsError, TransportError
from elasticsearch import ApiError, AsyncElasticsearch, UnsupportedProductError
from msgspec import Struct

from retrieval.errors import BadInput, Reason, StoreError, StoreUnavailable

DEFAULT_PREFIX = "receipts"
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}")
_TIMEOUT_S = 30.0
_LIMITED = frozenset({429, 502, 503, 504})
_REFUSED = frozenset({401, 403})


class Access(Struct, frozen=True):
    """Who asks: an API key in its encoded form, else what the URL holds, else nobody. `ca_certs` is a file of
    certificates that a cluster of one's own is trusted by."""

    api_key: str = ""
    ca_certs: str = ""


class Place(Struct, frozen=True):
    """A cluster and the prefix of our indices there."""

    host: str
    prefix: str
    basic: tuple[str, str] | None = None


def place_of(url: str) -> Place:
    """`http(s)://[USER:PASSWORD@]HOST[:PORT][/PREFIX]`; the prefix is `receipts` where none is named.

    Raises: BadInput.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 9200)
    except ValueError as error:
        raise BadInput("store.url: is no address", subject="store.url", remedy="http(s)://HOST:PORT/PREFIX") from error
    prefix = parts.path.strip("/") or DEFAULT_PREFIX
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise BadInput(
            "store.url: is no address of a cluster", subject="store.url", remedy="http(s)://HOST:PORT/PREFIX"
        )
    if not _PREFIX.fullmatch(prefix):
        raise BadInput(
            f"store.url: {prefix[:40]!r} cannot begin the names of indices",
            subject="store.url",
            remedy="lower-case letters, digits and . _ - only",
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    basic = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return Place(f"{parts.scheme}://{host}:{port}", prefix, basic)


def connect(place: Place, access: Access) -> AsyncElasticsearch:
    """A client; nothing is sent yet. Close it. Raises: BadInput (a file of certificates that can't be used)."""
    options: dict[str, Any] = {}
    if access.api_key:
        options["api_key"] = access.api_key
    elif place.basic:
        options["basic_auth"] = place.basic
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
