"""Stacks as .NET's `Exception.ToString` prints them
(https://learn.microsoft.com/dotnet/api/system.exception.tostring, System.Private.CoreLib/src/System/Exception.cs).

Frames are printed innermost first and come out outermost first. The message of an outer exception stands above its
inner ones and its frames below them; `--- End of inner exception stack trace ---` goes one out. An `AggregateException`
of several exceptions has them as members, of one as its cause. `Frame.function` is qualified by namespace and type.
"""

import re

from msgspec import Struct, field

from retrieval.languages.chain import MAX_CHAIN
from retrieval.languages.csharp.frames import in_app, qualname
from retrieval.languages.lines import split_lines, starts_record, strip_prefixes, unescape
from retrieval.model import Frame, StackTrace

LANGUAGE = "csharp"
MAX_FRAMES = 2_000
MAX_MESSAGE_LINES = 200

# The JVM prints a file or these words where .NET prints parameters; V8 has a space before its bracket.
_CALL = (
    r"at (?P<name>[^\s()]{1,1000})\((?!Native Method\)|Unknown Source\)|<)[^():]*\)"
    r"(?: in (?P<file>.+):line (?P<line>\d+))?"
)
_FRAME = re.compile(rf"\s+{_CALL}(?P<end><---)?\s*$")
_FRAME_AT = re.compile(rf" {{3}}(?:{_CALL}(?:<---)?$|--- End of inner exception stack trace ---$)")
_ESCAPED = re.compile(r"(?:\\r)?\\n {3}at [^\s()\"]{1,1000}\(")
_PACKAGE = r"(?:[A-Za-z_][\w`+]{0,200}+\.){0,30}+"
_EXCEPTION = rf"{_PACKAGE}[\w`+]{{0,200}}?Exception"
_CODE = r"(?: \((?:0x[0-9A-Fa-f]{1,16}|-?\d{1,10})\))?"
_ERROR = re.compile(rf"(?:^|[\s\[(:\"'])({_EXCEPTION}){_CODE}(?:: (.*)|$)")
_PLAIN = re.compile(
    rf"\s*(?=[\w`+]{{1,200}}\.)({_PACKAGE}(?=[\w`+]{{0,200}}[A-Z])[A-Za-z_][\w`+]{{0,200}}+){_CODE}(?:: (.*)|$)"
)
_INNER = re.compile(
    rf"\s*---> (\(Inner Exception #\d{{1,6}}\) )?({_PACKAGE}[A-Za-z_][\w`+]{{0,200}}+){_CODE}(?:: (.*)|$)"
)
_END_INNER = re.compile(r"\s*--- End of inner exception stack trace ---\s*$")
_PREVIOUS = re.compile(r"\s*--- End of stack trace from previous location.*---\s*$|<---\s*$")
_UNHANDLED = re.compile(r"Unhandled exception[.:] ", re.IGNORECASE)
_ONE_LINE = re.compile(rf" ---> (?={_PACKAGE}[A-Za-z_][\w`+]{{0,200}}+{_CODE}(?:: |$))")  # .NET Framework
_CODE_BEHIND = re.compile(rf"{_CODE}$")


class _Thrown(Struct):
    """One exception being read; `frames` innermost first."""

    type: str
    message: str
    frames: list[Frame] = field(default_factory=list)
    cause: "_Thrown | None" = None
    members: "list[_Thrown]" = field(default_factory=list)


def parse(text: str) -> list[StackTrace]:
    """Every exception in a text; see `Language.parse`."""
    if "   at " not in text:
        return []
    lines = strip_prefixes(unescape(split_lines(text), _ESCAPED), _body_start)
    found: list[StackTrace] = []
    at = after = 0
    while at < len(lines):
        if not _FRAME.match(lines[at]) and not (_INNER.match(lines[at]) and _leads_to_frame(lines, at)):
            at += 1
            continue
        stack = _header(lines, at, after)
        root = stack[0]
        at = after = _read(lines, at, stack)
        if root.type or root.frames:
            found.append(_trace(root))
    return found


def _body_start(line: str) -> int | None:
    match = _FRAME_AT.search(line)
    return match.start() if match else None


