"""Whose a report is and when it was taken, where its format has no field for it.

The folder below the format's own names the service (`dumps/payments/…`), else the file's name does, without its moment
and the words that say what it is (`payments-jstack-2026-11-30T22-50-45Z.txt`). The moment is the one that the report
begins with, else the one in the file's name; else it is unknown. A file's modification time counts for nothing: it is
that of a copy.
"""

import re
from pathlib import PurePosixPath

from retrieval.ingest.moments import ISO, time_ns

_HEAD = 2_000  # characters of a report in which its own moment stands
_ISO = re.compile(ISO)
_IN_NAME = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[T_ -]?(\d\d)[-:_]?(\d\d)(?:[-:_]?(\d\d))?Z?(?!\d)|(?<!\d)(1\d{9})(?!\d)"
)
_WORDS = frozenset(
    """
    jstack thread threads dump dumps threaddump threadump stack stacks faulthandler pyspy py spy goroutine goroutines
    sigquit heap histo histogram jmap tracemalloc memray pprof profile profiles cpu alloc allocs collapsed folded flame
    flamegraph speedscope before after baseline now txt json out coverage lcov jacoco cobertura environment env
    fingerprint
    """.split()  # noqa: SIM905 - one line a kind is easier to read and to extend
)
_BASELINE = re.compile(r"(?:^|[^a-z])(?:before|baseline)(?:[^a-z]|$)", re.IGNORECASE)
_MAX_NAME = 100


def service_of(name: str) -> str:
    """The service that a file of a case folder names, "" for none."""
    parts = PurePosixPath(name).parts
    if len(parts) > 2:
        return parts[1][:_MAX_NAME]
    stem = _IN_NAME.sub(" ", parts[-1].partition(".")[0])
    words = [word for word in re.split(r"([-_. ]+)", stem) if word]
    while words and (words[-1].lower() in _WORDS or not words[-1][0].isalpha()):
        words.pop()
    while words and (words[0].lower() in _WORDS or not words[0][0].isalpha()):
        words.pop(0)
    return "".join(words)[:_MAX_NAME]


def taken_ns(name: str, text: str) -> int:
    """When a report was taken, 0 where neither it nor its name tells."""
    for match in _ISO.finditer(text[:_HEAD]):
        if match["hour"] and (at := time_ns(match[0])) is not None:
            return at
    found = _IN_NAME.search(PurePosixPath(name).name)
    if found is None:
        return 0
    if found[7]:
        return int(found[7]) * 10**9
    year, month, day, hour, minute = found.groups()[:5]
    return time_ns(f"{year}-{month}-{day}T{hour}:{minute}:{found[6] or '00'}Z") or 0


def is_baseline(name: str) -> bool:
    """Whether a file's name says that it is what others are compared with: `before` or `baseline` is a word of it."""
    return bool(_BASELINE.search(PurePosixPath(name).name))
