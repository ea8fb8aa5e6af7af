"""Stacks as Go's runtime prints them (src/runtime/traceback.go, panic.go) and as its loggers do.

Frames are printed innermost first and come out outermost first; `created by` is the outermost one. A panic has the type
`panic`, a fatal error of the runtime `fatal error`, an error that carries a stack `error`. Of one dump the goroutine
that it begins with is read: the others were only waiting. A panic's frames begin where it was raised, not in the
deferred functions that ran above it.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from retrieval.languages.chain import Item, link
from retrieval.languages.go.frames import in_app, qualname
from retrieval.languages.lines import split_lines, starts_record, strip_prefixes, unescape
from retrieval.model import Frame, StackTrace

LANGUAGE = "go"
MAX_FRAMES = 2_000
MAX_MESSAGE_LINES = 200

_FILE = r"(?P<file>\S[^\t]{0,1000}\.(?:go|s)):(?P<line>\d{1,9})"
_PLACE = re.compile(rf"\s+{_FILE}(?: \+0x[0-9a-f]+)?(?: fp=0x.*)?$")
_GIN = re.compile(rf"{_FILE} \(0x[0-9a-f]+\)$")  # gin's recovery prints the place first, then the function and its code
_GIN_CALL = re.compile(r"\t(?P<name>\S{1,500}?): (?P<code>.*)$")
_PLACE_AT = re.compile(r"\t\S[^\t]{0,1000}\.(?:go|s):\d{1,9}(?: \+0x[0-9a-f]+)?(?: fp=0x.*)?$")
_GOROUTINE = re.compile(r"\bgoroutine \d{1,19} (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[[^\]]*\]:$")
_ESCAPED = re.compile(r"goroutine \d{1,19} \[[^\]]*\]:\\n|\\n\\t[^\s\"\\]{1,1000}\.go:\d")
_NAME = re.compile(r"[^\s{}\"'=<>]{1,500}$")
_CREATED = re.compile(r"created by (\S+)(?: in goroutine \d+)?$")
_PANIC = re.compile(r"(?:^|[\s\"'=\]:])(?:(fatal error)|panic(?: serving \S+| recovered)?): ?(.*)$")
_NESTED = re.compile(r"\tpanic: (.*)$")
_ASIDE = re.compile(r"\[signal |goroutine running on other thread|runtime: |\[originating from ")
_RECOVERED = re.compile(r" \[recovered(?:, repanicked)?\]$")
_ELIDED = re.compile(r"\.\.\.(?:\d+|additional) frames elided\.\.\.$")
_RAISED = ("panic", "gopanic")


class _Stack(Struct, frozen=True):
    """Frames that were printed together, innermost first; `panics` are the places of `panic` among them."""

    frames: tuple[Frame, ...]
    panics: tuple[int, ...]
    start: int
    end: int


def parse(text: str) -> list[StackTrace]:
    """Every panic and stack in a text; see `Language.parse`."""
    if ".go:" not in text and ".s:" not in text:
        return []
    lines = strip_prefixes(unescape(split_lines(text), _ESCAPED), _body_start)
    found: list[Item] = []
    at = after = 0
    while at < len(lines):
        whole = _GOROUTINE.search(lines[at]) is not None
        stack = _stack(lines, at + 1 if whole else at)
        if stack is None:
            at += 1
            continue
        if whole or _GIN.match(lines[stack.start]):
            found += _panicked(lines, at, after, stack)
        elif not (at and lines[at - 1] == "runtime stack:"):
            found += _logged(lines, at, after, stack)
        # The header of a fatal error stands above the runtime's own stack, which is read before the goroutine's.
        after = stack.end if whole or not (at and lines[at - 1] == "runtime stack:") else after
        at = stack.end
    return link(found)


def _body_start(line: str) -> int | None:
    match = _GOROUTINE.search(line) or _PLACE_AT.search(line)
    return match.start() if match else None


def _stack(lines: list[str], start: int) -> _Stack | None:
    """The frames that begin at a line; None where there are none."""
    frames: list[Frame] = []
    panics: list[int] = []
    at = start
    while at < len(lines):
        if _ELIDED.match(lines[at].strip()) and frames:
            at += 1
            continue
        frame = read_frame(lines, at)
        if frame is None:
            break
        if len(frames) < MAX_FRAMES:
            if frame.function in _RAISED and not frame.in_app:
                panics.append(len(frames))
            frames.append(frame)
        at += 2
    return _Stack(tuple(frames), tuple(panics), start, at) if frames else None


def read_frame(lines: list[str], at: int) -> Frame | None:
    following = lines[at + 1] if at + 1 < len(lines) else ""
    name, code = "", ""
    place = _PLACE.match(following)
    if place:
        name = _function(lines[at])
    elif (place := _GIN.match(lines[at])) and (call := _GIN_CALL.match(following)):
        name, code = f"_.{call['name']}", call["code"]  # gin has taken the package off
    if not place or not name:
        return None
    return Frame(
        file=place["file"], function=qualname(name), line=int(place["line"]), code=code, in_app=in_app(place["file"])
    )


def _function(line: str) -> str:
    """The printed name in a line that may have arguments behind it, "" where the line is something else."""
    line = line.rstrip()
    if created := _CREATED.match(line):
        return created[1]
    if line.endswith(")"):
        depth = 0
        for at in range(len(line) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(line[at], 0)
            if not depth:
                line = line[:at]
                break
    return line if _NAME.match(line) and ("." in line or line == "panic") else ""


def _panicked(lines: list[str], first: int, after: int, stack: _Stack) -> list[Item]:
    """A goroutine's stack with the panics above it, the newest on top; nothing for the second goroutine of a dump."""
    kind, messages = _header(lines, first, after)
    if not messages:
        between = lines[after:first] if after else ["-"]
        return [_trace("", "", stack.frames)] if any(line.strip() for line in between) else []
    traces: list[Item] = []
    shift = len(messages) - len(stack.panics)
    for age, message in enumerate(messages):  # the oldest first
        newest = len(messages) - 1 - age
        marker = newest - max(shift, 0)
        if marker >= 0:
            frames = stack.frames[stack.panics[marker] + 1 :] if stack.panics else stack.frames
        else:
            frames = stack.frames
        traces += ["context"] if age else []
        traces.append(_trace(kind, message, frames))
    return traces


