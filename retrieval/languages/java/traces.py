"""Stack traces as `Throwable.printStackTrace` and logback print them
(https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/lang/Throwable.html#printStackTrace()).

Frames are printed innermost first and come out outermost first. `... n more` is filled in from the enclosing trace.
`Frame.file` is the bare file name as printed, `Frame.module` the class with its package, `Frame.function` the method.
"""

import re

from msgspec import Struct, field

from retrieval.languages.chain import MAX_CHAIN
from retrieval.languages.java.frames import in_app
from retrieval.languages.lines import indent, split_lines, starts_record, strip_prefixes, unescape
from retrieval.model import Frame, StackTrace

LANGUAGE = "java"
MAX_FRAMES = 2_000
MAX_MESSAGE_LINES = 200
_MAX_LOOK_BACK = 2_000  # lines; comparison failures print whole trees

# Thread dumps print the module before the file: (java.base@17.0.15/Thread.java:840).
_PLACE = (
    r"\((?:[\w.]{1,100}@[\w.+-]{1,50}/)?"
    r"(?:(?P<file>[^():/]*\.\w+)(?::(?P<line>-?\d{1,9}))?|Native Method|Unknown Source(?::\d+)?|<\w+>)\)"
)
_HIDDEN = re.compile(r"/0x[0-9a-f]{1,16}(?=\.)")  # after a hidden class's name (JEP 371): where it lies in memory
_FRAME = re.compile(rf"\s*at (?P<where>[^\s()][^()]*)(?<! ){_PLACE}(?:\s.*)?$")
_FRAME_AT = re.compile(rf"(?:\t| {{4}})[\t ]{{0,40}}+at [\w$./@]+\.[\w$<>]+{_PLACE}")
_ESCAPED = re.compile(r"\\n(?:\\t| {4})at [\w$./@]+\.[\w$<>]+\(")
_MORE = re.compile(r"\s*\.\.\. (\d{1,6}) (?:more|common frames omitted)\s*$")
# Possessive and bounded, so that no text makes a match quadratic.
_PACKAGE = r"(?:[^\W\d][\w$]{0,200}+\.){0,30}+"
_TYPE = rf"{_PACKAGE}[^\W\d][\w$]{{0,200}}+"
_LINKED = re.compile(rf"(\s*)(Caused by|Suppressed|Wrapped by): (?:\[CIRCULAR REFERENCE: ?)?({_TYPE})(?:: ?(.*)|\])?$")
_THREAD = re.compile(r'Exception in thread "[^"]*" ')
_ERROR_NAME = rf"{_PACKAGE}[\w$]{{0,200}}?(?:Exception|Error|Throwable)"
# A type at the start of a line: qualified, or with a name that says what it is.
_PLAIN = re.compile(
    rf"\s*((?=[\w$]{{1,200}}\.){_PACKAGE}(?=[\w$]{{0,200}}[A-Z])[\w$]{{1,200}}+|{_ERROR_NAME})(?:: ?(.*))?$"
)
# The same behind a log prefix; here the name must say what it is.
_INLINE = re.compile(rf"(?:^|[\s:\[(])({_ERROR_NAME})(?:: (.*))?$")


class _Budget(Struct):
    """How many more frames one text may have: `... n more` would let a small text ask for any number."""

    frames: int = 100_000


class _Thrown(Struct):
    """One exception being read; `frames` innermost first."""

    budget: _Budget
    column: int
    type: str
    message: str
    kind: str = ""
    frames: list[Frame] = field(default_factory=list)
    above: "_Thrown | None" = None
    cause: "_Thrown | None" = None
    suppressed: "list[_Thrown]" = field(default_factory=list)


def parse(text: str) -> list[StackTrace]:
    """Every chain in a text; see `Language.parse`."""
    if "at " not in text:
        return []
    lines = strip_prefixes(unescape(split_lines(text), _ESCAPED), _body_start)
    found: list[StackTrace] = []
    budget = _Budget()
    at = after = 0
    while at < len(lines):
        if _FRAME.match(lines[at]):
            root = _header(lines, at, after, budget)
            at = _read(lines, at, root)
            after = at
            if root.type or root.frames:
                found.append(_trace(root))
        else:
            at += 1
    return found


def _body_start(line: str) -> int | None:
    match = _FRAME_AT.search(line)
    return match.start() if match else None


