"""Stacks as V8 formats them and as Node's `util.inspect` prints errors around them
(https://nodejs.org/api/errors.html, lib/internal/util/inspect.js).

Frames are printed innermost first and come out outermost first. `[cause]` and `[errors]` hang below the error whose
braces they stand in; `... n lines matching cause stack trace ...` is filled in from the cause.
"""

import re

from msgspec import Struct, field

from retrieval.languages.chain import MAX_CHAIN
from retrieval.languages.javascript import frames as v8
from retrieval.languages.lines import indent, split_lines, starts_record, strip_prefixes, unescape
from retrieval.model import Frame, StackTrace

LANGUAGE = "javascript"
MAX_FRAMES = 2_000
MAX_MESSAGE_LINES = 200
_MAX_BLOCK = 5_000  # lines of one error's properties

_HINT = re.compile(r" {4}at |^at ", re.MULTILINE)
_AT = re.compile(r"(?<! )( {4,80})at (?:[^()]{1,500} \(.*\)|[^()\s][^()]*:\d{1,9}:\d{1,9})(?: \{|,)?\s*$")
_ESCAPED = re.compile(r"\\n {4,20}at ")
_MATCHING = re.compile(r"\s*\.\.\. (\d{1,6}) lines matching cause stack trace \.\.\.\s*$")
_TYPE = r"[A-Za-z_$][\w$.]{0,200}"
_ERROR_TYPE = r"(?:[A-Za-z_$][\w$.]{0,200}?)?(?:Error|Exception|Rejection)"
_CODE = r"(?: \[\w{1,100}\])?"
_ERROR = re.compile(rf"(?:^|[\s\[(:\"'])({_ERROR_TYPE}){_CODE}(?:: (.*)|:?$)")
_NAMED = re.compile(rf"\s*({_TYPE}){_CODE}(?:: (.*)|:?$)")
_INLINE = re.compile(rf"(?:^|\s)([A-Z][\w$.]{{0,200}}){_CODE}: (.*)$")
_CAUSE = re.compile(r"(\s*)\[?cause\]?: (.*)$")
_ERRORS = re.compile(r"(\s*)\[?errors\]?: \[$")
_BARE = re.compile(rf"(?P<indent>\s*+)(?:.*\s)?\[(?P<type>{_TYPE}){_CODE}(?:: (?P<message>[^\]]*))?\] \{{$")
_CLOSE = re.compile(r"\s*[}\]],?$")


class _Thrown(Struct):
    """One error being read; `frames` innermost first. `gap` is where and how many frames were left out."""

    column: int
    type: str = ""
    message: str = ""
    kind: str = ""
    frames: list[Frame] = field(default_factory=list)
    gap: tuple[int, int] = (0, 0)
    cause: "_Thrown | None" = None
    members: "list[_Thrown]" = field(default_factory=list)
    list_at: int = -1  # the column of `[errors]`


def parse(text: str) -> list[StackTrace]:
    """Every error in a text; see `Language.parse`."""
    if not _HINT.search(text):
        return []
    lines = strip_prefixes(unescape(split_lines(text), _ESCAPED), _body_start)
    found: list[StackTrace] = []
    at = after = 0
    while at < len(lines):
        frame = _frame(lines[at])
        bare = None if frame else _BARE.match(lines[at])
        if not frame and not (bare and _opens(lines, at + 1)):
            at += 1
            continue
        if bare:
            root, at = _Thrown(len(bare["indent"]), bare["type"], bare["message"] or ""), at + 1
            opened = True
        else:
            root = _header(lines, at, after)
            at, opened = _read_frames(lines, at, root)
        if opened:
            at = _read_block(lines, at, root)
        after = at
        found.append(_trace(root))
    return found


def _body_start(line: str) -> int | None:
    """Indents are even, so that an odd space belongs to the prefix."""
    match = _AT.search(line)
    return match.start() + len(match[1]) % 2 if match and _frame(line[match.start() :]) else None


def _frame(line: str) -> tuple[Frame, bool] | None:
    """A frame and whether its line opens the error's properties."""
    match = v8.FRAME.match(line)
    frame = v8.frame(match) if match else None
    return (frame, match["tail"] == " {") if match and frame else None


def _opens(lines: list[str], at: int) -> bool:
    return at < len(lines) and bool(_CAUSE.match(lines[at]) or _ERRORS.match(lines[at]))


