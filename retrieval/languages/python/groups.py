"""Exception groups (PEP 654): a tree drawn with a margin of `|` and numbered branches."""

import re
from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from retrieval.languages.chain import Item, link
from retrieval.model import StackTrace

MAX_DEPTH = 16  # the runtime itself prints ten levels
_OPEN = re.compile(r"^(\s*)\+ Exception Group Traceback \(most recent call last\):\s*$")
_BODY = re.compile(r"^(\s*)\|(?: (.*))?$")
_FIRST = re.compile(r"^(\s*)\+-\+-{3,} .{1,20} -{3,}\s*$")
_NEXT = re.compile(r"^(\s*)\+-{3,} .{1,20} -{3,}\s*$")
_END = re.compile(r"^(\s*)\+-{3,}\s*$")
_COUNT = re.compile(r"^(.*\(\d+ sub-exceptions?\))\n(.*)$", re.DOTALL)

Scan = Callable[[list[str], int], list[tuple[int, Item]]]


class _Segment(Struct):
    """Body lines, and the branches below them."""

    lines: list[str] = field(default_factory=list)
    branches: "list[_Node]" = field(default_factory=list)


class _Node(Struct):
    column: int
    segments: list[_Segment] = field(default_factory=list)


def opens(line: str) -> bool:
    return bool(_OPEN.match(line))


def block(lines: list[str], at: int) -> tuple[list[str], int]:
    """The lines of one drawing, and the line after it."""
    end = at + 1
    while end < len(lines) and not opens(lines[end]) and lines[end].lstrip(" \t")[:1] in ("|", "+"):
        end += 1
    return lines[at:end], end


def read(lines: list[str], depth: int, scan: Scan) -> list[Item]:
    """The traces and link sentences of one drawing."""
    opening = _OPEN.match(lines[0])
    root = _Node(column=len(opening[1]) if opening else 0, segments=[_Segment(lines=[lines[0].strip().lstrip("+ ")])])
    stack = [root]
    for line in lines[1:]:
        _place(line, stack)
    return _items(root, depth, scan)


def _place(line: str, stack: list[_Node]) -> None:
    """Put one line where its column says it belongs; a line that fits nowhere is dropped."""
    if match := _FIRST.match(line):
        _pop(stack, len(match[1]))
        _branch(stack, len(match[1]) + 2)
    elif match := _NEXT.match(line):
        _pop(stack, len(match[1]) - 1)
        _branch(stack, len(match[1]))
    elif match := _END.match(line):
        _pop(stack, len(match[1]) - 1)
    elif match := _BODY.match(line):
        _pop(stack, len(match[1]))
        node = stack[-1]
        if not node.segments or node.segments[-1].branches:
            node.segments.append(_Segment())
        node.segments[-1].lines.append(match[2] or "")


def _branch(stack: list[_Node], column: int) -> None:
    if len(stack) > MAX_DEPTH:
        return
    node = _Node(column=column)
    segments = stack[-1].segments
    if not segments:
        segments.append(_Segment())
    segments[-1].branches.append(node)
    stack.append(node)


def _pop(stack: list[_Node], column: int) -> None:
    while len(stack) > 1 and stack[-1].column > column:
        stack.pop()


def _items(node: _Node, depth: int, scan: Scan) -> list[Item]:
    items: list[Item] = []
    for segment in node.segments:
        own: list[Item] = [item for _, item in scan(segment.lines, depth + 1)]
        own = own or _bare(segment.lines)
        members = [trace for branch in segment.branches for trace in link(_items(branch, depth + 1, scan))]
        if members and own and isinstance(own[-1], StackTrace):
            own[-1] = replace(own[-1], members=tuple(replace(m, cause_kind="member") for m in members))
        items += [_with_notes(item) if isinstance(item, StackTrace) else item for item in own]
    return items


def _bare(lines: list[str]) -> list[Item]:
    """A member that was never raised has no traceback, only its exception line."""
    head, _, message = "\n".join(lines).strip().partition(": ")
    return [StackTrace(language="python", type=head, message=message)] if re.fullmatch(r"[\w.]+", head) else []


def _with_notes(trace: StackTrace) -> StackTrace:
    """Only a group says where its message ends; the lines after the count are its notes."""
    match = _COUNT.match(trace.message)
    return replace(trace, message=match[1], notes=tuple(match[2].split("\n"))) if match else trace
