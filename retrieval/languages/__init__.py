"""Languages: stack traces out of text, symbols out of source.

`LANGUAGES` is the registry; a language is a folder and a line here.
"""

from retrieval.languages.base import MAX_SOURCE_BYTES, Language
from retrieval.languages.csharp import CSharp
from retrieval.languages.go import Go
from retrieval.languages.java import Java
from retrieval.languages.javascript import JavaScript
from retrieval.languages.php import Php
from retrieval.languages.python import Python
from retrieval.languages.ruby import Ruby
from retrieval.languages.rust import Rust
from retrieval.model import StackTrace

_ALL: tuple[Language, ...] = (Python(), Java(), Go(), JavaScript(), Rust(), CSharp(), Ruby(), Php())
LANGUAGES: dict[str, Language] = {language.name: language for language in _ALL}

MAX_TEXT = 4_000_000  # characters of one text that are searched for traces

__all__ = ["LANGUAGES", "MAX_SOURCE_BYTES", "Language", "language_of", "parse_stack_traces"]


def parse_stack_traces(text: str) -> list[StackTrace]:
    """Every stack trace in a text, whatever the language; by language in the order of the registry, then as printed.

    Of a text longer than `MAX_TEXT` the beginning is read. Never raises.
    """
    return [trace for language in LANGUAGES.values() for trace in language.parse(text[:MAX_TEXT])]


def language_of(path: str) -> Language | None:
    """The language of a source file, by its extension."""
    return next((language for language in LANGUAGES.values() if path.endswith(language.extensions)), None)
