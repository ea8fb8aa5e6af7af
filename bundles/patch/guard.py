"""A guard at the place of the crash: the smallest change that keeps the failing expression from failing. Pure.

Written on the syntax tree (libcst), so that nothing else in the file moves; a file that libcst does not give back byte
for byte is left alone. Only expressions without calls are repeated in a guard, for a call may do something twice.
"""

import re
from collections.abc import Callable, Iterator

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from msgspec import Struct

from retrieval.model import ErrorSignature
from retrieval.model.signatures import short_type

GUARDS = 8
_NONE_ATTRIBUTE = re.compile(r"'NoneType' object has no attribute '(\w+)'")
_NONE_OPERATION = re.compile(
    r"'NoneType' object is not (subscriptable|iterable)|argument of type 'NoneType' is not iterable"
)

# What stands for a missing value when one of these is asked of it: the empty value of the type whose method it is.
_EMPTY = {name: "''" for name in dir(str) if not name.startswith("_")}
_EMPTY |= dict.fromkeys(("get", "items", "keys", "values", "setdefault", "update"), "{}")
_EMPTY |= dict.fromkeys(("append", "extend", "sort", "insert"), "[]")


class Guard(Struct, frozen=True, kw_only=True):
    """`text` is the whole file with the guard; `kind`, `expression`, `value` fill the rationale's template."""

    text: str
    kind: str  # zero_divisor | missing_value | missing_key | missing_index
    expression: str
    value: str


Rule = Callable[[cst.BaseExpression, ErrorSignature], Iterator[tuple[cst.CSTNode, str, str, str]]]
"""(node, error) -> (replacement, kind, guarded expression, value in its place)."""


def guards(source: bytes, line: int, error: ErrorSignature) -> list[Guard]:
    """Guards for the expressions on a 1-based line that can have raised `error`; at most `GUARDS`, outermost first.
    [] for a file that is not Python, is not given back exactly, or holds no such expression."""
    rule = _RULES.get(short_type(error.type))
    if rule is None:
        return []
    try:
        wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=False)
    except (cst.ParserSyntaxError, UnicodeDecodeError, LookupError, RecursionError):
        return []
    module = wrapper.module
    if module.bytes != source:
        return []
    positions = wrapper.resolve(PositionProvider)
    parents = wrapper.resolve(ParentNodeProvider)
    made: dict[str, Guard] = {}
    for node, position in positions.items():
        if not position.start.line <= line <= position.end.line or not isinstance(node, cst.BaseExpression):
            continue
        if position.end.line - position.start.line > 20 or _is_written(node, parents):
            continue
        for target, kind, expression, value in rule(node, error):
            replaced = module.deep_replace(node, target)
            if isinstance(replaced, cst.Module) and _parses(replaced):
                guard = Guard(text=replaced.code, kind=kind, expression=expression, value=value)
                made.setdefault(guard.text, guard)
    return list(made.values())[:GUARDS]


def _parses(module: cst.Module) -> bool:
    try:
        compile(module.bytes, "guard", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _is_written(node: cst.CSTNode, parents: object) -> bool:
    """Whether the expression is a target of an assignment, of `del` or of a loop."""
    parent = parents.get(node)  # type: ignore[attr-defined]
    if isinstance(parent, cst.AssignTarget | cst.Del):
        return True
    return isinstance(parent, cst.AnnAssign | cst.AugAssign | cst.For | cst.CompFor) and parent.target is node


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _simple(node: cst.BaseExpression) -> bool:
    """Names, attributes, subscripts and literals only: evaluating it twice does what evaluating it once does."""
    if isinstance(node, cst.Name | cst.Integer | cst.SimpleString):
        return True
    if isinstance(node, cst.UnaryOperation):
        return _simple(node.expression)
    if isinstance(node, cst.Attribute):
        return _simple(node.value)
    index = _index(node)
    return isinstance(node, cst.Subscript) and index is not None and _simple(node.value) and _simple(index)


def _index(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The one plain index of a subscript; None for slices and tuples of them."""
    if isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        return node.slice[0].slice.value
    return None


def _zero_divisor(node: cst.BaseExpression, error: ErrorSignature) -> Iterator[tuple[cst.CSTNode, str, str, str]]:
    divides = cst.Divide | cst.FloorDivide | cst.Modulo
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, divides) and _simple(node.right):
        divisor = _code(node.right)
        yield _expression(f"({_bare(node)} if {divisor} else 0)"), "zero_divisor", divisor, "0"


def _missing_value(node: cst.BaseExpression, error: ErrorSignature) -> Iterator[tuple[cst.CSTNode, str, str, str]]:
    """The value that turned out to be None: its empty stand-in where the asked attribute tells its type, else the whole
    chain that hangs on it gives None."""
    asked = _NONE_ATTRIBUTE.search(error.message)
    if asked:
        if isinstance(node, cst.Attribute) and node.attr.value == asked[1]:
            value = _code(node.value)
            if asked[1] in _EMPTY:
                empty = _EMPTY[asked[1]]
                yield node.with_changes(value=_expression(f"({value} or {empty})")), "missing_value", value, empty
            elif _simple(node.value):
                yield _expression(f"({_bare(node)} if {value} is not None else None)"), "missing_value", value, "None"
        chain = _head(node, asked[1])
        if chain is not None and chain is not node and _simple(chain.value):
            value = _code(chain.value)
            yield _expression(f"({_bare(node)} if {value} is not None else None)"), "missing_value", value, "None"
    elif _NONE_OPERATION.search(error.message) and isinstance(node, cst.Subscript) and _simple(node.value):
        value = _code(node.value)
        yield _expression(f"({_bare(node)} if {value} is not None else None)"), "missing_value", value, "None"


def _head(node: cst.CSTNode, attribute: str) -> cst.Attribute | None:
    """In a chain like `a.b(c).d[e]`, the part `x.attribute` that it hangs on."""
    while isinstance(node, cst.Attribute | cst.Call | cst.Subscript):
        if isinstance(node, cst.Attribute) and node.attr.value == attribute:
            return node
        node = node.func if isinstance(node, cst.Call) else node.value
    return None


def _missing_key(node: cst.BaseExpression, error: ErrorSignature) -> Iterator[tuple[cst.CSTNode, str, str, str]]:
    index = _index(node)
    if isinstance(node, cst.Subscript) and index is not None:
        if isinstance(index, cst.SimpleString) and repr(index.evaluated_value) != error.message.strip():
            return
        key = _code(index)
        yield _expression(f"{_code(node.value)}.get({key})"), "missing_key", f"{_code(node.value)}[{key}]", "None"


def _missing_index(node: cst.BaseExpression, error: ErrorSignature) -> Iterator[tuple[cst.CSTNode, str, str, str]]:
    index = _index(node)
    if isinstance(node, cst.Subscript) and index is not None and _simple(node.value) and _simple(index):
        value, at = _code(node.value), _code(index)
        test = value if at in ("0", "-1") else f"-len({value}) <= {at} < len({value})"
        yield _expression(f"({_bare(node)} if {test} else None)"), "missing_index", f"{value}[{at}]", "None"


def _bare(node: cst.BaseExpression) -> str:
    """Its code without parentheses around it, which the guard brings itself."""
    return _code(node.with_changes(lpar=[], rpar=[]))


def _expression(code: str) -> cst.BaseExpression:
    return cst.parse_expression(code)


_RULES: dict[str, Rule] = {
    "ZeroDivisionError": _zero_divisor,
    "AttributeError": _missing_value,
    "TypeError": _missing_value,
    "KeyError": _missing_key,
    "IndexError": _missing_index,
}
