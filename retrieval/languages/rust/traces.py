"""Panics as Rust's standard library prints them (library/std/src/panicking.rs, sys/backtrace.rs).

Frames are printed innermost first and come out outermost first. A panic has the type `panic`. Without a backtrace it
has one frame, the place that the panic names, with an unknown function; with one that names no files, the place is that
of the application's innermost frame. Every panicking thread is a trace of its own. `Frame.function` is the type and the
function where there is a file, else the whole path.
"""

import re

from retrieval.languages.lines import split_lines, starts_record, strip_prefixes, unescape
from retrieval.languages.rust.frames import in_app, plain, qualname
from retrieval.model import Frame, StackTrace

LANGUAGE = "rust"
MAX_FRAMES = 2_000
MAX_MESSAGE_LINES = 200
UNKNOWN = "<unknown>"

_THREAD = r"thread '[^'\n]{0,200}' (?:\(\d{1,19}\) )?panicked at "
_PANIC = re.compile(rf"{_THREAD}(?P<rest>.*)$")
_NEW = re.compile(r"(?P<file>\S.{0,1000}?):(?P<line>\d{1,9}):\d{1,9}:$")  # since 1.73 the message has its own lines
_OLD = re.compile(r"'(?P<message>.*)', (?P<file>[^'\n]{1,1000}?):(?P<line>\d{1,9}):\d{1,9}$", re.DOTALL)
_OLD_END = re.compile(r"', [^'\n]{1,1000}?:\d{1,9}:\d{1,9}$")
_ESCAPED = re.compile(rf"{_THREAD}[^\"]{{1,2000}}?\\n")
_FRAME = re.compile(r"\s*(?P<number>\d{1,5}): +(?:0x[0-9a-f]+ - )?(?P<name>\S.*)$")
_PLACE = re.compile(r"\s+at (?P<file>\S.{0,1000}?):(?P<line>\d{1,9})(?::\d{1,9})?$")
_ASIDE = re.compile(r"stack backtrace:$|note: |\s*\[\.\.\. omitted \d+ frames? \.\.\.\]$")


def parse(text: str) -> list[StackTrace]:
    """Every panic in a text; see `Language.parse`."""
    if "panicked at " not in text:
        return []
    lines = strip_prefixes(unescape(split_lines(text), _ESCAPED), _body_start)
    found: list[StackTrace] = []
    at = 0
    while at < len(lines):
        panic = _PANIC.search(lines[at])
        if not panic:
            at += 1
            continue
        place, message, at = _header(lines, at, panic["rest"])
        frames, at = _frames(lines, at)
        frames = _placed(frames, place) if place else frames
        found.append(StackTrace(language=LANGUAGE, type="panic", message=message, frames=tuple(reversed(frames))))
    return found


def _body_start(line: str) -> int | None:
    match = _PANIC.search(line)
    return match.start() if match else None


def _header(lines: list[str], at: int, rest: str) -> tuple[re.Match[str] | None, str, int]:
    """The place, the message, and the line after them; both ways of printing."""
    end = at + 1
    if place := _NEW.match(rest):
        while end < len(lines) and end - at <= MAX_MESSAGE_LINES and not _ends(lines[end]):
            end += 1
        return place, "\n".join(lines[at + 1 : end]).strip(), end
    while not _OLD_END.search(lines[end - 1]) and end < len(lines) and end - at <= MAX_MESSAGE_LINES:
        if _ends(lines[end]):
            break
        end += 1
    old = _OLD.match("\n".join([rest, *lines[at + 1 : end]]))
    return old, old["message"] if old else rest.strip("'"), end


def _ends(line: str) -> bool:
    """Whether a message cannot go on in a line; the blank one between two panics ends the first."""
    return bool(_ASIDE.match(line) or _PANIC.search(line) or starts_record(line)) or not line.strip()


def _frames(lines: list[str], at: int) -> tuple[list[Frame], int]:
    """The backtrace that begins at a line, innermost first; the number of a frame says whether it is the next one."""
    frames: list[Frame] = []
    after, count = at, 0
    while at < len(lines):
        line = lines[at]
        if (match := _FRAME.match(line)) and int(match["number"]) >= count:
            place = _PLACE.match(lines[at + 1]) if at + 1 < len(lines) else None
            if len(frames) < MAX_FRAMES:
                frames.append(_frame(match["name"], place))
            count = int(match["number"]) + 1
            at += 1 if place is None else 2
        elif (place := _PLACE.match(line)) and frames and len(frames) < MAX_FRAMES:
            frames.append(_frame(frames[-1].function, place))  # inlined into the one above
            at += 1
        elif _ASIDE.match(line):
            at += 1
        else:
            break
        after = at
    return frames, after


def _placed(frames: list[Frame], place: re.Match[str]) -> list[Frame]:
    """A stripped program's frames with the one place that is known; the caller's where a function is `track_caller`."""
    if not frames:
        return [_frame(UNKNOWN, place)]
    own = [at for at, frame in enumerate(frames) if frame.in_app]
    if own and not any(frame.file for frame in frames) and in_app(place["file"], ""):
        frames[own[0]] = _frame(frames[own[0]].function, place)
    return frames


def _frame(printed: str, place: re.Match[str] | None) -> Frame:
    name = plain(printed)
    file = place["file"] if place else ""
    function = qualname(name) if place and "::" in name else name
    return Frame(
        file=file, function=function, line=int(place["line"]) if place else None, in_app=in_app(file, function)
    )
