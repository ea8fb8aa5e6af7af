"""Repairs at the place of the crash: the smallest changes that keep the failing expression from failing. Pure.

A *boundary* makes a comparison strict that let an index run one too far. A *donor* takes a constant that the convicted
commit removed for the value that is missing. A *guard* makes the expression give an empty value. Only expressions
without calls are repeated in a guard, for a call may do something twice.
"""

import re
from collections.abc import Callable, Iterator, Sequence

import libcst as cst
from msgspec import Struct

from bundles.patch.syntax import Source, bare, code_of, index_of, is_simple, links, read
from retrieval.model import ErrorSignature
from retrieval.model.signatures import short_type

MOST = 12
DONORS = 6
_NONE_ATTRIBUTE = re.compile(r"'NoneType' object has no attribute '(\w+)'")
_NONE_SUBSCRIPT = re.compile(r"'NoneType' object is not subscriptable")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")

# What stands for a missing value when one of these is asked of it: the empty value of the type whose method it is.
_EMPTY = {name: "''" for name in dir(str) if not name.startswith("_")}
_EMPTY |= dict.fromkeys(("get", "items", "keys", "values", "setdefault", "update"), "{}")
_EMPTY |= dict.fromkeys(("append", "extend", "sort", "insert"), "[]")
_STRICT = {cst.LessThanEqual: "<", cst.GreaterThanEqual: ">"}


class Guard(Struct, frozen=True, kw_only=True):
    """`text` is the whole file with the repair; `kind`, `expression`, `value` fill the rationale's template. `donor`:
    it holds a constant that is only right if the answer is as it was before."""

    text: str
    kind: str  # boundary | zero_divisor | missing_value | missing_key | missing_index
    expression: str
    value: str
    donor: bool = False


class _Mend(Struct, frozen=True, kw_only=True):
    new: cst.CSTNode
    kind: str
    expression: str
    value: str
    donor: bool = False


_Rule = Callable[[cst.BaseExpression, ErrorSignature, Sequence[str]], Iterator[_Mend]]


def guards(source: bytes, line: int, error: ErrorSignature, removed: Sequence[str] = ()) -> list[Guard]:
    """Repairs for the expressions on a 1-based line that can have raised `error`: boundaries, then donors from
    `removed` (lines that the convicted commit took away), then guards; at most `MOST`. [] where nothing can be mended.
    """
    kind = short_type(error.type)
    rule, tree = _RULES.get(kind), read(source)
    if rule is None or tree is None:
        return []
    made: dict[str, Guard] = {}
    if kind == "IndexError":
        for comparison, mend in _boundaries(tree, line):
            _add(made, tree, comparison, mend)
    for node in tree.expressions(line):
        for mend in rule(node, error, removed):
            _add(made, tree, node, mend)
    order = {text: (g.kind != "boundary", not g.donor) for text, g in made.items()}
    return sorted(made.values(), key=lambda guard: order[guard.text])[:MOST]


def _add(made: dict[str, Guard], tree: Source, node: cst.CSTNode, mend: _Mend) -> None:
    text = tree.with_change(node, mend.new)
    if text is not None:
        guard = Guard(text=text, kind=mend.kind, expression=mend.expression, value=mend.value, donor=mend.donor)
        made.setdefault(text, guard)


def _boundaries(tree: Source, line: int) -> Iterator[tuple[cst.CSTNode, _Mend]]:
    """`<=` and `>=` in comparisons that speak of an index used on the line."""
    indexes = {code_of(i) for node in tree.expressions(line) if (i := index_of(node)) is not None and is_simple(i)}
    for comparison in tree.comparisons_around(line):
        for at, target in enumerate(comparison.comparisons):
            left = comparison.left if at == 0 else comparison.comparisons[at - 1].comparator
            strict = _STRICT.get(type(target.operator))
            if strict is None or not indexes & {code_of(left), code_of(target.comparator)}:
                continue
            operator = cst.LessThan() if strict == "<" else cst.GreaterThan()
            changed = [
                part.with_changes(operator=operator) if n == at else part
                for n, part in enumerate(comparison.comparisons)
            ]
            new = comparison.with_changes(comparisons=changed)
            yield comparison, _Mend(new=new, kind="boundary", expression=bare(comparison), value=bare(new))


