"""What an index holds, what it is asked, what it answers."""

from typing import Any

from msgspec import Struct, field

LIVE = "live"  # the snapshot of what is of the moment


class Document(Struct, frozen=True, kw_only=True):
    """One retrievable piece of knowledge.

    `id` is deterministic (kind, source and content make it), so that ingest can be repeated. `text` is what is searched
    and quoted, already redacted. `acl` are the tags of which a reader needs at least one. `keys` are the join keys of
    row A1 (run_id, commit_sha, trace_id, span_id, deployment_id, endpoint, ...), each a str.
    """

    id: str
    kind: str
    text: str
    time_ns: int
    title: str = ""
    service: str = ""
    environment: str = ""
    region: str = ""
    language: str = ""
    snapshot: str = LIVE
    acl: tuple[str, ...] = ("public",)
    severity: int = 0
    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    error_signature: str = ""
    stack_signature: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    source: str = ""
    expires_ns: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)  # kept, never searched


class Query(Struct, frozen=True, kw_only=True):
    """One question to an index. Every filter is mandatory and hard; `acl` has no default on purpose.

    `kinds`, `services`, ... empty means "no restriction" only where the docstring of the port says so.
    """

    acl: tuple[str, ...]
    text: str = ""
    kinds: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    environment: str = ""
    language: str = ""
    snapshot: str = LIVE
    from_ns: int | None = None  # inclusive
    to_ns: int | None = None  # exclusive
    keys: dict[str, str] = field(default_factory=dict)  # exact join keys, all of them must match
    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    error_signature: str = ""
    stack_signature: str = ""
    vector: tuple[float, ...] = ()
    limit: int = 50


class Hit(Struct, frozen=True, kw_only=True):
    """A document with its score and the parts that make it up (leg name -> value before weighting)."""

    document: Document
    score: float
    parts: dict[str, float] = field(default_factory=dict)
