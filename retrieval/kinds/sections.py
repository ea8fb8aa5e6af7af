"""Texts by section: those that name a cause weigh more, the ceremonial ones less (row B3). Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from retrieval.kinds.base import Material, kept
from retrieval.model import Document, Section

_CAUSE = re.compile(
    r"cause|why|trigger|what (?:happened|went wrong|broke)|contributing|fault|defect|fix|resolution", re.I
)
_CEREMONY = re.compile(
    r"attend|participant|timeline|glossar|appendix|thanks|status|author|action item|follow[- ]?up", re.I
)
CAUSE_WEIGHT, CEREMONY_WEIGHT = 1.3, 0.7  # of a section's lexical and dense score


def weight(heading: str) -> float:
    """How much a section counts, by its heading."""
    if _CAUSE.search(heading):
        return CAUSE_WEIGHT
    return CEREMONY_WEIGHT if _CEREMONY.search(heading) else 1.0


def by_section(
    material: Material, kind: str, record: tuple[int, Struct], sections: Sequence[Section], **fields: Any
) -> Iterator[Document]:
    """A document a section, or one of the title where there is none; the first keeps the record. `fields` hold the
    title, and what all of them have."""
    title, source = fields.pop("title"), fields["source"]
    extra = fields.pop("attributes", {})
    for at, section in enumerate(sections):
        yield material.document(
            kind,
            (title, source, at, section),
            title=f"{title}: {section.heading}" if section.heading else title,
            text=section.text or section.heading,
            attributes={
                "weight": weight(section.heading),
                "heading": section.heading,
                **extra,
                **kept([record] if at == 0 else []),
            },
            **fields,
        )
    if not sections:
        yield material.document(
            kind, (title, source), title=title, text=title, attributes={**extra, **kept([record])}, **fields
        )
