"""Postmortems by section; the sections that name a cause weigh more, the ceremonial ones less (row B3)."""

import re
from collections.abc import Iterator

from retrieval.kinds.base import Kind, Material, kept, restoring
from retrieval.model import Document, Postmortem

_CAUSE = re.compile(
    r"cause|why|trigger|what (?:happened|went wrong|broke)|contributing|fault|defect|fix|resolution", re.I
)
_CEREMONY = re.compile(
    r"attend|participant|timeline|glossar|appendix|thanks|status|author|action item|follow[- ]?up", re.I
)
CAUSE_WEIGHT, CEREMONY_WEIGHT = 1.3, 0.7  # of a section's lexical and dense score


def documents(material: Material) -> Iterator[Document]:
    for number, postmortem in enumerate(material.sources.postmortems):
        sections = postmortem.sections or ()
        for at, section in enumerate(sections):
            yield material.document(
                "postmortem",
                (postmortem.title, postmortem.source, at, section),
                title=f"{postmortem.title}: {section.heading}" if section.heading else postmortem.title,
                text=section.text or section.heading,
                time_ns=postmortem.date_ns or 0,
                service=postmortem.service,
                keys={"postmortem": postmortem.title},
                source=str(postmortem.source),
                attributes={
                    "weight": weight(section.heading),
                    "heading": section.heading,
                    **kept([(number, postmortem)] if at == 0 else []),
                },
            )
        if not sections:
            yield material.document(
                "postmortem",
                (postmortem.title, postmortem.source),
                title=postmortem.title,
                text=postmortem.title,
                time_ns=postmortem.date_ns or 0,
                service=postmortem.service,
                source=str(postmortem.source),
                attributes=kept([(number, postmortem)]),
            )


def weight(heading: str) -> float:
    """How much a section counts, by its heading."""
    if _CAUSE.search(heading):
        return CAUSE_WEIGHT
    return CEREMONY_WEIGHT if _CEREMONY.search(heading) else 1.0


KIND = Kind("postmortem", documents, restoring("postmortems", Postmortem), timeless=True)
