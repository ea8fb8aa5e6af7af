"""Types, methods, constructors and imports of a Java file."""

from tree_sitter import Node

from retrieval.languages import syntax
from retrieval.model import Symbol

_GRAMMAR = "tree_sitter_java"
_TYPES = (
    "class_declaration",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
    "annotation_type_declaration",
)
_METHODS = ("method_declaration", "constructor_declaration", "compact_constructor_declaration")
_PARAMETERS = ("formal_parameter", "spread_parameter", "receiver_parameter")


def symbols(path: str, source: bytes) -> list[Symbol]:
    """See `Language.symbols`. A constructor has the name of its class; the methods of an anonymous class stand below
    the method in which it is written. Lines include annotations."""
    root = syntax.parse_source(_GRAMMAR, source)
    if root is None:
        return []
    found: list[Symbol] = []
    stack: list[tuple[Node, str]] = [(node, "") for node in reversed(root.named_children)]
    while stack:
        node, outer = stack.pop()
        if node.type in _TYPES or node.type in _METHODS:
            symbol = _symbol(path, node, outer)
            found.append(symbol)
            outer = symbol.qualname
        stack.extend((child, outer) for child in reversed(node.named_children))
    return found


def _symbol(path: str, node: Node, outer: str) -> Symbol:
    name = syntax.text(node.child_by_field_name("name"))
    qualname = f"{outer}.{name}" if outer else name
    body = node.child_by_field_name("body")
    is_type = node.type in _TYPES
    return Symbol(
        symbol_id=f"{path}::{qualname}",
        language="java",
        kind="class" if is_type else "method",
        path=path,
        name=name,
        qualname=qualname,
        start_line=node.start_point.row + 1,
        end_line=node.end_point.row + 1,
        signature=_signature(node, body),
        parameters=() if is_type else _parameters(node.child_by_field_name("parameters")),
        calls=() if is_type else syntax.calls(body, _called, (*_TYPES, *_METHODS)),
        doc=_doc(node),
    )


def _signature(node: Node, body: Node | None) -> str:
    end = body.start_byte - node.start_byte if body is not None else None
    return syntax.one_line((node.text or b"")[:end].decode("utf-8", "replace")).rstrip(" ;")


def _parameters(node: Node | None) -> tuple[str, ...]:
    names = []
    for child in node.named_children if node is not None else ():
        if child.type in _PARAMETERS:
            declared = next((c for c in child.named_children if c.type == "variable_declarator"), child)
            names.append(syntax.text(declared.child_by_field_name("name")))
    return tuple(name for name in names if name)


def _called(node: Node) -> str:
    if node.type == "object_creation_expression":
        return syntax.text(node.child_by_field_name("type")).partition("<")[0]
    if node.type != "method_invocation":
        return ""
    parts = [syntax.text(node.child_by_field_name("name"))]
    target = node.child_by_field_name("object")
    while target is not None and target.type == "field_access":
        parts.append(syntax.text(target.child_by_field_name("field")))
        target = target.child_by_field_name("object")
    if target is not None and target.type in ("identifier", "this", "super"):
        parts.append(syntax.text(target))
    elif target is not None:
        parts = parts[:1]
    return ".".join(reversed(parts))


def _doc(node: Node) -> str:
    before = node.prev_named_sibling
    if before is None or before.type != "block_comment":
        return ""
    comment = syntax.text(before)
    if not comment.startswith("/**"):
        return ""
    lines = (line.strip().removeprefix("*").strip() for line in comment[3:-2].splitlines())
    return syntax.doc_text("\n".join(line for line in lines if line))


def imports(path: str, source: bytes) -> list[str]:
    """See `Language.imports`: `a.b.C`, `a.b` for `a.b.*`; a static import gives the class and the member."""
    root = syntax.parse_source(_GRAMMAR, source)
    found: set[str] = set()
    for node in root.named_children if root is not None else ():
        if node.type != "import_declaration":
            continue
        name = next((syntax.text(c) for c in node.named_children if c.type in ("scoped_identifier", "identifier")), "")
        found.add(name)
        wildcard = any(c.type == "asterisk" for c in node.named_children)
        if not wildcard and any(c.type == "static" for c in node.children):
            found.add(name.rpartition(".")[0])
    return sorted(name for name in found if name)
