"""Functions, methods and classes of a JavaScript or TypeScript file."""

from tree_sitter import Node

from retrieval.languages import definitions, syntax
from retrieval.languages.definitions import Defined
from retrieval.model import Symbol

_GRAMMARS = (
    (".tsx", "tree_sitter_typescript:language_tsx"),
    ((".ts", ".mts", ".cts"), "tree_sitter_typescript:language_typescript"),
)
_CLASSES = ("class_declaration", "abstract_class_declaration", "class", "interface_declaration", "enum_declaration")
_FUNCTIONS = ("function_declaration", "generator_function_declaration")
_VALUES = ("arrow_function", "function_expression", "generator_function", "class")
_MEMBERS = ("method_definition", "abstract_method_signature", "method_signature")
_NAMES = ("identifier", "this", "super")
_MEMBER = {"member_expression": ("object", "property")}


def grammar(path: str) -> str:
    return next((name for endings, name in _GRAMMARS if path.endswith(endings)), "tree_sitter_javascript")


def symbols(path: str, source: bytes) -> list[Symbol]:
    """See `Language.symbols`. A function that is the value of a variable, a field, a property or an assignment to
    `exports` or a prototype has that one's name; `a.prototype.b` is `a.b`. Lines include `export` and decorators."""
    return definitions.symbols(_READER, path, syntax.parse_source(grammar(path), source))


def _define(node: Node) -> Defined | None:
    if node.type in _FUNCTIONS:
        return Defined("function", _text(node, "name") or _default(node))
    if node.type in _MEMBERS:
        return Defined("function", _text(node, "name").lstrip("#"))
    if node.type in _CLASSES and (node.parent is None or node.parent.type != "variable_declarator"):
        return Defined("class", _text(node, "name") or _default(node))
    if node.type == "arrow_function" and _default(node):
        return Defined("function", "default")
    value = _value(node)
    if value is None or value.type not in _VALUES:
        return None
    return Defined("class" if value.type == "class" else "function", _assigned(node))


def _scope(node: Node) -> str:
    return _text(node, "name").strip("'\"") if node.type in ("internal_module", "module") else ""


def _value(node: Node) -> Node | None:
    """The function or class that a node gives a name to."""
    if node.type in ("variable_declarator", "field_definition", "public_field_definition", "pair"):
        return node.child_by_field_name("value")
    if node.type == "assignment_expression":
        return node.child_by_field_name("right")
    return None


def _assigned(node: Node) -> str:
    name = node.child_by_field_name("left") if node.type == "assignment_expression" else None
    if name is not None:
        written = definitions.dotted(name, _NAMES, _MEMBER)
        for start in ("module.exports.", "exports.", "this."):
            written = written.removeprefix(start)
        return "" if written in ("module.exports", "exports") else written.replace(".prototype.", ".")
    for part in ("name", "property", "key"):
        if text := _text(node, part):
            return text.strip("'\"#")
    return ""


def _default(node: Node) -> str:
    """What is exported without a name is called `default`, as V8 does."""
    return "default" if node.parent is not None and node.parent.type == "export_statement" else ""


def _text(node: Node, part: str) -> str:
    return syntax.text(node.child_by_field_name(part))


def _function(node: Node) -> Node:
    value = _value(node)
    return value if value is not None else node


def _parameters(node: Node) -> tuple[str, ...]:
    function = _function(node)
    single = function.child_by_field_name("parameter")
    if single is not None:
        return (syntax.text(single),)
    listed = function.child_by_field_name("parameters")
    names = [_parameter(child) for child in (listed.named_children if listed is not None else ())]
    return tuple(name for name in names if name)


def _parameter(node: Node) -> str:
    """The name of a parameter; a pattern has none."""
    inner = node.child_by_field_name("pattern") or node.child_by_field_name("left") or node
    if inner.type == "rest_pattern":
        inner = inner.named_child(0) or inner
    return syntax.text(inner) if inner.type == "identifier" else ""


def _called(node: Node) -> str:
    if node.type == "call_expression":
        return definitions.dotted(node.child_by_field_name("function"), _NAMES, _MEMBER)
    if node.type == "new_expression":
        return definitions.dotted(node.child_by_field_name("constructor"), _NAMES, _MEMBER)
    return ""


def _whole(node: Node) -> Node:
    """With `const`, `export` and what stands before them."""
    outer = node.parent
    while outer is not None and outer.type in ("lexical_declaration", "variable_declaration", "export_statement"):
        if outer.type != "export_statement" and outer.named_child_count != 1:
            break
        node, outer = outer, outer.parent
    if outer is not None and outer.type == "expression_statement":
        return outer
    return node


def _body(node: Node) -> Node | None:
    return _function(node).child_by_field_name("body")


_READER = definitions.Reader(
    language="javascript",
    define=_define,
    called=_called,
    parameters=_parameters,
    inner=frozenset((*_FUNCTIONS, *_MEMBERS, *_CLASSES)),
    comments=frozenset(("comment",)),
    scope=_scope,
    whole=_whole,
    body=_body,
)
