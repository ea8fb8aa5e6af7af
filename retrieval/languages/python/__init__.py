"""Python: tracebacks of CPython 3, test reports of pytest, fault dumps; source by tree-sitter."""

from retrieval.languages.python.frames import in_app
from retrieval.languages.python.traces import parse
from retrieval.model import StackTrace, Symbol


class Python:
    name = "python"
    extensions: tuple[str, ...] = (".py", ".pyi")

    def parse(self, text: str) -> list[StackTrace]:
        return parse(text)

    def in_app(self, file: str, function: str, module: str) -> bool:
        return in_app(file)

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        from retrieval.languages.python.symbols import symbols  # the grammar is loaded when the first source is read

        return symbols(path, source)

    def imports(self, path: str, source: bytes) -> list[str]:
        from retrieval.languages.python.symbols import imports

        return imports(path, source)
