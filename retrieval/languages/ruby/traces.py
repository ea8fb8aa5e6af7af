"""Exceptions as Ruby prints them (eval_error.c, `Exception#full_message`), `Logger` and Rails.

Frames are printed innermost first and come out outermost first; with numbers before them it is the other way round. A
cause is printed behind the exception that it caused, or before it where frames are numbered.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from retrieval.languages.chain import MAX_CHAIN
from retrieval.languages.lines import split_lines, starts_record, strip_prefixes, unescape
from retrieval.languages.ruby.frames import in_app, qualname
from retrieval.model import Frame, StackTrace

LANGUAGE = "ruby"
MAX_FRAMES = 2_000
MAX_MESSAGE_LINES = 200

_FILE = r"(?P<file>(?:[A-Za-z]:)?[^\s:'\"`(<][^:'\"`\n]{0,1000}|\(eval[^()\n]{0,1000}\)|<internal:[^>\n]{0,200}>)"
_PLACE = rf"{_FILE}:(?P<line>\d{{1,9}}):in [`'](?P<name>[^'`\n]{{1,500}})'"
_TOP = re.compile(rf"\s*{_PLACE}: (?P<message>.*)$")
_FROM = re.compile(rf"\s+(?P<number>\d{{1,6}}: )?from {_PLACE}\s*$")
_BARE = re.compile(rf"\s*{_PLACE}\s*$")
_LEVELS = re.compile(r"\s+\.\.\. ?\d+ levels\.\.\.\s*$")
_FROM_AT = re.compile(r"\s(?:\d{1,6}: )?from [^\s:][^:]{0,1000}:\d{1,9}:in [`']")
_PLACE_AT = re.compile(r"(?<![^\s|>])[\w./-]{1,1000}\.(?:rb|erb|rake|ru|haml|slim):\d{1,9}:in [`']")
_ESCAPED = re.compile(r"\\n(?:\\t| {0,8})(?:from )?[^\s\"\\:]{1,1000}:\d{1,9}:in [`']")
_TYPE = r"[A-Z]\w{0,100}+(?:::[A-Z]\w{0,100}+){0,20}+"
_CLASS_BEHIND = re.compile(rf"(?P<message>.*) \((?P<type>{_TYPE})\)$")
_CLASS_ALONE = re.compile(rf"(?P<type>{_TYPE})$")
_CLASS_BEFORE = re.compile(rf"(?:^|.*\s)(?P<type>{_TYPE}) \((?P<message>.*)$")
_CLASS_COLON = re.compile(rf"(?:^|.*\s)(?P<type>{_TYPE}): (?P<message>.*)$")
_CLOSED = re.compile(r"\):?\s*$")
_LOGGED = re.compile(r"^[A-Z], \[[^\]]{1,100}\] +[A-Z]{1,10} -- [^:]{0,100}: ")  # of `Logger`
_UNHANDLED = "unhandled exception"  # printed for a RuntimeError without a message


class _Read(Struct, frozen=True):
    """A trace, the lines that it takes, and whether its frames were numbered."""

    trace: StackTrace
    start: int
    end: int
    numbered: bool = False


def parse(text: str) -> list[StackTrace]:
    """Every exception in a text; see `Language.parse`."""
    if ":in `" not in text and ":in '" not in text:
        return []
    lines = strip_prefixes(unescape(split_lines(text), _ESCAPED), _body_start)
    found: list[_Read] = []
    at = after = 0
    while at < len(lines):
        read = _numbered(lines, at) or _printed(lines, at) or _listed(lines, at, after)
        if read is None:
            at += 1
            continue
        found.append(read)
        at = after = read.end
    return _chains(found)


def _body_start(line: str) -> int | None:
    match = _FROM_AT.search(line) or _PLACE_AT.search(line)
    return match.start() if match else None


def _frame(match: re.Match[str]) -> Frame:
    file = match["file"]
    return Frame(file=file, function=qualname(match["name"]), line=int(match["line"]), in_app=in_app(file))


def _numbered(lines: list[str], start: int) -> _Read | None:
    """Numbered frames, the outermost first, and the exception below them."""
    frames: list[Frame] = []
    at = start
    while at < len(lines) and ((match := _FROM.match(lines[at])) or _LEVELS.match(lines[at])):
        if match:
            if not match["number"]:
                return None
            frames.append(_frame(match))
        at += 1
    top = _TOP.match(lines[at]) if frames and at < len(lines) else None
    if not top:
        return _Read(_trace("", "", tuple(frames[-MAX_FRAMES:])), start, at, True) if frames else None
    kind, message = _said(top["message"])
    end = at + 1
    while end < len(lines) and end - at < MAX_MESSAGE_LINES and not _ends(lines[end]) and lines[end][:1].isspace():
        end += 1
    message = "\n".join([message, *lines[at + 1 : end]]).strip()
    return _Read(_trace(kind, message, (*frames, _frame(top))[-MAX_FRAMES:]), start, end, True)


def _printed(lines: list[str], start: int) -> _Read | None:
    """`place: message (Class)` and the frames below it."""
    top = _TOP.match(lines[start])
    if not top:
        return None
    kind, message = _said(top["message"])
    at = start + 1
    while at < len(lines) and at - start < MAX_MESSAGE_LINES and not _ends(lines[at]):
        at += 1
    if at >= len(lines) or not _FROM.match(lines[at]):
        at = start + 1  # no frames follow, so that nothing says that these lines are a message
    message = "\n".join([message, *lines[start + 1 : at]]).strip()
    frames = [_frame(top)]
    first = at
    while at < len(lines) and ((match := _FROM.match(lines[at])) or _LEVELS.match(lines[at])):
        if match:
            if match["number"]:
                break
            frames.append(_frame(match))
        at += 1
    if not kind and at == first:
        return None
    return _Read(_trace(kind, message, tuple(reversed(frames[:MAX_FRAMES]))), start, at)


def _listed(lines: list[str], start: int, after: int) -> _Read | None:
    """A backtrace as a plain list of places, with the exception above it."""
    frames: list[Frame] = []
    at = start
    while at < len(lines) and (match := _BARE.match(lines[at])):
        frames.append(_frame(match))
        at += 1
    if not frames:
        return None
    kind, message = _above(lines, start, after)
    if not kind and len(frames) < 2:
        return None
    return _Read(_trace(kind, message, tuple(reversed(frames[:MAX_FRAMES]))), start, at)


def _above(lines: list[str], first: int, after: int) -> tuple[str, str]:
    """`Class (message):` as Rails prints it, `Class: message`, or, as `Logger` does, `message (Class)`, whose message
    goes back to the start of its record."""
    last = first - 1
    while last > after and not lines[last].strip():
        last -= 1
    if last < after or last < 0:
        return "", ""
    behind, closed = _CLASS_BEHIND.match(lines[last].rstrip()), _CLOSED.search(lines[last])
    for at in range(last, max(after, first - MAX_MESSAGE_LINES) - 1, -1):
        line = lines[at].rstrip()
        record = starts_record(line) or bool(_LOGGED.match(line))
        before = None if behind else (closed and _CLASS_BEFORE.match(line)) or _CLASS_COLON.match(line)
        if before:
            message = "\n".join([before["message"], *lines[at + 1 : last + 1]]).strip()
            return before["type"], _CLOSED.sub("", message) if before.re is _CLASS_BEFORE else message
        if behind and (record or last == after):
            start = [] if at == last else [_LOGGED.sub("", line), *lines[at + 1 : last]]
            return behind["type"], _LOGGED.sub("", "\n".join([*start, behind["message"]])).strip()
        if record:
            break
    return (behind["type"], behind["message"].strip()) if behind else ("", "")


def _said(message: str) -> tuple[str, str]:
    message = message.rstrip()
    if match := _CLASS_BEHIND.match(message):
        return match["type"], match["message"]
    if match := _CLASS_ALONE.match(message):
        return match["type"], ""
    return ("RuntimeError", "") if message == _UNHANDLED else ("", message)


def _ends(line: str) -> bool:
    return bool(_FROM.match(line) or _TOP.match(line) or _BARE.match(line) or starts_record(line))


def _trace(kind: str, message: str, frames: tuple[Frame, ...]) -> StackTrace:
    return StackTrace(language=LANGUAGE, type=kind, message=message, frames=frames)


def _chains(found: list[_Read]) -> list[StackTrace]:
    """Join what was printed without a line between: causes behind, numbered ones before. The same error twice is two
    reports of it, one by its thread and one by who waited for that."""
    groups: list[list[_Read]] = []
    for read in found:
        last = groups[-1][-1] if groups else None
        joined = (
            last is not None
            and last.end == read.start
            and last.numbered == read.numbered
            and bool(last.trace.type and read.trace.type)
            and (last.trace.type, last.trace.message) != (read.trace.type, read.trace.message)
            and len(groups[-1]) < MAX_CHAIN
        )
        if joined:
            groups[-1].append(read)
        else:
            groups.append([read])
    return [_chain(group) for group in groups]


def _chain(group: list[_Read]) -> StackTrace:
    traces = [read.trace for read in group]
    if not group[0].numbered:
        traces.reverse()
    below, *above = traces
    for trace in above:
        below = replace(trace, cause=replace(below, cause_kind="cause"))
    return below
