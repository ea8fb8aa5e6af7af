"""A ticket of an issue tracker."""

from msgspec import Struct

from retrieval.model.telemetry import Section, SourceRef


class Ticket(Struct, frozen=True, kw_only=True):
    """`key` is as its tracker writes it (SHOP-17, #42); `links` are keys or addresses of what it refers to."""

    key: str
    title: str
    status: str = ""
    created_ns: int | None = None
    labels: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    service: str = ""
    sections: tuple[Section, ...] = ()
    source: SourceRef = SourceRef("")
