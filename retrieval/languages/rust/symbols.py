"""Functions, methods, types and imports of a Rust file."""

from tree_sitter import Node

from retrieval.languages import definitions, syntax
from retrieval.languages.definitions import Defined
from retrieval.model import Symbol

_GRAMMAR = "tree_sitter_rust"
_FUNCTIONS = ("function_item", "function_signature_item")
_TYPES = ("struct_item", "enum_item", "union_item", "trait_item")
_NAMES = ("identifier", "self", "type_identifier", "crate", "super")


def symbols(path: str, source: bytes) -> list[Symbol]:
    """See `Language.symbols`. What an `impl` holds belongs to its type, whichever trait it is for; modules inside a
    file are part of the name. Lines include attributes."""
    return definitions.symbols(_READER, path, syntax.parse_source(_GRAMMAR, source))


def _define(node: Node) -> Defined | None:
    name = syntax.text(node.child_by_field_name("name"))
    if node.type in _FUNCTIONS:
        return Defined("function", name)
    if node.type in _TYPES:
        return Defined("class", name)
    if node.type == "macro_definition":
        return Defined("function", f"{name}!")
    return None


def _scope(node: Node) -> str:
    if node.type == "mod_item":
        return syntax.text(node.child_by_field_name("name"))
    return _last(node.child_by_field_name("type")) if node.type == "impl_item" else ""


def _last(node: Node | None) -> str:
    """The last name of a type, without its parameters, references and path."""
    while node is not None and node.type not in _NAMES:
        inner = node.child_by_field_name("name") or node.child_by_field_name("type")
        node = inner if inner is not None else node.named_child(0)
    return syntax.text(node)


def _parameters(node: Node) -> tuple[str, ...]:
    listed = node.child_by_field_name("parameters")
    names: list[str] = []
    for child in listed.named_children if listed is not None else ():
        if child.type == "self_parameter":
            names.append("self")
        elif child.type == "parameter":
            pattern = child.child_by_field_name("pattern")
            if pattern is not None and pattern.type in ("identifier", "mut_pattern"):
                names.append(syntax.text(pattern).removeprefix("mut "))
    return tuple(names)


def _called(node: Node) -> str:
    if node.type == "macro_invocation":
        return f"{syntax.text(node.child_by_field_name('macro')).rpartition('::')[2]}!"
    if node.type != "call_expression":
        return ""
    function = node.child_by_field_name("function")
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    members = {"field_expression": ("value", "field"), "scoped_identifier": ("path", "name")}
    return definitions.dotted(function, _NAMES, members)


def _first(node: Node) -> Node:
    """The first of the attributes above an item, if there are any."""
    before = node.prev_named_sibling
    while before is not None and before.type == "attribute_item":
        node, before = before, before.prev_named_sibling
    return node


_READER = definitions.Reader(
    language="rust",
    define=_define,
    called=_called,
    parameters=_parameters,
    inner=frozenset((*_FUNCTIONS, "impl_item")),
    comments=frozenset(("line_comment", "block_comment")),
    scope=_scope,
    holds_methods=frozenset(("impl_item",)),
    first=_first,
)


def imports(path: str, source: bytes) -> list[str]:
    """Paths of `use` and `mod`, `::` as dots; `a::{b, c as d}` gives `a.b` and `a.c`, `a::*` gives `a`."""
    root = syntax.parse_source(_GRAMMAR, source)
    found: set[str] = set()
    for node in syntax.descend(root) if root is not None else ():
        if node.type == "use_declaration":
            found.update(_used(node.child_by_field_name("argument")))
        elif node.type in ("mod_item", "extern_crate_declaration") and node.child_by_field_name("body") is None:
            found.add(syntax.text(node.child_by_field_name("name")))
    return sorted(name for name in found if name)


def _used(node: Node | None) -> list[str]:
    found: list[str] = []
    stack = [(node, "")] if node is not None else []
    while stack:
        part, outer = stack.pop()
        if part.type == "scoped_use_list":
            path = definitions.join(outer, _path(part.child_by_field_name("path")))
            stack += [(child, path) for child in _children(part.child_by_field_name("list"))]
        elif part.type == "use_list":
            stack += [(child, outer) for child in _children(part)]
        elif part.type == "use_as_clause":
            found.append(definitions.join(outer, _path(part.child_by_field_name("path"))))
        elif part.type == "use_wildcard":
            found.append(definitions.join(outer, _path(part.named_child(0))))
        elif part.type == "self":
            found.append(outer)
        else:
            found.append(definitions.join(outer, _path(part)))
    return found


def _children(node: Node | None) -> list[Node]:
    return node.named_children if node is not None else []


def _path(node: Node | None) -> str:
    return syntax.text(node).replace("::", ".").strip(".")