def _zero_divisor(node: cst.BaseExpression, error: ErrorSignature, removed: Sequence[str]) -> Iterator[_Mend]:
    divides = cst.Divide | cst.FloorDivide | cst.Modulo
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, divides) and is_simple(node.right):
        divisor = code_of(node.right)
        for donor in _donors(removed, _last_name(node.right)):
            other = node.with_changes(right=_expression(f"({divisor} or {donor})"))
            yield _Mend(new=other, kind="zero_divisor", expression=divisor, value=donor, donor=True)
        new = _expression(f"({bare(node)} if {divisor} else 0)")
        yield _Mend(new=new, kind="zero_divisor", expression=divisor, value="0")


def _donors(removed: Sequence[str], about: str) -> list[str]:
    """Numbers other than 0 in the lines taken away: those of lines that speak of the same thing, else all."""
    near = [line for line in removed if about and about.lower() in line.lower()]
    found = [number for line in near or removed for number in _NUMBER.findall(line) if float(number)]
    return list(dict.fromkeys(found))[:DONORS]


def _last_name(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _missing_value(node: cst.BaseExpression, error: ErrorSignature, removed: Sequence[str]) -> Iterator[_Mend]:
    """The value that turned out to be None: its empty stand-in where the asked attribute tells its type; and the whole
    chain that hangs on it gives None."""
    asked = _NONE_ATTRIBUTE.search(error.message)
    attribute = asked[1] if asked else ""
    if isinstance(node, cst.Attribute) and node.attr.value == attribute in _EMPTY:
        value, empty = code_of(node.value), _EMPTY[attribute]
        other = node.with_changes(value=_expression(f"({value} or {empty})"))
        yield _Mend(new=other, kind="missing_value", expression=value, value=empty)
    for link in links(node):
        fails = isinstance(link, cst.Attribute) and link.attr.value == attribute
        fails |= isinstance(link, cst.Subscript) and bool(_NONE_SUBSCRIPT.search(error.message))
        if fails and isinstance(link, cst.Attribute | cst.Subscript) and is_simple(link.value):
            value = code_of(link.value)
            new = _expression(f"({bare(node)} if {value} is not None else None)")
            yield _Mend(new=new, kind="missing_value", expression=value, value="None")


def _missing_key(node: cst.BaseExpression, error: ErrorSignature, removed: Sequence[str]) -> Iterator[_Mend]:
    index = index_of(node)
    if not isinstance(node, cst.Subscript) or index is None:
        return
    if isinstance(index, cst.SimpleString) and repr(index.evaluated_value) != error.message.strip():
        return
    value, key = code_of(node.value), code_of(index)
    about = str(index.evaluated_value) if isinstance(index, cst.SimpleString) else ""
    for donor in _donors(removed, about) if about else []:
        new = _expression(f"{value}.get({key}, {donor})")
        yield _Mend(new=new, kind="missing_key", expression=f"{value}[{key}]", value=donor, donor=True)
    yield _Mend(new=_expression(f"{value}.get({key})"), kind="missing_key", expression=f"{value}[{key}]", value="None")


def _missing_index(node: cst.BaseExpression, error: ErrorSignature, removed: Sequence[str]) -> Iterator[_Mend]:
    """The look-up, and any chain that hangs on it, gives None where the index is out of bounds."""
    for link in links(node):
        index = index_of(link)
        if isinstance(link, cst.Subscript) and index is not None and is_simple(link):
            value, at = code_of(link.value), code_of(index)
            test = value if at in ("0", "-1") else f"-len({value}) <= {at} < len({value})"
            new = _expression(f"({bare(node)} if {test} else None)")
            yield _Mend(new=new, kind="missing_index", expression=f"{value}[{at}]", value="None")


def _expression(code: str) -> cst.BaseExpression:
    return cst.parse_expression(code)


_RULES: dict[str, _Rule] = {
    "ZeroDivisionError": _zero_divisor,
    "AttributeError": _missing_value,
    "TypeError": _missing_value,
    "KeyError": _missing_key,
    "IndexError": _missing_index,
}
