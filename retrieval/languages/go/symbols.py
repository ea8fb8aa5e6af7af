"""Functions, methods, types and imports of a Go file."""

from tree_sitter import Node

from retrieval.languages import definitions, syntax
from retrieval.languages.definitions import Defined
from retrieval.model import Symbol

_GRAMMAR = "tree_sitter_go"
_TYPES = ("struct_type", "interface_type")


def symbols(path: str, source: bytes) -> list[Symbol]:
    """See `Language.symbols`. A method is `Receiver.Method`; function literals belong to the function around them; a
    type counts as a class where it has fields or methods of its own or is defined by another."""
    return definitions.symbols(_READER, path, syntax.parse_source(_GRAMMAR, source))


def _define(node: Node) -> Defined | None:
    name = syntax.text(node.child_by_field_name("name"))
    if node.type == "function_declaration":
        return Defined("function", name)
    if node.type == "method_declaration":
        receiver = _receiver(node)
        return Defined("method", f"{receiver}.{name}" if receiver else name)
    if node.type == "type_spec":
        return Defined("class", name)
    return None


def _receiver(node: Node) -> str:
    """The type that a method belongs to, without its star and its type parameters."""
    receiver = node.child_by_field_name("receiver")
    for child in syntax.descend(receiver) if receiver is not None else ():
        if child.type == "type_identifier":
            return syntax.text(child)
    return ""


def _parameters(node: Node) -> tuple[str, ...]:
    listed = node.child_by_field_name("parameters")
    names: list[str] = []
    for child in listed.named_children if listed is not None else ():
        if child.type in ("parameter_declaration", "variadic_parameter_declaration"):
            names += [syntax.text(name) for name in child.children_by_field_name("name")]
    return tuple(names)


def _called(node: Node) -> str:
    if node.type != "call_expression":
        return ""
    function = node.child_by_field_name("function")
    if function is not None and function.type == "type_instantiation_expression":
        function = function.named_child(0)
    return definitions.dotted(function, ("identifier",), {"selector_expression": ("operand", "field")})


def _whole(node: Node) -> Node:
    """`type X struct {…}`, where the declaration holds this one type alone."""
    outer = node.parent
    alone = outer is not None and outer.type == "type_declaration" and outer.named_child_count == 1
    return outer if outer is not None and alone else node


def _body(node: Node) -> Node | None:
    if node.type != "type_spec":
        return node.child_by_field_name("body")
    kind = node.child_by_field_name("type")
    if kind is None or kind.type not in _TYPES:
        return None
    return next((c for c in kind.children if c.type in ("field_declaration_list", "{")), None)


_READER = definitions.Reader(
    language="go",
    define=_define,
    called=_called,
    parameters=_parameters,
    inner=frozenset(("function_declaration", "method_declaration")),
    comments=frozenset(("comment",)),
    whole=_whole,
    body=_body,
)


def imports(path: str, source: bytes) -> list[str]:
    """Import paths as they are written: they are Go's module names."""
    root = syntax.parse_source(_GRAMMAR, source)
    found = {
        syntax.text(node.child_by_field_name("path")).strip('"`')
        for node in (syntax.descend(root) if root is not None else ())
        if node.type == "import_spec"
    }
    return sorted(name for name in found if name)
