"""What a document kind is: records to documents, and the way back.

A new kind is a file beside this one with `KIND`, and one line in the registry; the kinds' contract test does the rest.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from retrieval.kinds.access import covers
from retrieval.model import CaseSources, Commit, ContractChange, Document, StackTrace, Symbol
from retrieval.model.signatures import error_signature as signature_of_error
from retrieval.model.signatures import frame_path, frame_qualname, stable_path
from retrieval.model.signatures import stack_signature as signature_of_stack

_S = TypeVar("_S", bound=Struct)

MINUTE_NS = 60 * 10**9
SLICE_NS = 5 * MINUTE_NS  # how much time one summary of healthy telemetry covers
TEXT_CAP = 8_000  # characters of one document's text; the record itself is kept whole


class Material(Struct, frozen=True, kw_only=True):
    """What documents are made from.

    `commits` come with their touched symbols by (repository, commit); `symbols` and `files` are by repository, at the
    deployed commit. `acl` gives a service's tags, "" those of everything else. `retention_ns` is by kind; a kind
    without one is kept; it counts from `received_ns` where that is later than the record's own time. `failing` are
    traces of which a failure is known that is not among the sources.
    """

    sources: CaseSources
    commits: tuple[Commit, ...] = ()
    touched: dict[tuple[str, str], tuple[Symbol, ...]] = field(default_factory=dict)
    symbols: dict[str, tuple[Symbol, ...]] = field(default_factory=dict)
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    contract_changes: tuple[ContractChange, ...] = ()  # by these commits
    acl: dict[str, tuple[str, ...]] = field(default_factory=dict)
    snapshot: str = "live"
    retention_ns: dict[str, int] = field(default_factory=dict)
    received_ns: int = 0
    failing: frozenset[str] = frozenset()

    def files_of(self, service: str) -> tuple[str, ...]:
        info = self.sources.services.get(service)
        return self.files.get(info.repo if info and info.repo else service, ())

    def language_of(self, service: str) -> str:
        info = self.sources.services.get(service)
        return info.language if info else ""

    def service_of(self, repo: str, path: str = "") -> str:
        """The service that a repository's path belongs to: the longest declared prefix, else the repository's name."""
        owners = [
            (len(info.path_prefix), name)
            for name, info in sorted(self.sources.services.items())
            if info.repo == repo and path.startswith(info.path_prefix)
        ]
        return max(owners, key=lambda o: o[0])[1] if owners else repo

    def tags_of(self, service: str) -> tuple[str, ...]:
        return self.acl.get(service) or self.acl.get("", ("public",))

    def may_tell(self, service: str, other: str) -> bool:
        """Whether a document of a service may tell of another one: whoever sees it may see that one too."""
        return covers(self.tags_of(service), self.tags_of(other))

    def document(self, kind: str, identity: Sequence[object], **fields: Any) -> Document:
        """A document with a deterministic id and what this material says of access, snapshot and retention."""
        service = fields.get("service", "")
        time_ns = fields.setdefault("time_ns", 0)
        kept = self.retention_ns.get(kind)
        fields["text"] = fields["text"][:TEXT_CAP]
        return Document(
            id=f"{kind}:{digest(self.snapshot, *identity)}",
            kind=kind,
            acl=self.tags_of(service),
            snapshot=self.snapshot,
            expires_ns=max(time_ns, self.received_ns) + kept if kept is not None and time_ns else None,
            language=fields.pop("language", "") or self.language_of(service),
            keys={name: value for name, value in sorted(fields.pop("keys", {}).items()) if value},
            **fields,
        )


Restored = dict[str, list[tuple[int, Any]]]  # field of CaseSources -> (ordinal, record)


@dataclass(frozen=True)
class Kind:
    """`documents` writes, `restore` reads back what it wrote; `timeless` records count whenever they happened."""

    name: str
    documents: Callable[[Material], Iterator[Document]]
    restore: Callable[[Iterable[Document]], Restored] = lambda documents: {}
    timeless: bool = False


def digest(*parts: object) -> str:
    """32 hexadecimal digits of any plain values or records, whatever order their dicts are in."""
    text = msgspec.json.encode(parts, order="deterministic", enc_hook=repr)
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def kept(records: Iterable[tuple[int, Struct]]) -> dict[str, Any]:
    """Records as a document's attribute; the number is their place among all that was read with them."""
    return {"record": [[number, msgspec.to_builtins(record)] for number, record in records]}


def restored(documents: Iterable[Document], record: type[_S]) -> Iterator[tuple[int, _S]]:
    """What `kept` put away."""
    for document in documents:
        for number, plain in document.attributes.get("record") or ():
            yield int(number), msgspec.convert(plain, record)


def restoring(name: str, record: type[Struct]) -> Callable[[Iterable[Document]], Restored]:
    """The way back for kinds that keep one type of record for one field of `CaseSources`."""
    return lambda documents: {name: list(restored(documents, record))}


_JOINS = {
    "http.route": "endpoint",
    "vcs.ref.head.revision": "commit_sha",
    "container.image.id": "image_digest",
    "deployment.id": "deployment_id",
    "session.id": "session_id",
    "run_id": "run_id",
    "cicd.pipeline.run.id": "run_id",
}


def join_keys(*attributes: Mapping[str, Any], **known: str) -> dict[str, str]:
    """The join keys of row A1 that a record's attributes and its own fields give."""
    found = dict(known)
    for held in attributes:
        for name, key in _JOINS.items():
            if held.get(name) and not found.get(key):
                found[key] = str(held[name])[:200]
    return found


def environment_of(resource: Mapping[str, Any]) -> str:
    """The deployment environment under its current or older attribute name."""
    return str(resource.get("deployment.environment.name") or resource.get("deployment.environment") or "")


def region_of(resource: Mapping[str, Any]) -> str:
    return str(resource.get("cloud.region") or resource.get("region") or "")


def error_fields(trace: StackTrace | None, type_name: str, message: str, files: Sequence[str]) -> dict[str, Any]:
    """Signatures, paths and symbols of an error; paths are the repository's where it is known, else shortened."""
    found: dict[str, Any] = {}
    if type_name:
        found["error_signature"] = signature_of_error(trace.language if trace else "", type_name, message)
    if trace is None:
        return found
    found["stack_signature"] = signature_of_stack(trace)
    found["language"] = trace.language
    frames = [f for f in trace.frames if f.in_app] or list(trace.frames)
    places = [(frame_path(f, files) or stable_path(f.file), frame_qualname(f)) for f in frames]
    found["paths"] = tuple(dict.fromkeys(path for path, _ in reversed(places)))
    found["symbols"] = tuple(dict.fromkeys(f"{path}::{name}" for path, name in reversed(places)))
    return found


def chunks(records: Sequence[_S], size: int) -> Iterator[Sequence[_S]]:
    for at in range(0, len(records), size):
        yield records[at : at + size]
