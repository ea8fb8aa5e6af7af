"""Java and what else throws on its virtual machine: stack traces of the JVM and of logback; source by tree-sitter."""

from retrieval.languages.java.frames import in_app
from retrieval.languages.java.traces import parse
from retrieval.model import StackTrace, Symbol


class Java:
    name = "java"
    extensions: tuple[str, ...] = (".java",)

    def parse(self, text: str) -> list[StackTrace]:
        return parse(text)

    def in_app(self, file: str, function: str, module: str) -> bool:
        return in_app(function, module)

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        from retrieval.languages.java.symbols import symbols  # the grammar is loaded when the first source is read

        return symbols(path, source)

    def imports(self, path: str, source: bytes) -> list[str]:
        from retrieval.languages.java.symbols import imports

        return imports(path, source)