def _leads_to_frame(lines: list[str], at: int) -> bool:
    end = _message_end(lines, at)
    return end < len(lines) and bool(_FRAME.match(lines[end]) or _INNER.match(lines[end]))


def _message_end(lines: list[str], at: int) -> int:
    """The first line after one that begins a message which may not belong to it."""
    end = at + 1
    while end < len(lines) and end - at < MAX_MESSAGE_LINES and not _is_event(lines[end]):
        if starts_record(lines[end]):
            break
        end += 1
    return end


def _is_event(line: str) -> bool:
    return bool(_FRAME.match(line) or _INNER.match(line) or _END_INNER.match(line) or _PREVIOUS.match(line))


def _header(lines: list[str], first: int, after: int) -> list[_Thrown]:
    """The exceptions named above a line, the outermost first: the nearest that can be one, with what follows as its
    message; .NET Framework writes a whole chain into one line."""
    for at in range(first - 1, max(after, first - MAX_MESSAGE_LINES) - 1, -1):
        line = _UNHANDLED.sub("", lines[at].rstrip(), count=1)
        match = _ERROR.search(line) or _PLAIN.match(line)
        if match:
            message = "\n".join([match[2] or "", *lines[at + 1 : first]]).strip()
            return _one_line_chain(match[1], message)
        if starts_record(line):
            break
    return [_Thrown("", "")]


def _one_line_chain(kind: str, message: str) -> list[_Thrown]:
    first, *rest = _ONE_LINE.split(message, maxsplit=MAX_CHAIN)
    chain = [_Thrown(kind, first)]
    for part in rest:
        name, _, said = part.partition(": ")
        chain.append(_Thrown(_CODE_BEHIND.sub("", name), said))
        chain[-2].cause = chain[-1]
    return chain


def _read(lines: list[str], at: int, stack: list[_Thrown]) -> int:
    """Fill in the exceptions from a line on; returns the line after them."""
    while at < len(lines):
        line = lines[at]
        if frame := _FRAME.match(line):
            _add(stack[-1], frame)
            if frame["end"] and len(stack) > 1:
                stack.pop()
        elif inner := _INNER.match(line):
            at = _open(lines, at, inner, stack)
            continue
        elif _END_INNER.match(line):
            if len(stack) > 1:
                stack.pop()
        elif not _PREVIOUS.match(line) and (line.strip() or not _goes_on(lines, at)):
            break
        at += 1
    return at


def _goes_on(lines: list[str], at: int) -> bool:
    """Whether another member of an aggregate follows a blank line."""
    following = next((line for line in lines[at + 1 : at + 3] if line.strip()), "")
    match = _INNER.match(following)
    return bool(match and match[1])


def _add(thrown: _Thrown, match: re.Match[str]) -> None:
    if len(thrown.frames) < MAX_FRAMES:
        name = qualname(match["name"])
        line = int(match["line"][:9]) if match["line"] else None
        thrown.frames.append(Frame(file=match["file"] or "", function=name, line=line, in_app=in_app(name)))


def _open(lines: list[str], at: int, match: re.Match[str], stack: list[_Thrown]) -> int:
    """An inner exception; returns the line after its message."""
    end = _message_end(lines, at)
    if end >= len(lines) or not _is_event(lines[end]):
        end = at + 1
    message = "\n".join([match[3] or "", *lines[at + 1 : end]]).strip()
    thrown = _Thrown(match[2], message)
    if match[1]:
        stack[-1].members.append(thrown)
    else:
        stack[-1].cause = thrown
    if len(stack) < MAX_CHAIN:
        stack.append(thrown)
    return end


def _trace(thrown: _Thrown, kind: str = "", depth: int = 0) -> StackTrace:
    cause, members = thrown.cause, thrown.members if depth < MAX_CHAIN else []
    if cause is not None and members:
        members, cause = [cause, *members], None
    return StackTrace(
        language=LANGUAGE,
        type=thrown.type,
        message=thrown.message,
        frames=tuple(reversed(thrown.frames)),
        cause=_trace(cause, "cause", depth + 1) if cause and depth < MAX_CHAIN else None,
        cause_kind=kind,
        members=tuple(_trace(member, "member", depth + 1) for member in members),
    )
