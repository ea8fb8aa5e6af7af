"""Exceptions as PHP's engine prints them (`Exception::__toString`, Zend/zend_exceptions.c) and as Monolog does.

A line `#n file(line): f()` says where `f` was called, so that a frame's place stands in the line before its function:
the innermost is where the exception was made. The engine prints what was wrapped first and its wrapper after `Next`;
Monolog prints the wrapper first and then `[previous exception]`. Frames come out outermost first.
"""

import re

from msgspec.structs import replace

from retrieval.languages.chain import Item, link
from retrieval.languages.lines import split_lines, starts_record, strip_prefixes, unescape
from retrieval.languages.php.frames import in_app, qualname
from retrieval.model import Frame, StackTrace

LANGUAGE = "php"
MAX_FRAMES = 2_000
MAX_MESSAGE_LINES = 200

_CALL = re.compile(
    r"\s*#(?P<number>\d{1,5}) (?:(?P<main>\{main\})"
    r"|(?:\[internal function\]|(?P<file>\S.{0,1000}?)\((?P<line>\d{1,9})\)): "
    r"(?P<name>\{closure:.{1,500}?\}|[^()\s]{1,500}))"
    r"(?:\(.*)?$"
)
_CALL_AT = re.compile(r"#\d{1,5} (?:\{main\}$|\[internal function\]: |(?:/|[A-Za-z]:\\|phar:)\S{0,1000}?\(\d{1,9}\): )")
_ESCAPED = re.compile(r"\\n#\d{1,5} (?:\{main\}|\[internal function\]: |\S[^\"\n]{0,1000}?\(\d{1,9}\): )")
_START = ("Stack trace:", "[stacktrace]")
_TYPE = r"[A-Za-z_][\w\\]{0,300}(?:@anonymous)?"
_NEXT = re.compile(rf"\s*Next (?P<type>{_TYPE})(?:: | (?=in ))")
_UNCAUGHT = re.compile(rf"Uncaught (?P<type>{_TYPE})(?:: | (?=in ))")
_PLAIN = re.compile(rf"(?<![^\s\]\"])(?P<type>{_TYPE})(?:: | (?=in /))")
_ERROR_NAMED = re.compile(r"(?:Exception|Error)$")
_PLACE = re.compile(r"(?:(?P<message>.*) )?in (?P<file>\S[^\n]{0,1000}):(?P<line>\d{1,9})$", re.DOTALL)
_MONOLOG = re.compile(
    rf"(?P<previous>\[previous exception\] )?\[object\] \((?P<type>{_TYPE})\(code: [^()]{{0,100}}\): "
    r"(?P<message>.*) at (?P<file>\S[^\n]{0,1000}):(?P<line>\d{1,9})\)\s*$",
    re.DOTALL,
)
_MONOLOG_AT = re.compile(rf"(?:\[previous exception\] )?\[object\] \({_TYPE}\(code: ")

_Head = tuple[str, str, Frame | None, str]  # type, message, where it was made, and how it is linked to the one before


def parse(text: str) -> list[StackTrace]:
    """Every exception in a text; see `Language.parse`."""
    if "#0 " not in text:
        return []
    lines = strip_prefixes(unescape(split_lines(text), _ESCAPED), _body_start)
    found: list[Item] = []
    at = after = 0
    while at < len(lines):
        first = _CALL.match(lines[at])
        if not first or first["number"] != "0":
            at += 1
            continue
        kind, message, made, linked = _head(lines, at, after)
        frames, at = _frames(lines, at, made)
        after = at
        trace = StackTrace(language=LANGUAGE, type=kind, message=message, frames=frames)
        if linked == "previous" and found and isinstance(found[-1], StackTrace):
            found[-1] = _below(found[-1], trace)
        else:
            found += ["cause", trace] if linked == "next" else [trace]
    return link(found)


def _body_start(line: str) -> int | None:
    match = _CALL_AT.search(line)
    return match.start() if match else None


def _below(trace: StackTrace, cause: StackTrace) -> StackTrace:
    """A trace with a cause at the bottom of its chain."""
    chain = [trace]
    while chain[-1].cause is not None:
        chain.append(chain[-1].cause)
    below = replace(cause, cause_kind="cause")
    for above in reversed(chain):
        below = replace(above, cause=below)
    return below


def _frames(lines: list[str], at: int, made: Frame | None) -> tuple[tuple[Frame, ...], int]:
    """Frames from `#0` on, each place with the function of the line after it; and the line behind them."""
    frames: list[Frame] = []
    place = made
    number = 0
    while at < len(lines) and (match := _CALL.match(lines[at])) and int(match["number"]) == number:
        name = qualname(match["main"] or match["name"])
        called_at = _place(match["file"], match["line"])
        if place is not None and len(frames) < MAX_FRAMES:
            frames.append(_named(place, name, match["name"] or "", called_at if place is made else None))
        place = called_at
        at, number = at + 1, number + 1
        if match["main"]:
            break
    return tuple(reversed(frames)), at


def _named(place: Frame, name: str, printed: str, called_at: Frame | None) -> Frame:
    """A frame with its function. The engine's own functions say that they failed where they were called."""
    own = called_at is None or (place.file, place.line) != (called_at.file, called_at.line)
    if not own and not re.search(r"->|::|\\|\{", printed):
        return Frame(file="", function=name, in_app=False)
    return replace(place, function=name)


def _place(file: str | None, line: str | None) -> Frame:
    return Frame(file=file or "", function="", line=int(line) if line else None, in_app=in_app(file or ""))


def _head(lines: list[str], first: int, after: int) -> _Head:
    """What is said above `#0`: the nearest line that names an exception, with the lines behind it as its message."""
    last = first - 1
    if last >= after and lines[last].strip() in _START:
        last -= 1
    elif last < after or not lines[last].strip():
        return "", "", None, ""
    for at in range(last, max(after, last - MAX_MESSAGE_LINES) - 1, -1):
        line = lines[at]
        if start := _MONOLOG_AT.search(line):
            whole = _MONOLOG.match("\n".join([line[start.start() :], *lines[at + 1 : last + 1]]))
            if whole:
                linked = "previous" if whole["previous"] else ""
                return whole["type"], whole["message"], _place(whole["file"], whole["line"]), linked
        follows = _NEXT.match(line)
        match = follows or _UNCAUGHT.search(line) or _plain(line, lines[at + 1 : last + 1])
        if match:
            said = "\n".join([line[match.end() :], *lines[at + 1 : last + 1]]).rstrip()
            where = _PLACE.match(said)
            made = _place(where["file"], where["line"]) if where else None
            message = (where["message"] or "") if where else said
            return match["type"], message.strip(), made, "next" if follows else ""
        if starts_record(line):
            break
    return "", "", None, ""


def _plain(line: str, behind: list[str]) -> re.Match[str] | None:
    """`Type: message in file:line`, where the type's name, or its namespace and the place, say that it is one."""
    placed = bool(_PLACE.match((behind[-1] if behind else line).rstrip()))
    for match in _PLAIN.finditer(line):
        if _ERROR_NAMED.search(match["type"]) or (placed and "\\" in match["type"]):
            return match
    return None