def _read_frames(lines: list[str], at: int, thrown: _Thrown) -> tuple[int, bool]:
    """Frames from a line on; returns the line after them and whether properties follow."""
    opened = False
    while at < len(lines) and not opened:
        if matching := _MATCHING.match(lines[at]):
            thrown.gap = (len(thrown.frames), int(matching[1]))
        elif frame := _frame(lines[at]):
            opened = frame[1]
            if len(thrown.frames) < MAX_FRAMES:
                thrown.frames.append(frame[0])
            if lines[at].rstrip().endswith(","):
                return at + 1, False
        else:
            break
        at += 1
    return at, opened


def _header(lines: list[str], first: int, after: int) -> _Thrown:
    """The error whose first frame stands at a line, named by the nearest line above that can name one."""
    thrown = _Thrown(max(indent(lines[first]) - 4, 0))
    named: tuple[int, re.Match[str]] | None = None
    for at in range(first - 1, max(after, first - MAX_MESSAGE_LINES) - 1, -1):
        line = lines[at].rstrip()
        if match := _ERROR.search(line):
            named = (at, match)
            break
        if named is not None and not line.strip():
            break
        match = _NAMED.match(line) if line[:1].strip() or indent(line) == thrown.column else None
        match = match if match and match[1][0].isupper() else _INLINE.search(line)
        named = named or ((at, match) if match else None)
        if starts_record(line):
            break
    if named is not None:
        at, match = named
        thrown.type, thrown.message = match[1], _message(match[2], lines[at + 1 : first], thrown.column)
    return thrown


def _message(first: str | None, rest: list[str], column: int) -> str:
    return "\n".join([first or "", *(line.removeprefix(" " * column) for line in rest)]).strip()


def _read_block(lines: list[str], at: int, root: _Thrown) -> int:
    """The properties of an error in braces, with its causes and members; returns the line after them."""
    stack = [root]
    end = min(len(lines), at + _MAX_BLOCK)
    while at < end:
        line = lines[at]
        column = indent(line)
        if line.strip() and column <= root.column:
            return at + 1 if _CLOSE.match(line) else at
        if _CLOSE.match(line):
            while len(stack) > 1 and stack[-1].column >= column:
                stack.pop()
        elif errors := _ERRORS.match(line):
            _below(stack, column).list_at = len(errors[1])
        elif cause := _CAUSE.match(line):
            at = _open(lines, at, _below(stack, column), (column, cause[2]), stack)
            continue
        elif (holder := _below(stack, column)).list_at >= 0 and column == holder.list_at + 2:
            at = _open(lines, at, holder, (column, line), stack)
            continue
        at += 1
    return at


def _below(stack: list[_Thrown], column: int) -> _Thrown:
    while len(stack) > 1 and stack[-1].column >= column:
        stack.pop()
    return stack[-1]


def _open(lines: list[str], at: int, holder: _Thrown, head: tuple[int, str], stack: list[_Thrown]) -> int:
    """A cause or a member that begins at a line; returns the line after its frames."""
    column, first = head
    match = _NAMED.match(first)
    end = at + 1
    while end < len(lines) and end - at < MAX_MESSAGE_LINES and indent(lines[end]) > column and not _frame(lines[end]):
        end += 1
    if not match or end >= len(lines) or not _frame(lines[end]):
        return at + 1
    member = holder.list_at >= 0 and column > holder.list_at
    thrown = _Thrown(column, match[1], _message(match[2], lines[at + 1 : end], column), "member" if member else "cause")
    if member:
        holder.members.append(thrown)
    else:
        holder.cause = thrown
    end, opened = _read_frames(lines, end, thrown)
    if opened and len(stack) < MAX_CHAIN:
        stack.append(thrown)
    return end


def _trace(thrown: _Thrown) -> StackTrace:
    cause = thrown.cause
    where, count = thrown.gap
    frames = list(thrown.frames)
    if cause is not None and count:
        behind = len(frames) - where
        whole = cause.frames
        frames[where:where] = whole[max(len(whole) - behind - count, 0) : len(whole) - behind]
    return StackTrace(
        language=LANGUAGE,
        type=thrown.type,
        message=thrown.message,
        frames=tuple(reversed(frames[:MAX_FRAMES])),
        cause=_trace(cause) if cause else None,
        cause_kind=thrown.kind,
        members=tuple(_trace(member) for member in thrown.members),
    )
