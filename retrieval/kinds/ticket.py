"""Tickets by section, weighed as postmortems are (row B3)."""

from collections.abc import Iterator

from retrieval.kinds.base import Kind, Material, restoring
from retrieval.kinds.sections import by_section
from retrieval.model import Document, Ticket


def documents(material: Material) -> Iterator[Document]:
    for number, ticket in enumerate(material.sources.tickets):
        yield from by_section(
            material,
            "ticket",
            (number, ticket),
            ticket.sections,
            title=f"{ticket.key} {ticket.title}",
            time_ns=ticket.created_ns or 0,
            service=ticket.service,
            keys={"ticket": ticket.key},
            source=str(ticket.source) if ticket.source.line else f"{ticket.source}#{ticket.key}",
            attributes={"status": ticket.status, "labels": list(ticket.labels), "links": list(ticket.links)},
        )


KIND = Kind("ticket", documents, restoring("tickets", Ticket), timeless=True)
