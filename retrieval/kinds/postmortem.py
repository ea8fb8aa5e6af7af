"""Postmortems by section (row B3)."""

from collections.abc import Iterator

from retrieval.kinds.base import Kind, Material, restoring
from retrieval.kinds.sections import by_section
from retrieval.model import Document, Postmortem


def documents(material: Material) -> Iterator[Document]:
    for number, postmortem in enumerate(material.sources.postmortems):
        yield from by_section(
            material,
            "postmortem",
            (number, postmortem),
            postmortem.sections,
            title=postmortem.title,
            time_ns=postmortem.date_ns or 0,
            service=postmortem.service,
            keys={"postmortem": postmortem.title},
            source=str(postmortem.source),
        )


KIND = Kind("postmortem", documents, restoring("postmortems", Postmortem), timeless=True)
