"""Symbols by a table: what every grammar has in common is here, what differs is a `Reader` per language."""

import re
from collections.abc import Callable

from msgspec import Struct
from tree_sitter import Node

from retrieval.languages import syntax
from retrieval.model import Symbol

_MARKERS = re.compile(r"^\s*(?:/\*[*!]*|\*+/|\*|//[/!]*|#+)\s?|\s*\*+/\s*$")


class Defined(Struct, frozen=True):
    """What a node defines. `name` may bring its own scope (`Repo.Get`); `kind` is function, method or class."""

    kind: str
    name: str


def _nothing(_: Node) -> str:
    return ""


def _itself(node: Node) -> Node:
    return node


def body_of(node: Node) -> Node | None:
    return node.child_by_field_name("body")


class Reader(Struct, frozen=True, kw_only=True):
    """How to read one grammar.

    `define` says what a node defines, if anything; a function inside a class becomes a method. `scope` names what a
    node adds to the names below it without being a symbol, `prefix` what the whole file adds. `called` is the name that
    a node calls, `inner` the node types whose calls are their own. `whole` is the node with its decorators,
    `first` the one to begin at where attributes are siblings before it.
    """

    language: str
    define: Callable[[Node], Defined | None]
    called: Callable[[Node], str]
    parameters: Callable[[Node], tuple[str, ...]]
    inner: frozenset[str]
    comments: frozenset[str]
    scope: Callable[[Node], str] = _nothing
    holds_methods: frozenset[str] = frozenset()
    prefix: Callable[[Node], str] = _nothing
    whole: Callable[[Node], Node] = _itself
    first: Callable[[Node], Node] = _itself
    body: Callable[[Node], Node | None] = body_of


def symbols(reader: Reader, path: str, root: Node | None) -> list[Symbol]:
    """Every definition below `root` in source order; see `Language.symbols`."""
    if root is None:
        return []
    found: list[Symbol] = []
    prefix = reader.prefix(root)
    stack = [(node, prefix, False) for node in reversed(root.named_children)]
    while stack:
        node, outer, in_class = stack.pop()
        defined = reader.define(node)
        if defined is not None and defined.name:
            symbol = _symbol(reader, path, node, defined, (outer, in_class))
            found.append(symbol)
            outer, in_class = symbol.qualname, symbol.kind == "class"
        elif scope := reader.scope(node):
            outer, in_class = join(outer, scope), node.type in reader.holds_methods
        stack.extend((child, outer, in_class) for child in reversed(node.named_children))
    return found


def join(outer: str, name: str) -> str:
    return f"{outer}.{name}" if outer else name


def _symbol(reader: Reader, path: str, node: Node, defined: Defined, around: tuple[str, bool]) -> Symbol:
    outer, in_class = around
    qualname = join(outer, defined.name)
    whole, body = reader.whole(node), reader.body(node)
    first = reader.first(whole)
    is_class = defined.kind == "class"
    return Symbol(
        symbol_id=f"{path}::{qualname}",
        language=reader.language,
        kind="method" if in_class and defined.kind == "function" else defined.kind,
        path=path,
        name=qualname.rpartition(".")[2],
        qualname=qualname,
        start_line=first.start_point.row + 1,
        end_line=max(whole.end_point.row, node.end_point.row) + 1,
        signature=signature(whole, body, reader.comments),
        parameters=() if is_class else reader.parameters(node),
        calls=() if is_class else syntax.calls(body, reader.called, reader.inner),
        doc=comment_above(first, reader.comments),
    )


def signature(node: Node, body: Node | None, comments: frozenset[str]) -> str:
    """A definition without its body, on one line."""
    behind = next((child for child in node.children[1:] if child.type in comments), body)
    end = min(body.start_byte, behind.start_byte) - node.start_byte if body is not None and behind is not None else None
    return (
        syntax.one_line((node.text or b"")[:end].decode("utf-8", "replace")).rstrip(" ;{:=").removesuffix("=>").rstrip()
    )


def comment_above(node: Node, kinds: frozenset[str]) -> str:
    """The comments that end on the line above a definition, without their markers."""
    parts: list[str] = []
    row, before = node.start_point.row, node.prev_named_sibling
    while before is not None and before.type in kinds and before.end_point.row >= row - 1:
        # A comment behind other code of its line belongs to that code; a grammar may count the line end to a comment.
        ahead = before.prev_sibling
        if ahead is not None and ahead.end_point.row == before.start_point.row and ahead.end_point.column:
            break
        parts.append(syntax.text(before))
        row, before = before.start_point.row, before.prev_named_sibling
    lines = (_MARKERS.sub("", line).strip() for part in reversed(parts) for line in part.splitlines())
    return syntax.doc_text("\n".join(line for line in lines if line))


def dotted(node: Node | None, names: tuple[str, ...], members: dict[str, tuple[str, str]]) -> str:
    """`a.b.c` where it is written so; `c` where something else than a name stands before it (`f().c`).

    `members` gives the fields of a member access: node type -> (object, member); `names` the types that are names.
    """
    parts: list[str] = []
    while node is not None and node.type in members:
        target, member = members[node.type]
        parts.append(syntax.text(node.child_by_field_name(member)))
        node = node.child_by_field_name(target)
    if node is not None and node.type in names:
        parts.append(syntax.text(node))
    else:
        parts = parts[:1]
    return ".".join(part for part in reversed(parts) if part)
