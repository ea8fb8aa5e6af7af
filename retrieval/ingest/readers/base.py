"""What a reader is to the rest of ingest.

A new format is a file beside this one with a `Reader`, and one line in the registry.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from retrieval.ingest.intake import Intake, SourceFile

Read = Callable[[SourceFile, Intake], Iterator[Struct]]


class Reader(Struct, frozen=True, kw_only=True):
    """One format. `part` is the field of `CaseSources` that its records go to, `patterns` are globs relative to the
    case folder. `read` yields records in the order of the file and reports what it can't use; it never raises for what
    a file holds."""

    kind: str
    part: str
    patterns: tuple[str, ...]
    read: Read
