"""Failures as pytest prints them (styles `long`, `auto` and `short`): entries end with `path:line: what`, the exception
stands on lines that begin with `E`.
"""

import re

from msgspec import Struct, field

from retrieval.languages.chain import Item
from retrieval.languages.python.frames import in_app
from retrieval.model import Frame, StackTrace

_PLACE = re.compile(r"^(\S[^:\n]*):(\d{1,9}): ?(?:in (\S.*)|([A-Za-z_][\w.]*))?$")
_ERROR = re.compile(r"^E(?: {2,}(.*))?$")
_DEF = re.compile(r"^( *)(?:async +)?def +(\w+)")
_HEADING = re.compile(r"^_{3,} (?:ERROR (?:at \w+ of|collecting) )?(\S.*?) _{3,}$")
_BREAK = re.compile(r"^(?:={3,}|-{3,} Captured|_{3,} )")
_TYPED = re.compile(r"^([A-Za-z_]\w*(?:\.(?:\w+|<locals>))*)(?:: ?(.*))?$")
MAX_MESSAGE_LINES = 200


class _Report(Struct):
    """What was read of one failure so far."""

    start: int = -1
    frames: list[Frame] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    defined: tuple[int, str] | None = None
    code: str = ""
    heading: str = ""


def scan(lines: list[str], taken: list[tuple[int, Item]]) -> list[tuple[int, Item]]:
    """The failures in a report with the line of each one's exception. `taken` holds tracebacks that were found
    already; the lines of one are not read again where pytest quotes it (style `native`)."""
    found: list[tuple[int, Item]] = []
    report = _Report()
    starts = {at for at, item in taken if isinstance(item, StackTrace)}
    for at, line in enumerate(lines):
        if at in starts or _BREAK.match(line):
            _finish(report, found)
            heading = _HEADING.match(line)
            report = _Report(heading=heading[1] if heading else "")
        elif line.startswith(("During handling of the above", "The above exception was")):
            _finish(report, found)
            report = _Report(heading=report.heading)
        else:
            _feed(report, at, line)
    _finish(report, found)
    return found


def _feed(report: _Report, at: int, line: str) -> None:
    if error := _ERROR.match(line):
        report.start = at if report.start < 0 else report.start
        report.errors.append(error[1] or "")
    elif line.startswith(">"):
        report.code = line[1:].strip()
    elif place := _PLACE.match(line.rstrip()):
        _add_frame(report, place)
    elif defined := _DEF.match(line):
        if report.defined is None or len(defined[1]) < report.defined[0]:
            report.defined = (len(defined[1]), defined[2])
    elif report.frames and not report.frames[-1].code and line.startswith("    ") and not report.code:
        last = report.frames[-1]
        report.frames[-1] = Frame(
            file=last.file, function=last.function, line=last.line, code=line.strip(), in_app=last.in_app
        )


def _add_frame(report: _Report, place: re.Match[str]) -> None:
    file, number, function, error = place.groups()
    name = function or (report.defined[1] if report.defined else "")
    if not name and not report.frames:
        name = re.split(r"[\[ ]", report.heading)[0].rpartition(".")[2]
    report.frames.append(Frame(file=file, function=name, line=int(number), code=report.code, in_app=in_app(file)))
    report.defined, report.code = None, ""
    if error and report.errors and not _TYPED.match(report.errors[0].strip()):
        report.errors[0] = f"{error}: {report.errors[0].strip()}"


def _finish(report: _Report, found: list[tuple[int, Item]]) -> None:
    if not report.errors or not report.frames:
        return
    first, *rest = (line.removeprefix("  ") if n else line.strip() for n, line in enumerate(report.errors))
    typed = _TYPED.match(first)
    kind, message = (typed[1], typed[2] or "") if typed else ("AssertionError", first)
    if kind == "assert" or first.startswith("assert "):
        kind, message = "AssertionError", first
    text = "\n".join([message, *rest[:MAX_MESSAGE_LINES]]).rstrip()
    frames = tuple(report.frames)
    found.append((report.start, StackTrace(language="python", type=kind, message=text, frames=frames)))
