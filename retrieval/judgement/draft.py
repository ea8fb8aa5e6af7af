"""A hypothesis before its evidence has numbers: rules cite records, numbering comes once all rules have spoken."""

import hashlib
from typing import Any

import msgspec
from msgspec import Struct, field

from retrieval.model import Evidence, Hit


class Cite(Struct, frozen=True, kw_only=True):
    """A record that carries a claim. `content` is canonical JSON of the whole record, `quote` a verbatim part of it or
    of its plain reading; two cites of the same content are one piece of evidence."""

    kind: str
    source: str
    content: str
    quote: str
    why: str
    time_ns: int | None = None
    service: str = ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content.encode("utf-8", "surrogatepass")).hexdigest()


class Draft(Struct, frozen=True, kw_only=True):
    """What a rule says. `links` are the independent kinds of support that it found: `symptom` (something broke here)
    and `change` (something that was changed is tied to it by more than the clock) carry it to `supported`."""

    rule: str
    failure_mode: str
    summary: str
    score: float
    claims: tuple[tuple[str, tuple[Cite, ...]], ...]
    links: tuple[str, ...] = ()
    suspected_service: str | None = None
    suspected_file: str | None = None
    suspected_function: str | None = None
    suspected_commit: str | None = None
    would_disprove: str = ""
    next_required_data: tuple[str, ...] = ()


class Numbered(Struct, frozen=True):
    """Evidence in citation order, and for each draft the ids per claim."""

    evidence: tuple[Evidence, ...]
    claims: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = field(default_factory=tuple)


def canonical(record: Any) -> str:
    """Canonical JSON text of a record: sorted keys, no white space, every type as msgspec writes it."""
    return msgspec.json.encode(record, order="sorted").decode("utf-8", "replace")


def number(drafts: list[Draft], hits: list[Hit], extra: tuple[Cite, ...] = ()) -> Numbered:
    """Give E1, E2, ... in order of first use, best hypothesis first; then `extra`, what was found but carries no claim.

    A record that retrieval also found keeps that document's id, score and score parts.
    """
    by_source = {h.document.source: h for h in reversed(hits) if h.document.source}
    seen: dict[str, Evidence] = {}
    claims = tuple(
        tuple((text, tuple(_add(seen, cite, by_source) for cite in cites)) for text, cites in draft.claims)
        for draft in drafts
    )
    for cite in extra:
        _add(seen, cite, by_source)
    return Numbered(tuple(seen.values()), claims)


def _add(seen: dict[str, Evidence], cite: Cite, by_source: dict[str, Hit]) -> str:
    digest = cite.sha256
    if digest not in seen:
        hit = by_source.get(cite.source)
        seen[digest] = Evidence(
            id=f"E{len(seen) + 1}",
            artifact_id=hit.document.id if hit else f"{cite.kind}:{digest[:16]}",
            kind=cite.kind,
            source=cite.source,
            sha256=digest,
            quote=cite.quote,
            why=cite.why,
            score=round(hit.score, 6) if hit else 1.0,
            score_parts={k: round(v, 6) for k, v in sorted(hit.parts.items())} if hit else {"direct": 1.0},
            content=cite.content,
            time_ns=cite.time_ns,
            service=cite.service,
        )
    return seen[digest].id
