"""Functions, methods, classes and imports of a PHP file."""

from tree_sitter import Node

from retrieval.languages import definitions, syntax
from retrieval.languages.definitions import Defined
from retrieval.model import Symbol

_GRAMMAR = "tree_sitter_php:language_php"
_TYPES = ("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration")
_FUNCTIONS = ("function_definition", "method_declaration")
_NAMES = ("name", "qualified_name", "variable_name", "relative_scope")
_CALLS = {
    "member_call_expression": ("object", "name"),
    "nullsafe_member_call_expression": ("object", "name"),
    "scoped_call_expression": ("scope", "name"),
    "member_access_expression": ("object", "name"),
    "nullsafe_member_access_expression": ("object", "name"),
}
_CALLED = ("member_call_expression", "nullsafe_member_call_expression", "scoped_call_expression")
_PARAMETERS = ("simple_parameter", "variadic_parameter", "property_promotion_parameter")


def symbols(path: str, source: bytes) -> list[Symbol]:
    """See `Language.symbols`. The namespace is no part of a name: the path tells it. Interfaces, traits and enums count
    as classes. Lines include attributes."""
    return definitions.symbols(_READER, path, syntax.parse_source(_GRAMMAR, source))


def _define(node: Node) -> Defined | None:
    name = syntax.text(node.child_by_field_name("name"))
    if node.type in _TYPES:
        return Defined("class", name)
    return Defined("function", name) if node.type in _FUNCTIONS else None


def _parameters(node: Node) -> tuple[str, ...]:
    listed = node.child_by_field_name("parameters")
    names = [
        syntax.text(child.child_by_field_name("name")).lstrip("&$")
        for child in (listed.named_children if listed is not None else ())
        if child.type in _PARAMETERS
    ]
    return tuple(name for name in names if name)


def _called(node: Node) -> str:
    if node.type == "function_call_expression":
        function = node.child_by_field_name("function")
        return _bare(syntax.text(function)) if function is not None and function.type in _NAMES else ""
    if node.type == "object_creation_expression":
        named = next((child for child in node.named_children if child.type in ("name", "qualified_name")), None)
        return _bare(syntax.text(named))
    return definitions.dotted(node, _NAMES, _CALLS).replace("$", "") if node.type in _CALLED else ""


def _bare(name: str) -> str:
    return name.rpartition("\\")[2].lstrip("$")


_READER = definitions.Reader(
    language="php",
    define=_define,
    called=_called,
    parameters=_parameters,
    inner=frozenset((*_TYPES, *_FUNCTIONS)),
    comments=frozenset(("comment",)),
)


def imports(path: str, source: bytes) -> list[str]:
    """Classes, functions and constants of `use`, with dots; of a group each."""
    root = syntax.parse_source(_GRAMMAR, source)
    found: set[str] = set()
    for node in syntax.descend(root, skip=_TYPES) if root is not None else ():
        if node.type == "namespace_use_declaration":
            outer = next((syntax.text(c) for c in node.named_children if c.type == "namespace_name"), "")
            for clause in syntax.descend(node):
                if clause.type == "namespace_use_clause":
                    named = next((c for c in clause.named_children if c.type in ("name", "qualified_name")), None)
                    found.add(definitions.join(outer, syntax.text(named)).replace("\\", ".").strip("."))
    return sorted(name for name in found if name)
