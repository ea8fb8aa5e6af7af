"""Functions, methods, classes and imports of a Python file."""

from tree_sitter import Node

from retrieval.languages import syntax
from retrieval.model import Symbol

_GRAMMAR = "tree_sitter_python"
_DEFINITIONS = ("function_definition", "class_definition")
_PARAMETERS = (
    "identifier",
    "default_parameter",
    "typed_parameter",
    "typed_default_parameter",
    "list_splat_pattern",
    "dictionary_splat_pattern",
)


def symbols(path: str, source: bytes) -> list[Symbol]:
    """See `Language.symbols`. Lines include decorators: a change of one changes the function."""
    root = syntax.parse_source(_GRAMMAR, source)
    if root is None:
        return []
    found: list[Symbol] = []
    stack: list[tuple[Node, str, str]] = [(node, "", "") for node in reversed(root.named_children)]
    while stack:
        node, outer, outer_kind = stack.pop()
        if node.type in _DEFINITIONS:
            symbol = _symbol(path, node, outer, outer_kind)
            found.append(symbol)
            outer, outer_kind = symbol.qualname, symbol.kind
        stack.extend((child, outer, outer_kind) for child in reversed(node.named_children))
    return found


def _symbol(path: str, node: Node, outer: str, outer_kind: str) -> Symbol:
    name = syntax.text(node.child_by_field_name("name"))
    qualname = f"{outer}.{name}" if outer else name
    body = node.child_by_field_name("body")
    is_class = node.type == "class_definition"
    whole = node.parent if node.parent is not None and node.parent.type == "decorated_definition" else node
    return Symbol(
        symbol_id=f"{path}::{qualname}",
        language="python",
        kind="class" if is_class else "method" if outer_kind == "class" else "function",
        path=path,
        name=name,
        qualname=qualname,
        start_line=whole.start_point.row + 1,
        end_line=_last_row(node) + 1,
        signature=_signature(node, body),
        parameters=_parameters(node.child_by_field_name("parameters")),
        calls=() if is_class else syntax.calls(body, _called, _DEFINITIONS),
        doc=_doc(body),
    )


def _last_row(node: Node) -> int:
    """The row of the last token; the grammar counts comments that follow a body to it."""
    while code := [child for child in node.children if child.type != "comment"]:
        node = code[-1]
    return node.end_point.row


def _signature(node: Node, body: Node | None) -> str:
    end = body.start_byte - node.start_byte if body is not None else None
    return syntax.one_line((node.text or b"")[:end].decode("utf-8", "replace")).rstrip().removesuffix(":")


def _parameters(node: Node | None) -> tuple[str, ...]:
    """Names as in the definition, stars kept, `/` and bare `*` left out."""
    names = []
    for child in node.named_children if node is not None else ():
        if child.type in _PARAMETERS:
            named = child.child_by_field_name("name") or (child if child.type != "typed_parameter" else child.child(0))
            names.append(syntax.text(named))
    return tuple(name for name in names if name)


def _called(node: Node) -> str:
    if node.type != "call":
        return ""
    return _dotted(node.child_by_field_name("function"))


def _dotted(node: Node | None) -> str:
    """`a.b.c` where it is written so; `c` where something else than a name stands before it (`f().c`)."""
    parts: list[str] = []
    while node is not None and node.type == "attribute":
        parts.append(syntax.text(node.child_by_field_name("attribute")))
        node = node.child_by_field_name("object")
    if node is not None and node.type == "identifier":
        parts.append(syntax.text(node))
    else:
        parts = parts[:1]
    return ".".join(reversed(parts))


def _doc(body: Node | None) -> str:
    first = next((n for n in body.named_children if n.type != "comment"), None) if body is not None else None
    inner = first.named_child(0) if first is not None and first.type == "expression_statement" else first
    if inner is None or inner.type != "string":
        return ""
    return syntax.doc_text("".join(syntax.text(n) for n in inner.named_children if n.type == "string_content"))


def imports(path: str, source: bytes) -> list[str]:
    """See `Language.imports`; imports inside functions count."""
    root = syntax.parse_source(_GRAMMAR, source)
    found: set[str] = set()
    for node in syntax.descend(root) if root is not None else ():
        if node.type == "import_statement":
            found.update(_imported(child) for child in node.named_children)
        elif node.type in ("import_from_statement", "future_import_statement"):
            module = _module(path, node.child_by_field_name("module_name"))
            names = [_imported(child) for child in node.children_by_field_name("name")]
            found.update([module, *(f"{module}.{name}" if module else name for name in names)])
    return sorted(name for name in found if name)


def _imported(node: Node) -> str:
    return syntax.text(node.child_by_field_name("name") if node.type == "aliased_import" else node)


def _module(path: str, node: Node | None) -> str:
    """The dotted module of a `from` clause; leading dots are counted from the file's own package."""
    written = syntax.text(node)
    name = written.lstrip(".")
    dots = len(written) - len(name)
    if not dots:
        return name
    package = path.split("/")[:-1]
    base = package[: len(package) - (dots - 1)] if dots - 1 <= len(package) else []
    return ".".join([*base, *([name] if name else [])])
