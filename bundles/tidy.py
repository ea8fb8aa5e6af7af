"""What is kept of a run's output: its end, without what differs from run to run or names a place on this machine. Pure.

Left out: what the tested code itself printed or logged (its times and durations cannot be told from its values).
Replaced: durations, memory addresses, process and thread ids, loopback ports, scratch paths, and times near the moment
of the run.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

ROOT = "/repo/"
_LINES = 60
_CHARS = 6000
_CAPTURED = re.compile(r"^-{5,} (Captured [a-z]+ (?:setup|call|teardown)) -{5,}$")
_HEADING = re.compile(r"^(={5,}|_{5,}|-{5,}) .* (={5,}|_{5,}|-{5,})$")
_REPLACED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"/tmp/[^\s'\"]+"), "<scratch>"),
    (re.compile(r"\b(in|took) \d+(?:\.\d+)?(?:s|ms| seconds)\b(?: \(\d+:\d\d:\d\d\))?"), r"\1 <time>"),
    (re.compile(r"^\d+\.\d+s (call|setup|teardown)", re.MULTILINE), r"<time> \1"),
    (re.compile(r"\bpid[ =:]+\d+", re.IGNORECASE), "pid"),
    (re.compile(r"\b0x[0-9a-fA-F]{4,}\b"), "0x…"),
    (re.compile(r"\b1[34]\d{13}\b"), "<thread>"),
    (re.compile(r"\b(127\.0\.0\.1|localhost|\[::1\])(:|', )\d{4,5}\b"), r"\1\2<port>"),
)
_ISO = r"(?:{days})[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
_CONSTRUCTED = r"datetime\((?:{days}), \d[^()]*(?:\([^()]*\))?[^()]*\)"
_EPOCH = r"\b(?:{seconds})\d{{5}}(?:\d{{3}}){{0,3}}(?:\.\d+)?\b"


def tidy(output: str, places: Sequence[tuple[str, str]] = (), *, now_s: float) -> str:
    """`places` are (path, what to call it); `now_s` is the moment of the run, seconds since the epoch."""
    text = output
    for path, name in sorted(places, key=lambda place: (-len(place[0]), place)):
        text = text.replace(path, name)
    text = "\n".join(_own_lines(text.replace(ROOT, "")))
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    text = _now(now_s).sub("<now>", text)
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines[-_LINES:])[-_CHARS:].strip()


def _own_lines(text: str) -> list[str]:
    """The runner's lines; of what it captured only the heading."""
    kept: list[str] = []
    captured = False
    for line in text.splitlines():
        heading = _CAPTURED.match(line)
        if heading:
            kept.append(f"({heading[1]}: left out)")
            captured = True
        elif captured and _HEADING.match(line):
            captured = False
        if not captured:
            kept.append(line)
    return kept


def _now(now_s: float) -> re.Pattern[str]:
    """Times of the day of the run and the days beside it: ISO 8601, `datetime(...)`, seconds to nanoseconds since the
    epoch."""
    days = [datetime.fromtimestamp(now_s, UTC) + timedelta(days=offset) for offset in (-1, 0, 1)]
    iso = "|".join(day.strftime("%Y-%m-%d") for day in days)
    constructed = "|".join(f"{day.year}, {day.month}, {day.day}" for day in days)
    seconds = "|".join(sorted({str(int(day.timestamp()))[:5] for day in days}))
    return re.compile(
        "|".join((_ISO.format(days=iso), _CONSTRUCTED.format(days=constructed), _EPOCH.format(seconds=seconds)))
    )
