"""What every engine makes of a document before it keeps it: its record, the text that is embedded, the exact items it
is found by, and the refusal of one in which a secret survived. Pure."""

import hashlib
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec

from retrieval.errors import SecretSurvived
from retrieval.model import Document
from retrieval.ports import Redactor

NEVER = 2**63 - 1  # the expiry of what is kept

_EMBEDDED_CHARACTERS = 2_000  # of title and text; the model reads 256 word pieces, fewer than this many characters
_DEFLATED = 1_000  # bytes; deflating less costs more time than it saves space
_JOINS = frozenset(
    {
        *("trace_id", "span_id", "parent_span_id", "run_id", "deployment_id", "image_digest", "path_signature"),
        *("commit_sha", "git_sha", "previous_sha", "sha", "diff_id", "symbol_id", "test_id", "file", "path"),
    }
)
_LONGEST_ID = 200
# What our own records call a span, a thread, an element of a contract. In a customer's fields these names may tell of a
# person, and were judged there when the record was read; a span called "Charge Card" is nobody's name.
_OF_RECORDS = frozenset({"name", "member", "user", "code"})
_decoder = msgspec.msgpack.Decoder(Document)


def clamped(time_ns: int) -> int:
    return max(-NEVER, min(time_ns, NEVER))


def key_item(name: str, value: str) -> str:
    """A join key as an exact item."""
    return f"key\0{name}\0{value}"


def embedded_text(document: Document) -> str:
    """What stands for a document in vector space: its title and the beginning of its text."""
    return f"{document.title}\n{document.text}".strip()[:_EMBEDDED_CHARACTERS]


def text_key(document: Document) -> bytes | None:
    """The content hash of what is embedded, None where there is no text (row A3)."""
    text = embedded_text(document)
    return hashlib.blake2b(text.encode(), digest_size=16).digest() if text else None


def opened(body: bytes) -> Document:
    """The document of a record. A MessagePack map never begins with the byte that a deflated one begins with."""
    return _decoder.decode(zlib.decompress(body) if body[:1] == b"\x78" else body)


def encoded(document: Document) -> tuple[Document, bytes]:
    """The document as it can be kept (`_clean`), and its record."""
    document, body = _packed(document)
    return document, zlib.compress(body, 1) if len(body) > _DEFLATED else body


def _packed(document: Document) -> tuple[Document, bytes]:
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
        clean = redactor.text(value) if key in _OF_RECORDS else redactor.value(key, value)
        if not (key in _JOINS and len(value) <= _LONGEST_ID) and clean != value:
            yield key or "text"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _fields(inner, redactor, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _fields(inner, redactor, key)
