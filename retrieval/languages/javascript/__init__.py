"""JavaScript and TypeScript: stacks of V8 and what Node prints around them; source by tree-sitter."""

from retrieval.languages.javascript.frames import in_app
from retrieval.languages.javascript.traces import parse
from retrieval.model import StackTrace, Symbol


class JavaScript:
    name = "javascript"
    extensions: tuple[str, ...] = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")

    def parse(self, text: str) -> list[StackTrace]:
        return parse(text)

    def in_app(self, file: str, function: str, module: str) -> bool:
        return in_app(file)

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        from retrieval.languages.javascript.symbols import symbols  # a grammar is loaded when a source is read

        return symbols(path, source)

    def imports(self, path: str, source: bytes) -> list[str]:
        from retrieval.languages.javascript.imports import imports

        return imports(path, source)
