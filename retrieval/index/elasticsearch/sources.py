"""A document to what Elasticsearch keeps of it, and back. Pure."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from retrieval.index.analyzer import analyze
from retrieval.index.elasticsearch.mapping import digest, index_name, vector_name, word
from retrieval.index.overlap import items
from retrieval.index.records import NEVER, clamped, encoded, key_item, opened, text_key
from retrieval.index.vectors import unpacked
from retrieval.model import Document


class Prepared(msgspec.Struct, frozen=True):
    """One document ready to be written: where to, under which `_id`, and what."""

    index: str
    id: str
    source: dict[str, Any]


def prepare(documents: Iterable[Document], prefix: str) -> list[Prepared]:
    """The last of each id, sorted by id, so that a batch's order leaves no trace."""
    latest = {document.id: document for document in documents}
    return [prepared(latest[key], prefix) for key in sorted(latest)]


def prepared(document: Document, prefix: str, vector: bytes = b"", model: str = "") -> Prepared:
    """With its packed unit vector and the model that made it, where there is one. The zero vector, which has no
    direction, is kept but not searched."""
    document, body = encoded(document)
    terms = analyze(f"{document.title}\n{document.text}")
    shared = items(document)
    key = text_key(document)
    source: dict[str, Any] = {
        "doc_id": word(document.id),
        **{name: word(getattr(document, name)) for name in ("kind", "service", "environment", "region", "language")},
        "snapshot": word(document.snapshot),
        "acl": sorted({word(tag) for tag in document.acl}),
        "severity": max(-(2**15), min(document.severity, 2**15 - 1)),
        "time": clamped(document.time_ns),
        "@timestamp": clamped(document.time_ns) // 10**6,
        "expires": NEVER if document.expires_ns is None else clamped(document.expires_ns),
        "items": sorted(digest(i) for i in {*shared, *(key_item(*pair) for pair in document.keys.items())}),
        "shared": len(shared),
        "length": len(terms),
        "terms": " ".join(terms),
        "title": document.title[:200],
        "body": base64.b64encode(body).decode(),
    }
    if key is not None:
        source["text_key"] = key.hex()
    if vector:
        values = unpacked([vector])[0]
        source |= {"model": model, "vector": base64.b64encode(vector).decode()}
        if values.any():
            source[vector_name(len(values))] = values.tolist()
    return Prepared(index_name(prefix, document.kind, document.expires_ns), digest(document.id), source)


def document_of(source: Mapping[str, Any]) -> Document:
    return opened(base64.b64decode(source["body"]))


def vector_of(source: Mapping[str, Any]) -> bytes:
    return base64.b64decode(source.get("vector") or "")
