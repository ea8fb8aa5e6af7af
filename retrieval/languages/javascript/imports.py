"""What a JavaScript or TypeScript file imports."""

import posixpath

from tree_sitter import Node

from retrieval.languages import syntax
from retrieval.languages.javascript.symbols import grammar

_STATEMENTS = ("import_statement", "export_statement")


def imports(path: str, source: bytes) -> list[str]:
    """`import`, `export … from`, `import()` and `require()` of constant names; relative ones as paths in the
    repository, without a guess at their extension."""
    root = syntax.parse_source(grammar(path), source)
    found: set[str] = set()
    for node in syntax.descend(root) if root is not None else ():
        if name := _imported(node):
            relative = name.startswith(("./", "../")) or name in (".", "..")
            found.add(posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if relative else name)
    return sorted(found)


def _imported(node: Node) -> str:
    if node.type in _STATEMENTS:
        return _string(node.child_by_field_name("source"))
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    if function is None or syntax.text(function) not in ("require", "import"):
        return ""
    arguments = node.child_by_field_name("arguments")
    return _string(arguments.named_child(0)) if arguments is not None and arguments.named_child_count else ""


def _string(node: Node | None) -> str:
    return syntax.text(node)[1:-1] if node is not None and node.type == "string" else ""
