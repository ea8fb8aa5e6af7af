"""Where a cluster is and who asks there (pure)."""

import re
from urllib.parse import urlsplit

from msgspec import Struct

from retrieval.errors import BadInput

DEFAULT_PREFIX = "receipts"
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}")


class Access(Struct, frozen=True):
    """Who asks: an API key in its encoded form, or nobody in particular. `ca_certs` is a file of certificates that a
    cluster of one's own is trusted by."""

    api_key: str = ""
    ca_certs: str = ""


class Place(Struct, frozen=True):
    """A cluster and the prefix of our indices there."""

    host: str
    prefix: str


def place_of(url: str) -> Place:
    """`http(s)://HOST[:PORT][/PREFIX]`; the prefix is `receipts` where none is named.

    Raises: BadInput.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 9200)
    except ValueError as error:
        raise _refused("is no address") from error
    prefix = parts.path.strip("/") or DEFAULT_PREFIX
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise _refused("is no address of a cluster")
    if parts.username is not None or parts.password is not None:
        raise _refused("holds credentials", remedy="make an API key and put it into store.api_key")
    if not _PREFIX.fullmatch(prefix):
        raise _refused(f"{prefix[:40]!r} cannot begin the names of indices", "lower-case letters, digits and . _ -")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Place(f"{parts.scheme}://{host}:{port}", prefix)


def _refused(why: str, remedy: str = "http(s)://HOST:PORT/PREFIX") -> BadInput:
    return BadInput(f"store.url: {why}", subject="store.url", remedy=remedy)
