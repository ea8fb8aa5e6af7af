"""The time around an onset that is looked at (row B4)."""

import re

from retrieval.errors import BadInput
from retrieval.model import Onset, Window

_UNITS_NS = {"s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000, "d": 86_400_000_000_000}
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(s|m|h|d)")
_LONGEST_NS = 366 * _UNITS_NS["d"]


def parse_duration(text: str) -> int:
    """Nanoseconds of `90s`, `45m`, `1h30m`, `24h`, `2d`.

    Raises: BadInput for anything else, for nothing, and for more than a year.
    """
    wanted = text.strip().lower()
    parts = _PART.findall(wanted)
    if not parts or "".join(number + unit for number, unit in parts) != wanted:
        raise _bad(text, "is no duration")
    total = sum(round(float(number) * _UNITS_NS[unit]) for number, unit in parts)
    if not 0 < total <= _LONGEST_NS:
        raise _bad(text, "is not between a second and a year")
    return total


def _bad(text: str, why: str) -> BadInput:
    return BadInput(f"{text[:40]!r} {why}", subject="duration", remedy="write a number and a unit, such as 45m or 24h")


def make_window(onset: Onset, *, before: str = "45m", after: str = "15m", diffs: str = "24h") -> Window:
    """[onset - before, onset + after), and how far back changes count; defaults from row B4.

    Raises: BadInput when a duration cannot be read.
    """
    return Window(
        from_ns=onset.at_ns - parse_duration(before),
        to_ns=onset.at_ns + parse_duration(after),
        diffs_from_ns=onset.at_ns - parse_duration(diffs),
    )