def _trace(kind: str, message: str, frames: Sequence[Frame]) -> StackTrace:
    return StackTrace(language=LANGUAGE, type=kind, message=message, frames=tuple(reversed(frames)))


def _header(lines: list[str], first: int, after: int) -> tuple[str, list[str]]:
    """The type and the messages, the oldest first, of the nearest panic above a stack, down to `after`."""
    for at in range(first - 1, max(after, first - MAX_MESSAGE_LINES) - 1, -1):
        match = None if _NESTED.match(lines[at]) else _PANIC.search(lines[at])
        if match:
            return match[1] or "panic", _messages([match[2], *lines[at + 1 : first]])
        if starts_record(lines[at]) and not lines[at].startswith("[signal "):
            break
    return "", []


def _messages(lines: Sequence[str]) -> list[str]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if nested := _NESTED.match(line):
            parts.append([nested[1]])
        elif line == "runtime stack:":
            break
        elif not _ASIDE.match(line):
            parts[-1].append(line.removeprefix("\t"))  # the runtime indents the lines that a message goes on in
    return [_RECOVERED.sub("", "\n".join(part).strip()) for part in parts]


def _logged(lines: list[str], first: int, after: int, stack: _Stack) -> list[Item]:
    """A stack without a goroutine, as zap and pkg/errors print it: the line above it is its error, unless it is a log
    record. pkg/errors prints what was wrapped first and the wrapper's message right below it."""
    above = lines[first - 1] if first > after else ""
    if not above.strip() or starts_record(above) or above.rstrip().endswith(('"', "'", "{", "=")):
        return [_trace("", "", stack.frames)]
    wraps = after and first - 1 == after
    return [*(["cause"] if wraps else []), _trace("error", above.strip(), stack.frames)]
