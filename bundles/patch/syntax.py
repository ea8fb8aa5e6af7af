"""One Python file as a syntax tree that gives back every byte (libcst), for changes of one expression."""

from collections.abc import Iterator, Mapping
from typing import Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from bundles.patch.parsing import parse_python

_LINES = 20  # an expression that is longer is not one expression to mend


class Source:
    """Made by `read`; lines are 1-based."""

    def __init__(self, wrapper: MetadataWrapper) -> None:
        self._module = wrapper.module
        self._positions: Mapping[Any, Any] = wrapper.resolve(PositionProvider)
        self._parents: Mapping[Any, Any] = wrapper.resolve(ParentNodeProvider)

    def expressions(self, line: int) -> Iterator[cst.BaseExpression]:
        """Expressions that lie on a line and are read there, outermost first."""
        for node, place in self._positions.items():
            on_line = isinstance(place, CodeRange) and place.start.line <= line <= place.end.line
            short = on_line and place.end.line - place.start.line <= _LINES
            if short and isinstance(node, cst.BaseExpression) and not self._is_written(node):
                yield node

    def comparisons_around(self, line: int) -> Iterator[cst.Comparison]:
        """Comparisons of the innermost function around a line, up to that line; nearest first."""
        functions = [
            (place.end.line - place.start.line, place)
            for node, place in self._positions.items()
            if isinstance(node, cst.FunctionDef) and place.start.line <= line <= place.end.line
        ]
        first = min(functions, key=lambda f: f[0])[1].start.line if functions else 1
        found = [
            (place.start.line, place.start.column, node)
            for node, place in self._positions.items()
            if isinstance(node, cst.Comparison) and first <= place.start.line <= line
        ]
        yield from (node for _, _, node in sorted(found, key=lambda f: (-f[0], f[1])))

    def with_change(self, node: cst.CSTNode, new: cst.CSTNode) -> str | None:
        """The whole file with one node replaced; None where that is no longer a program."""
        changed = self._module.deep_replace(node, new)
        if not isinstance(changed, cst.Module):
            return None
        return changed.code if parse_python(changed.code) is not None else None

    def _is_written(self, node: cst.CSTNode) -> bool:
        """Whether the expression is a target of an assignment, of `del` or of a loop."""
        parent = self._parents.get(node)
        if isinstance(parent, cst.AssignTarget | cst.Del):
            return True
        return isinstance(parent, cst.AnnAssign | cst.AugAssign | cst.For | cst.CompFor) and parent.target is node


def read(source: bytes) -> Source | None:
    """None for a file that is not Python, is no UTF-8, or is not given back exactly."""
    try:
        source.decode("utf-8")
        wrapper = MetadataWrapper(cst.parse_module(source))
    except (cst.ParserSyntaxError, UnicodeDecodeError, LookupError, RecursionError):
        return None
    return Source(wrapper) if wrapper.module.bytes == source else None


def code_of(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def bare(node: cst.BaseExpression) -> str:
    """Its code without parentheses around it."""
    return code_of(node.with_changes(lpar=[], rpar=[]))


def index_of(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The one plain index of a subscript; None for slices and tuples of them."""
    if isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        return node.slice[0].slice.value
    return None


def is_simple(node: cst.BaseExpression) -> bool:
    """Names, attributes, subscripts and literals only: evaluating it twice does what evaluating it once does."""
    if isinstance(node, cst.Name | cst.Integer | cst.SimpleString):
        return True
    if isinstance(node, cst.UnaryOperation):
        return is_simple(node.expression)
    if isinstance(node, cst.Attribute):
        return is_simple(node.value)
    if isinstance(node, cst.BinaryOperation):
        return is_simple(node.left) and is_simple(node.right)
    index = index_of(node)
    return isinstance(node, cst.Subscript) and index is not None and is_simple(node.value) and is_simple(index)


def links(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A chain like `a.b(c).d[e]` and what it hangs on, from the whole to `a`."""
    while isinstance(node, cst.Attribute | cst.Call | cst.Subscript):
        yield node
        node = node.func if isinstance(node, cst.Call) else node.value
