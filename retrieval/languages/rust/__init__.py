"""Rust: panics of the standard library with and without a backtrace; source by tree-sitter."""

from retrieval.languages.rust.frames import in_app
from retrieval.languages.rust.traces import parse
from retrieval.model import StackTrace, Symbol


class Rust:
    name = "rust"
    extensions: tuple[str, ...] = (".rs",)

    def parse(self, text: str) -> list[StackTrace]:
        return parse(text)

    def in_app(self, file: str, function: str, module: str) -> bool:
        return in_app(file, function)

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        from retrieval.languages.rust.symbols import symbols  # the grammar is loaded when the first source is read

        return symbols(path, source)

    def imports(self, path: str, source: bytes) -> list[str]:
        from retrieval.languages.rust.symbols import imports

        return imports(path, source)
