"""What a language is to the rest of the house.

A new language is a folder beside this file with an object that fulfils `Language`, one line in the registry, and
captured traces with their expected readings under `tests/captured/stack-traces/`; `tests/contract/language.py` does
the rest.
"""

from typing import Protocol

from retrieval.model import StackTrace, Symbol

MAX_SOURCE_BYTES = (
    1_000_000  # a larger file is data or generated; parsing one takes seconds and a thousand times its size
)


class Language(Protocol):
    """Stack traces and source code of one language. Pure: no I/O, no clock; any text is allowed, none raises."""

    name: str
    extensions: tuple[str, ...]

    def parse(self, text: str) -> list[StackTrace]:
        """Every stack trace in a text, in order: a bare trace, a log with prefixes and other lines, a test report.

        Frames come outermost first. A chain is one trace, the last thrown on top, `cause` below it. A trace that was
        cut off before its exception has type "". Runs in time linear in the text.
        """
        ...

    def in_app(self, file: str, function: str, module: str) -> bool:
        """Whether a frame is neither the runtime's nor an installed library's, as far as its names tell."""
        ...

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        """Functions, methods and classes in source order; those of the good parts where the source has errors, [] where
        it is larger than `MAX_SOURCE_BYTES`. `symbol_id` is `path::Outer.inner`; overloads share one."""
        ...

    def imports(self, path: str, source: bytes) -> list[str]:
        """Modules that a file may import, dotted, sorted, relative ones resolved against `path`. Where an imported name
        may be a submodule or a member both readings are given; the reader keeps those that exist."""
        ...
