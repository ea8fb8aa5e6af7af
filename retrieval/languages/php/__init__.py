"""PHP: what the engine, `error_log` and Monolog print of an exception; source by tree-sitter."""

from retrieval.languages.php.frames import in_app
from retrieval.languages.php.traces import parse
from retrieval.model import StackTrace, Symbol


class Php:
    name = "php"
    extensions: tuple[str, ...] = (".php", ".phtml")

    def parse(self, text: str) -> list[StackTrace]:
        return parse(text)

    def in_app(self, file: str, function: str, module: str) -> bool:
        return in_app(file)

    def symbols(self, path: str, source: bytes) -> list[Symbol]:
        from retrieval.languages.php.symbols import symbols  # the grammar is loaded when the first source is read

        return symbols(path, source)

    def imports(self, path: str, source: bytes) -> list[str]:
        from retrieval.languages.php.symbols import imports

        return imports(path, source)
