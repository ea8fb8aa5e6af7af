"""From an index back to what a triage works on."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from retrieval.kinds.base import SLICE_NS
from retrieval.kinds.registry import KINDS, KNOWLEDGE
from retrieval.model import LIVE, CaseSources, Document, LogRecord, Query, Series, SourceRef, Span
from retrieval.ports import Index

_PAGE = 2_000
_LATER = frozenset({"metric", "dump", "profile"})
_MOMENTS = ("start_ns", "started_ns", "at_ns")
_PRESENT = {
    "spans": "traces",
    "logs": "logs",
    "series": "metrics",
    "deploys": "deploys",
    "flags": "flags",
    "config": "config",
    "tests": "junit",
    "postmortems": "postmortems",
    "tickets": "tickets",
    "contract_files": "contracts",
    "dumps": "dumps",
    "profiles": "profiles",
    "coverage": "coverage",
    "environments": "environment",
}


async def load_sources(
    index: Index,
    *,
    acl: Sequence[str],
    from_ns: int,
    to_ns: int,
    services: Sequence[str] = (),
    knowledge: str = LIVE,
) -> CaseSources:
    """The records of [from_ns, to_ns) that a reader may see, in the order in which they were read.

    Error logs and what else was said in failing requests, spans, series (cut to the window), test results and
    postmortems come back as they were put in; other logs as their templates' examples with a count. Changes, tests and
    postmortems reach back to the beginning. `services` narrows all but records that name none. Repositories and service
    declarations are configuration and are not here. `knowledge` is the snapshot that is read of the kinds of knowledge.
    """
    held: dict[str, list[Document]] = {}
    for kind in KINDS.values():
        query = Query(
            acl=tuple(acl),
            kinds=(kind.name,),
            services=(*services, "") if services else (),
            snapshot=knowledge if kind.name in KNOWLEDGE else LIVE,
            from_ns=None if kind.timeless else from_ns - SLICE_NS,
            # A series is stored under the time of its last point, and a dump is taken when people look: both may lie
            # behind the window.
            to_ns=None if kind.name in _LATER else to_ns,
        )
        held[kind.name] = [document async for document in _all(index, query)]
    return await asyncio.to_thread(_restored, held, from_ns, to_ns)


def _restored(held: Mapping[str, Sequence[Document]], from_ns: int, to_ns: int) -> CaseSources:
    found: dict[str, list[tuple[int, object]]] = {}
    for name, documents in held.items():
        for part, records in KINDS[name].restore(documents).items():
            found.setdefault(part, []).extend(records)
    ordered = {name: tuple(r for _, r in sorted(records, key=_order)) for name, records in found.items()}
    ordered["spans"] = tuple(
        s for s in _once(ordered.get("spans", ())) if isinstance(s, Span) and from_ns <= s.start_ns < to_ns
    )
    ordered["logs"] = tuple(
        r for r in ordered.get("logs", ()) if isinstance(r, LogRecord) and from_ns <= r.time_ns < to_ns
    )
    ordered["series"] = tuple(_cut(s, from_ns, to_ns) for s in ordered.get("series", ()) if isinstance(s, Series))
    present = tuple(_PRESENT[name] for name in _PRESENT if ordered.get(name))
    return CaseSources(**ordered, present=present)  # type: ignore[arg-type]


def _once(records: Iterable[object]) -> Iterator[object]:
    """A span that came twice, in batches of different cut, is in two documents; the first is taken."""
    seen: set[tuple[str, str]] = set()
    for record in records:
        key = (record.trace_id, record.span_id) if isinstance(record, Span) else ("", "")
        if key not in seen:
            yield record
            seen.add(key)


def _order(item: tuple[int, object]) -> tuple[int, int, str, int]:
    """In time order and, within one moment, in the order of reading, as the readers give them."""
    number, record = item
    moment = next((getattr(record, name) for name in _MOMENTS if hasattr(record, name)), 0)
    source = getattr(record, "source", SourceRef(""))
    return (moment, number, source.file, source.line)


def _cut(series: Series, from_ns: int, to_ns: int) -> Series:
    return replace(series, points=tuple(p for p in series.points if from_ns <= p[0] < to_ns))


async def _all(index: Index, query: Query) -> AsyncIterator[Document]:
    """Everything that passes the filters, newest first, page by page; a moment with more documents than a page is read
    with a larger page."""
    seen: set[str] = set()
    until, limit = query.to_ns, _PAGE
    while True:
        hits = await index.lexical(replace(query, to_ns=until, limit=limit))
        fresh = [hit.document for hit in hits if hit.document.id not in seen]
        for document in fresh:
            seen.add(document.id)
            yield document
        if len(hits) < limit:
            return
        last = hits[-1].document.time_ns + 1
        limit = limit * 2 if last == until else _PAGE
        until = last
