"""Lines of a log: where a record starts, and how to take a per-line prefix off."""

import re
from collections.abc import Callable

MAX_LINE = 50_000  # characters of a line that are read; one line may hold a whole quoted trace

# How a log record starts in the formats of logging, logback, log4j, glog, syslog, JSON lines and access logs.
_RECORD_START = re.compile(
    r"""\s{0,3}(?:
      [\[<(]?\d{4}[-/]\d\d[-/]\d\d[T ,]            # 2026-11-30 22:50, [2026-11-30T22:50
    | [\[(]?\d\d?[:/]\d\d[:/]\d\d                  # 22:50:45, 30/11/26
    | [\[(]?\d\d?[ /-][A-Z][a-z]{2}[ /-]\d{2,4}    # 30-Nov-2026, 30/Nov/2026
    | [A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d:\d\d      # Nov 30 22:50:45
    | \[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE)\b
    | [IWEF]\d{4}\s\d\d:\d\d
    | \{"
    | <\d{1,3}>
    | level=|ts=|time=|timestamp=
    | \d{1,3}(?:\.\d{1,3}){3}\s
    )""",
    re.VERBOSE,
)
# A ruler of a test report or a shell script; also "-- Docs:" and the "+---" that ends a group.
_RULER = re.compile(r"\s*(?:={4,}|-{4,}|_{4,}|\*{4,}|(?:_ ){4,}|-- Docs:)")
_CUT = "-----"  # a ruler: no message goes on after a quoted trace
_BEFORE_TEXT = ":=,[({ \t"
_QUOTED = {quote: re.compile(rf"(?:[^\\{quote}]|\\.)*+", re.DOTALL) for quote in ('"', "'")}
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\))")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[A-Za-z]")


def split_lines(text: str) -> list[str]:
    """Lines without their ends and colours, each cut at `MAX_LINE`; only line feeds separate (a message may hold form
    feeds)."""
    return [line.rstrip("\r")[:MAX_LINE] for line in strip_ansi(text).split("\n")]


def strip_ansi(text: str) -> str:
    """The text without a terminal's control sequences (ECMA-48: CSI and the titles that OSC sets)."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def unescape(lines: list[str], marker: re.Pattern[str]) -> list[str]:
    """Take apart the lines in which a whole trace was quoted, as JSON, logfmt and `repr` do it: what stands before the
    quoted text, its own lines, what stands after it. `marker` shows that the line ends in a line are escaped."""
    out: list[str] = []
    for line in lines:
        found = marker.search(line)
        if found is None:
            out.append(line)
            continue
        start = _opening(line, found.start()) + 1
        quote = line[start - 1] if start else '"'
        inside = _QUOTED[quote if quote in _QUOTED else '"'].match(line, start)
        end = inside.end() if inside else start
        text = _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[0]), line[start:end])
        out += [line[:start], *text.split("\n"), _CUT, line[end:]]
    return out


def _opening(line: str, before: int) -> int:
    """The quote that opens the text before a column, -1 for none: the last double one that a key or a bracket stands
    before, for single ones are part of many messages; else the last of either."""
    double = line.rfind('"', 0, before)
    while double > 0 and line[double - 1] == "\\":
        double = line.rfind('"', 0, double - 1)
    if double >= 0 and (not double or line[double - 1] in _BEFORE_TEXT):
        return double
    return max(line.rfind(quote, 0, before) for quote in ('"', "'"))


def starts_record(line: str) -> bool:
    """Whether a line is the start of another log record or a ruler, so that a message cannot go on in it."""
    return bool(_RECORD_START.match(line) or _RULER.match(line))


def indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def strip_prefixes(lines: list[str], body_start: Callable[[str], int | None]) -> list[str]:
    """Take off the prefix that a collector wrote before each line (`web_1 | `, `2026-11-30T22:50:45Z stderr F `).

    `body_start` gives the column at which a line shows an unmistakable part of a trace, or None. Where that part
    follows a prefix, the lines around it that have a prefix of the same shape (digits and letters aside) lose it too.
    """
    out = list(lines)
    at = 0
    while at < len(out):
        width = body_start(out[at])
        if not width or not out[at][:width].strip(" |+>\t"):
            at += 1
            continue
        shape = _shape(out[at][:width])
        first = at
        while first > 0 and _shape(out[first - 1][:width]) == shape:
            first -= 1
        last = at
        while last < len(out) and _shape(out[last][:width].ljust(width)) == shape:
            last += 1
        out[first:last] = [line[width:] for line in out[first:last]]
        at = max(last, at + 1)
    return out


def _shape(prefix: str) -> str:
    return _LETTER.sub("a", _DIGIT.sub("0", prefix))
