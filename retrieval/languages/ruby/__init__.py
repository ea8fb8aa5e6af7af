"""Ruby: what the interpreter, its logger and Rails print of an exception; source by tree-sitter."""

from retrieval.languages.ruby.frames import in_app
from retrieval.languages.ruby.traces import parse
from retrieval.model import StackTrace, Symbol


class Ruby:
    name = "ruby"
    extensions: tuple[str, ...] = (".rb", ".rake", ".ru")

    def parse(self, text: str) -> list[StackTrace]:
        return parse(text)

    def in_app(self, file: str, function: str, module: str) -> bool:
        return in_app(file)

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        from retrieval.languages.ruby.symbols import symbols  # the grammar is loaded when the first source is read

        return symbols(path, source)

    def imports(self, path: str, source: bytes) -> list[str]:
        from retrieval.languages.ruby.symbols import imports

        return imports(path, source)
