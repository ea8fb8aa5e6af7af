"""How an index is laid out, and which index a document goes to. Pure.

Text is analysed by us for every engine (`retrieval.index.analyzer`), so that a field of ready terms is split at white
space and nothing else. All of a document is in `body`; the other fields are what it is filtered, ranked and found by.
"""

import datetime as dt
import hashlib
import re
from typing import Any

SCHEMA = 1  # goes up whenever the layout changes: an index of another schema is not written to
_WEEK_NS = 7 * 86_400 * 10**9
_LONGEST_WORD = 512  # characters of a keyword; Lucene refuses terms beyond 32,766 bytes
_KEYWORDS = ("doc_id", "kind", "service", "environment", "region", "language", "snapshot", "acl", "text_key", "model")
_YEAR_10000_NS = 253_402_300_800 * 10**9

SETTINGS: dict[str, Any] = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "refresh_interval": "5s"}


def mappings(dimensions: int) -> dict[str, Any]:
    """The mapping of an index of documents; `dimensions` 0 is without vectors."""
    properties: dict[str, Any] = {name: {"type": "keyword"} for name in _KEYWORDS}
    properties |= {
        "items": {"type": "keyword", "doc_values": False},
        "@timestamp": {"type": "date"},
        "time": {"type": "long"},
        "expires": {"type": "long"},
        "severity": {"type": "short"},
        "shared": {"type": "integer"},
        "length": {"type": "long"},
        "terms": {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
        "title": {"type": "keyword", "index": False, "doc_values": False},
        "vector": {"type": "binary"},
        "body": {"type": "binary"},
    }
    return {
        "dynamic": "strict",
        "_meta": {"schema": SCHEMA},
        "_source": {"excludes": ["terms", "vec_*"]},
        "properties": properties | vector_field(dimensions),
    }


def vector_field(dimensions: int) -> dict[str, Any]:
    """The type is named, since the default differs between versions; cosine over unit vectors."""
    if not dimensions:
        return {}
    vector = {
        "type": "dense_vector",
        "dims": dimensions,
        "index": True,
        "similarity": "cosine",
        "index_options": {"type": "int8_hnsw"},
    }
    return {vector_name(dimensions): vector}


def vector_name(dimensions: int) -> str:
    return f"vec_{dimensions}"


def dimensions_of(properties: dict[str, Any]) -> int:
    """Of the vectors that an index's mapping holds, 0 for none; the greatest where models changed."""
    return max((int(name.removeprefix("vec_")) for name in properties if name.startswith("vec_")), default=0)


def word(value: str) -> str:
    """A value as a keyword: what is too long for one keeps its beginning and a digest; lone surrogates are replaced."""
    value = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if len(value) <= _LONGEST_WORD:
        return value
    return f"{value[:_LONGEST_WORD]}\u2026{digest(value)}"


def digest(value: str) -> str:
    return hashlib.blake2b(value.encode("utf-8", "replace"), digest_size=12).hexdigest()


def index_name(prefix: str, kind: str, expires_ns: int | None) -> str:
    """`PREFIX-KIND` for what is kept, `PREFIX-KIND-YYYYwWW` for what expires in that ISO week (UTC), so that a week
    that is over is dropped as a whole."""
    name = kind if re.fullmatch(r"[a-z][a-z0-9_]{0,40}", kind) else f"x{digest(kind)}"
    if expires_ns is None or not 0 <= expires_ns < _YEAR_10000_NS:
        return f"{prefix}-{name}"
    year, week, _ = dt.datetime.fromtimestamp(expires_ns // 10**9, dt.UTC).isocalendar()
    return f"{prefix}-{name}-{year:04}w{week:02}"


def week_end_ns(index: str) -> int | None:
    """When everything in an index of a week has expired; None for any other index."""
    found = re.fullmatch(r".*-(\d{4})w(\d\d)", index)
    if found is None:
        return None
    monday = dt.datetime.fromisocalendar(int(found[1]), int(found[2]), 1).replace(tzinfo=dt.UTC)
    return int(monday.timestamp()) * 10**9 + _WEEK_NS