def _read(lines: list[str], at: int, root: _Thrown) -> int:
    """Fill in the trace whose first frame stands at `at`; returns the line after it."""
    stack = [root]
    while at < len(lines):
        line = lines[at]
        if frame := _FRAME.match(line):
            _add_frame(stack[-1], frame)
        elif more := _MORE.match(line):
            _fill_in(stack[-1], int(more[1]))
        elif linked := _LINKED.match(line.rstrip()):
            at = _open(lines, at, linked, stack)
        elif line.strip() or not _goes_on(lines, at):
            break
        at += 1
    return at


def _goes_on(lines: list[str], at: int) -> bool:
    following = lines[at + 1] if at + 1 < len(lines) else ""
    return bool(_LINKED.match(following.rstrip()) or _MORE.match(following))


def _header(lines: list[str], first: int, after: int, budget: _Budget) -> _Thrown:
    """The nearest line above the frame at `first`, down to `after`, that names an exception; the lines between are its
    message."""
    lowest = max(after, first - _MAX_LOOK_BACK)
    for at in range(first - 1, lowest - 1, -1):
        line = lines[at]
        thread = _THREAD.search(line)
        match = _PLAIN.match((line[thread.end() :] if thread else line).rstrip()) or _INLINE.search(line.rstrip())
        if match:
            message = "\n".join([match[2] or "", *lines[at + 1 : first][:MAX_MESSAGE_LINES]]).strip()
            return _Thrown(budget=budget, column=-1, type=match[1], message=message)
        if starts_record(line):
            break
    return _Thrown(budget=budget, column=-1, type="", message="")


def _add_frame(thrown: _Thrown, match: re.Match[str]) -> None:
    if len(thrown.frames) >= MAX_FRAMES or not thrown.budget.frames:
        return
    thrown.budget.frames -= 1
    thrown.frames.append(_frame(match))


def read_frame(line: str) -> Frame | None:
    """One `at package.Class.method(File.java:1)`, as thread dumps print it too."""
    match = _FRAME.match(line)
    return _frame(match) if match else None


def _frame(match: re.Match[str]) -> Frame:
    where = _HIDDEN.sub("", match["where"])
    module, _, function = where.rpartition("/")[2].strip().rpartition(".")
    line = int(match["line"]) if match["line"] else None
    return Frame(
        file=match["file"] or "",
        function=function,
        line=line if line is None or line > 0 else None,
        module=module,
        in_app=in_app(function, module),
    )


def _fill_in(thrown: _Thrown, count: int) -> None:
    """`... n more`: the last n frames are those of the enclosing trace."""
    if thrown.above is not None and count > 0:
        room = min(MAX_FRAMES - len(thrown.frames), thrown.budget.frames)
        shared = thrown.above.frames[-count:][:room]
        thrown.frames += shared
        thrown.budget.frames -= len(shared)


def _open(lines: list[str], at: int, match: re.Match[str], stack: list[_Thrown]) -> int:
    """Hang a linked exception where its column says; returns the last line of its message."""
    column = indent(match[1] + "x")
    suppressed = match[2] == "Suppressed"
    while len(stack) > 1 and (stack[-1].column >= column if suppressed else stack[-1].column > column):
        stack.pop()
    above = stack[-1]
    end = at
    while end + 1 < len(lines) and end - at < MAX_MESSAGE_LINES and _is_message(lines[end + 1]):
        end += 1
    if not any(_FRAME.match(lines[n]) or _MORE.match(lines[n]) for n in range(end + 1, min(end + 2, len(lines)))):
        end = at  # no frames follow, so that nothing says that these lines are a message
    text = "\n".join(
        [(match[4] or "").removesuffix("]" if "[CIRCULAR" in match[0] else ""), *lines[at + 1 : end + 1]]
    ).strip()
    kind = "suppressed" if suppressed else "cause"
    thrown = _Thrown(budget=above.budget, column=column, type=match[3], message=text, kind=kind, above=above)
    if suppressed:
        above.suppressed.append(thrown)
    else:
        above.cause = thrown
        if above.column == column:
            stack.pop()
    if len(stack) < MAX_CHAIN:
        stack.append(thrown)
    return end


def _is_message(line: str) -> bool:
    return not (_FRAME.match(line) or _MORE.match(line) or _LINKED.match(line.rstrip()) or starts_record(line))


def _trace(thrown: _Thrown, depth: int = 0) -> StackTrace:
    deeper = depth < MAX_CHAIN
    return StackTrace(
        language=LANGUAGE,
        type=thrown.type,
        message=thrown.message,
        frames=tuple(reversed(thrown.frames)),
        cause=_trace(thrown.cause, depth + 1) if thrown.cause and deeper else None,
        cause_kind=thrown.kind,
        members=tuple(_trace(s, depth + 1) for s in thrown.suppressed) if deeper else (),
    )
