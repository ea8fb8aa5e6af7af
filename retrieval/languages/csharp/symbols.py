"""Types, methods, constructors, properties and imports of a C# file."""

import re

from tree_sitter import Node

from retrieval.languages import definitions, syntax
from retrieval.languages.definitions import Defined
from retrieval.model import Symbol

_GRAMMAR = "tree_sitter_c_sharp"
_TYPES = (
    "class_declaration",
    "struct_declaration",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
    "record_struct_declaration",
)
_FUNCTIONS = (
    "method_declaration",
    "constructor_declaration",
    "property_declaration",
    "event_declaration",
    "local_function_statement",
)
_MEMBERS = {"member_access_expression": ("expression", "name")}
_NAMES = ("identifier", "this", "base", "this_expression", "base_expression", "generic_name", "predefined_type")
_GENERIC = re.compile(r"<[^<>]*>")
_LAST = re.compile(r"(\w+)(?:<.*>)?$", re.DOTALL)


def symbols(path: str, source: bytes) -> list[Symbol]:
    """See `Language.symbols`. Names hold the namespace, `Acme.Shop.Cart.Total`; a constructor has the name of its
    class, an indexer is `Item`, as in traces. Lines include attributes."""
    return definitions.symbols(_READER, path, syntax.parse_source(_GRAMMAR, source))


def _define(node: Node) -> Defined | None:
    if node.type in _TYPES:
        return Defined("class", _name(node))
    if node.type in _FUNCTIONS:
        return Defined("function", _name(node))
    return Defined("function", "Item") if node.type == "indexer_declaration" else None


def _name(node: Node) -> str:
    return syntax.text(node.child_by_field_name("name"))


def _scope(node: Node) -> str:
    return _name(node) if node.type == "namespace_declaration" else ""


def _prefix(root: Node) -> str:
    """A namespace for the whole file is a sibling of what it holds."""
    return next((_name(node) for node in root.named_children if node.type == "file_scoped_namespace_declaration"), "")


def _parameters(node: Node) -> tuple[str, ...]:
    listed = node.child_by_field_name("parameters")
    if listed is None:
        return ()
    names: list[str] = []
    for at, child in enumerate(listed.children):
        if child.type == "parameter":
            names.append(_name(child))
        elif listed.field_name_for_child(at) == "name":  # of a `params` array
            names.append(syntax.text(child))
    return tuple(name for name in names if name)


def _called(node: Node) -> str:
    if node.type == "object_creation_expression":
        return _GENERIC.sub("", syntax.text(node.child_by_field_name("type")))
    if node.type != "invocation_expression":
        return ""
    function = node.child_by_field_name("function")
    if function is not None and function.type == "conditional_access_expression":
        last = _LAST.search(syntax.text(function))
        return last[1] if last else ""
    return _GENERIC.sub("", definitions.dotted(function, _NAMES, _MEMBERS))


def _body(node: Node) -> Node | None:
    for part in ("body", "accessors", "value"):
        if body := node.child_by_field_name(part):
            return body
    return None


_READER = definitions.Reader(
    language="csharp",
    define=_define,
    called=_called,
    parameters=_parameters,
    inner=frozenset((*_TYPES, *_FUNCTIONS)),
    comments=frozenset(("comment",)),
    scope=_scope,
    prefix=_prefix,
    body=_body,
)


def imports(path: str, source: bytes) -> list[str]:
    """Namespaces and types of `using`; what an alias stands for."""
    root = syntax.parse_source(_GRAMMAR, source)
    found: set[str] = set()
    for node in syntax.descend(root, skip=_TYPES) if root is not None else ():
        if node.type == "using_directive":
            alias = node.child_by_field_name("name")
            named = [child for child in node.named_children if child != alias]
            found.add(_GENERIC.sub("", syntax.text(named[-1])) if named else "")
    return sorted(name for name in found if name)
