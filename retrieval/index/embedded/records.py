"""A document made ready to be written, and back. Pure."""

import hashlib
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec

from retrieval.errors import SecretSurvived
from retrieval.index.analyzer import analyze
from retrieval.index.embedded import postings
from retrieval.index.embedded.table import NEVER
from retrieval.index.overlap import items
from retrieval.model import Document
from retrieval.ports import Redactor

_EMBEDDED_CHARACTERS = 2_000  # of title and text; the model reads 256 word pieces, fewer than this many characters
_DEFLATED = 1_000  # bytes; deflating less costs more time than it saves space
_JOINS = frozenset(
    {
        *("trace_id", "span_id", "parent_span_id", "run_id", "deployment_id", "image_digest", "path_signature"),
        *("commit_sha", "git_sha", "previous_sha", "sha", "diff_id", "symbol_id", "test_id", "file", "path"),
    }
)
_LONGEST_ID = 200
_decoder = msgspec.msgpack.Decoder(Document)


class Prepared(msgspec.Struct, frozen=True):
    """`text_key` is the content hash of what is embedded, None where there is no text."""

    document: Document
    body: bytes
    postings: bytes
    acl: tuple[str, ...]
    time: int
    expires: int
    length: int
    items: int
    text_key: bytes | None


def prepare(documents: Iterable[Document]) -> list[Prepared]:
    """Documents ready to be written, the last of each id, sorted by id so that a batch's order leaves no trace."""
    latest = {document.id: document for document in documents}
    return [_prepared(latest[key]) for key in sorted(latest)]


def _prepared(document: Document) -> Prepared:
    document, body = _encoded(document)
    terms = analyze(f"{document.title}\n{document.text}")
    shared = items(document)
    exact = {*shared, *(key_item(name, value) for name, value in document.keys.items())}
    text = embedded_text(document)
    return Prepared(
        document=document,
        body=zlib.compress(body, 1) if len(body) > _DEFLATED else body,
        postings=postings.pack(terms, exact),
        acl=tuple(sorted(set(document.acl))),
        time=_clamped(document.time_ns),
        expires=NEVER if document.expires_ns is None else _clamped(document.expires_ns),
        length=len(terms),
        items=len(shared),
        text_key=hashlib.blake2b(text.encode(), digest_size=16).digest() if text else None,
    )


def _clamped(time_ns: int) -> int:
    return max(-NEVER, min(time_ns, NEVER))


def key_item(name: str, value: str) -> str:
    """A join key as an exact item."""
    return f"key\0{name}\0{value}"


def embedded_text(document: Document) -> str:
    """What stands for a document in vector space: its title and the beginning of its text."""
    return f"{document.title}\n{document.text}".strip()[:_EMBEDDED_CHARACTERS]


def opened(body: bytes) -> Document:
    """The document of a row. A MessagePack map never begins with the byte that a deflated one begins with."""
    return _decoder.decode(zlib.decompress(body) if body[:1] == b"\x78" else body)


def _encoded(document: Document) -> tuple[Document, bytes]:
    try:
        return document, msgspec.msgpack.encode(document)
    except (UnicodeEncodeError, OverflowError):
        clean = msgspec.convert(_clean(msgspec.to_builtins(document)), Document)
        return clean, msgspec.msgpack.encode(clean)


def _clean(value: Any) -> Any:
    """Lone surrogates become U+FFFD, integers beyond 64 bits text: foreign JSON may hold both, no file format does."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_clean(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return str(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


def refuse_secrets(documents: Iterable[Document], redactor: Redactor) -> None:
    """Raises: SecretSurvived, naming the document and the detectors or fields, never the secret.

    Text is clean when no detector matches; a field, whose name takes part in the decision, when redacting it once more
    would change nothing.
    """
    for document in documents:
        found = {name for text in (document.title, document.text) for name in redactor.survivors(text)}
        found.update(_fields(document.keys, redactor))
        found.update(_fields(document.attributes, redactor))
        if found:
            raise SecretSurvived(
                f"Document {document.id} still holds a secret ({', '.join(sorted(found))}); nothing was stored.",
                subject=document.source or document.id,
                remedy="Add the field's name or the pattern to the redaction rules and ingest again.",
            )


def _fields(value: Any, redactor: Redactor, key: str = "") -> Iterable[str]:
    """Names of the fields that are not clean. Ids that records are joined by are left alone: a rule that matched one
    would cut the join."""
    if isinstance(value, str):
        if not (key in _JOINS and len(value) <= _LONGEST_ID) and redactor.value(key, value) != value:
            yield key or "text"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _fields(inner, redactor, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _fields(inner, redactor, key)
