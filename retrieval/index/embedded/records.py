"""A document made ready for the embedded store's tables. Pure."""

from collections.abc import Iterable

import msgspec

from retrieval.index.analyzer import analyze
from retrieval.index.embedded import postings
from retrieval.index.overlap import items
from retrieval.index.records import NEVER, clamped, encoded, key_item, text_key
from retrieval.model import Document


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
    document, body = encoded(document)
    terms = analyze(f"{document.title}\n{document.text}")
    shared = items(document)
    exact = {*shared, *(key_item(name, value) for name, value in document.keys.items())}
    return Prepared(
        document=document,
        body=body,
        postings=postings.pack(terms, exact),
        acl=tuple(sorted(set(document.acl))),
        time=clamped(document.time_ns),
        expires=NEVER if document.expires_ns is None else clamped(document.expires_ns),
        length=len(terms),
        items=len(shared),
        text_key=text_key(document),
    )
