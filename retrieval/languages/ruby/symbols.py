"""Modules, classes, methods and imports of a Ruby file."""

import posixpath

from tree_sitter import Node

from retrieval.languages import definitions, syntax
from retrieval.languages.definitions import Defined
from retrieval.model import Symbol

_GRAMMAR = "tree_sitter_ruby"
_METHODS = ("method", "singleton_method")
_NAMES = ("identifier", "constant", "self", "super", "instance_variable", "class_variable", "scope_resolution")
_PARAMETERS = (
    "identifier",
    "optional_parameter",
    "splat_parameter",
    "hash_splat_parameter",
    "keyword_parameter",
    "block_parameter",
)


def symbols(path: str, source: bytes) -> list[Symbol]:
    """See `Language.symbols`. A module counts as a class; methods of the class itself have no mark of their own."""
    return definitions.symbols(_READER, path, syntax.parse_source(_GRAMMAR, source))


def _define(node: Node) -> Defined | None:
    name = syntax.text(node.child_by_field_name("name"))
    if node.type in ("class", "module"):
        return Defined("class", name.replace("::", "."))
    if node.type in _METHODS:
        return Defined("function", name)
    if node.type == "call" and syntax.text(node.child_by_field_name("method")) == "define_method":
        return Defined("function", _first_argument(node).lstrip(":"))
    return None


def _first_argument(node: Node) -> str:
    arguments = node.child_by_field_name("arguments")
    first = arguments.named_child(0) if arguments is not None else None
    return syntax.text(first) if first is not None and first.type in ("simple_symbol", "string") else ""


def _parameters(node: Node) -> tuple[str, ...]:
    listed = node.child_by_field_name("parameters")
    names: list[str] = []
    for child in listed.named_children if listed is not None else ():
        if child.type in _PARAMETERS:
            names.append(syntax.text(child.child_by_field_name("name") or child))
    return tuple(name for name in names if name.isidentifier())


def _called(node: Node) -> str:
    if node.type != "call":
        return ""
    name = definitions.dotted(node, _NAMES, {"call": ("receiver", "method")}).replace("::", ".")
    return name.removesuffix(".new") if name.endswith(".new") and name[:1].isupper() else name


def _body(node: Node) -> Node | None:
    return node.child_by_field_name("body") or node.child_by_field_name("block")


_READER = definitions.Reader(
    language="ruby",
    define=_define,
    called=_called,
    parameters=_parameters,
    inner=frozenset((*_METHODS, "class", "module")),
    comments=frozenset(("comment",)),
    body=_body,
)


def imports(path: str, source: bytes) -> list[str]:
    """What `require` names, and `require_relative` and `load` as paths in the repository."""
    root = syntax.parse_source(_GRAMMAR, source)
    found: set[str] = set()
    for node in syntax.descend(root) if root is not None else ():
        method = syntax.text(node.child_by_field_name("method")) if node.type == "call" else ""
        if method in ("require", "require_relative", "load"):
            name = _first_argument(node).strip("'\"")
            if method == "require_relative" and name:
                name = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            found.add(name)
    return sorted(name for name in found if name)
