"""Go: panics of the runtime, stacks of `debug.Stack`, zap, pkg/errors and gin; source by tree-sitter."""

from retrieval.languages.go.frames import in_app
from retrieval.languages.go.traces import parse
from retrieval.model import StackTrace, Symbol


class Go:
    name = "go"
    extensions: tuple[str, ...] = (".go",)

    def parse(self, text: str) -> list[StackTrace]:
        return parse(text)

    def in_app(self, file: str, function: str, module: str) -> bool:
        return in_app(file)

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        from retrieval.languages.go.symbols import symbols  # the grammar is loaded when the first source is read

        return symbols(path, source)

    def imports(self, path: str, source: bytes) -> list[str]:
        from retrieval.languages.go.symbols import imports

        return imports(path, source)
