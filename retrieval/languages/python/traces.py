"""Tracebacks as CPython prints them (https://docs.python.org/3/library/traceback.html), wherever they were printed.

The scan yields traces and the link sentences between them in the order of the text; `chain.link` joins them. Pytest's
own layout and exception groups have a file each.
"""

import re

from retrieval.languages.chain import Item, link
from retrieval.languages.lines import indent, split_lines, starts_record, strip_prefixes, unescape
from retrieval.languages.python import groups, pytest_report
from retrieval.languages.python.frames import in_app
from retrieval.model import Frame, StackTrace

LANGUAGE = "python"
MAX_FRAMES = 2_000
MAX_MESSAGE_LINES = 200

HEADER = re.compile(r"Traceback \(most recent call last\):\s*$")
_FRAME = re.compile(r'\s*(?:> )?File "(.*)", line (\d+)(?:,? in (.*))?\s*$')
_ESCAPED = re.compile(r"Traceback \(most recent call last\):\\n")
_FRAME_AT = re.compile(r'  (?:\+ Exception Group Traceback \(|File "[^"]+", line \d)')
_CARETS = re.compile(r"[\s^~│└├┬─]*$")
_TWISTED = "--- <exception caught here> ---"  # between the outer and the inner frames of a twisted Failure
_QUOTE = ('"""', "'''")  # around the traceback of a worker process, as multiprocessing passes it on
_LINKS = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "context",
}
EXCEPTION = re.compile(r"([A-Za-z_]\w*(?:\.(?:\w+|<locals>))*)(?::(?: (.*))?)?$", re.DOTALL)
_FAULT = re.compile(r"(Fatal Python error|Windows fatal exception): (.*)")
_THREAD = re.compile(r"(?:Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):\s*$")


def parse(text: str) -> list[StackTrace]:
    """Every chain in a text; see `Language.parse`."""
    if "File " not in text and "Traceback (" not in text and "E  " not in text:
        return []
    lines = strip_prefixes(unescape(split_lines(text), _ESCAPED), _body_start)
    found = scan(lines)
    if any(line.startswith("E  ") for line in lines):
        found = sorted([*found, *pytest_report.scan(lines, found)], key=lambda pair: pair[0])
    return link(item for _, item in found)


def _body_start(line: str) -> int | None:
    match = _FRAME_AT.search(line)
    return match.start() if match else None


def scan(lines: list[str], depth: int = 0) -> list[tuple[int, Item]]:
    """Traces and link sentences with the line at which each starts."""
    found: list[tuple[int, Item]] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        kind = _LINKS.get(line.strip())
        if kind:
            found.append((at, kind))
            at += 1
        elif depth <= groups.MAX_DEPTH and groups.opens(line):
            block, end = groups.block(lines, at)
            found += [(at, item) for item in groups.read(block, depth, scan)]
            at = end
        elif HEADER.search(line):
            at = _read(lines, at, at + 1, found)
        elif _FRAME.match(line):
            at = _read(lines, at, at, found)
        elif _FAULT.search(line):
            at = _read_fault(lines, at, found)
        else:
            at += 1
    return found


def _read(lines: list[str], start: int, at: int, found: list[tuple[int, Item]]) -> int:
    """One traceback whose frames begin at `at`; returns the line after it."""
    frames, at, base = _read_frames(lines, at)
    match = EXCEPTION.match(lines[at].strip()) if at < len(lines) and indent(lines[at]) <= max(base, 0) else None
    if not match or starts_record(lines[at]):
        if frames:
            found.append((start, StackTrace(language=LANGUAGE, type="", message="", frames=frames)))
        return max(at, start + 1)
    rest, end = _read_message(lines, at + 1)
    message = "\n".join([match[2] or "", *rest]).rstrip()
    found.append((start, StackTrace(language=LANGUAGE, type=match[1], message=message, frames=frames)))
    return end


def _read_frames(lines: list[str], at: int) -> tuple[tuple[Frame, ...], int, int]:
    """Frames, the first line that belongs to none, and the indent of the header (-1: no frame seen).

    Where blank lines stand between frames (loguru), one stands before the exception as well and is passed over.
    """
    raw: list[list[str]] = []
    base, spaced = -1, False
    while at < len(lines):
        line = lines[at]
        match = _FRAME.match(line)
        if match:
            raw.append([match[1], match[2], (match[3] or "").rstrip(), ""])
            base = max(indent(line) - 2, 0) if base < 0 else base
        elif not line.strip():
            if not _goes_on(lines, at, base):
                at += spaced and at + 1 < len(lines)
                break
            spaced = True
        elif line.strip() == _TWISTED:
            pass
        elif raw and indent(line) > base:
            if not raw[-1][3] and not _CARETS.match(line) and not line.strip().startswith("[Previous line repeated"):
                raw[-1][3] = line.strip()
        else:
            break
        at += 1
    frames = tuple(
        Frame(file=file, function=name, line=int(number[:9]), code=code, in_app=in_app(file))
        for file, number, name, code in raw[-MAX_FRAMES:]
    )
    return frames, at, base


def _goes_on(lines: list[str], at: int, base: int) -> bool:
    """Whether frames go on after a blank line."""
    following = next((line for line in lines[at + 1 : at + 3] if line.strip()), "")
    return bool(_FRAME.match(following)) or (0 <= base < indent(following) and not starts_record(following))


def _read_message(lines: list[str], at: int) -> tuple[list[str], int]:
    """The lines in which a message goes on: up to the next record, trace, link sentence or ruler."""
    rest: list[str] = []
    while at < len(lines) and len(rest) < MAX_MESSAGE_LINES:
        line = lines[at]
        if starts_record(line) or line.strip() in _LINKS or line.strip() in _QUOTE or line.startswith(("E   ", ">  ")):
            break
        if HEADER.search(line) or groups.opens(line) or _FRAME.match(line) or _FAULT.search(line):
            # What introduces the next trace stands on the line before it and is no part of this message.
            while rest and rest[-1].strip():
                rest.pop()
            break
        rest.append(line)
        at += 1
    return rest, at


def _read_fault(lines: list[str], start: int, found: list[tuple[int, Item]]) -> int:
    """A dump of `faulthandler`: the current thread's frames, innermost first."""
    match = _FAULT.search(lines[start])
    at = start + 1
    while at < len(lines) and at - start < 10 and not _THREAD.match(lines[at]):
        at += 1
    if not match or at >= len(lines) or not _THREAD.match(lines[at]):
        return start + 1
    frames, at, _ = _read_frames(lines, at + 1)
    trace = StackTrace(language=LANGUAGE, type=match[1], message=match[2].strip(), frames=frames[::-1])
    found.append((start, trace))
    return at
