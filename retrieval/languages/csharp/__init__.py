"""C# and what else throws on .NET: stacks of `Exception.ToString`; source by tree-sitter."""

from retrieval.languages.csharp.frames import in_app
from retrieval.languages.csharp.traces import parse
from retrieval.model import StackTrace, Symbol


class CSharp:
    name = "csharp"
    extensions: tuple[str, ...] = (".cs",)

    def parse(self, text: str) -> list[StackTrace]:
        return parse(text)

    def in_app(self, file: str, function: str, module: str) -> bool:
        return in_app(function)

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        from retrieval.languages.csharp.symbols import symbols  # the grammar is loaded when the first source is read

        return symbols(path, source)

    def imports(self, path: str, source: bytes) -> list[str]:
        from retrieval.languages.csharp.symbols import imports

        return imports(path, source)
