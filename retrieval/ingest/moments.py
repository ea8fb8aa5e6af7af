"""Points in time as files write them, to UTC nanoseconds (pure).

A fixed table of layouts, never a guess: free-form parsers read klog's `1130 22:50:45` as the year 1130. A time without
a zone is UTC.
"""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

_SECOND = 1_000_000_000
_MAX_NS = 2**63 - 1
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}

ISO = (
    r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)(?:[T _](?P<hour>\d\d):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9})\d*)?)?)?"
    r"(?:\s?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\d:]))?"
)
_ISO = re.compile(ISO)
_TIME_OF_DAY = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_FRACTION = r"(?:[.,](?P<fraction>\d{1,9}))?"
_NAME = r"(?P<name>[A-Z][a-z]{2})"
# Apache and nginx access logs; RFC 1123 and asctime dates.
CLF = rf"(?P<day>\d{{1,2}})/{_NAME}/(?P<year>\d{{4}}):{_TIME_OF_DAY} (?P<zone>[+-]\d{{4}})"
ASCTIME = (
    rf"[A-Z][a-z]{{2}} {_NAME} +(?P<day>\d{{1,2}}) {_TIME_OF_DAY}{_FRACTION}(?: (?P<zone>UTC|GMT|[+-]\d{{4}}))? "
    r"(?P<year>\d{4})"
)
RFC1123 = (
    rf"(?:[A-Z][a-z]{{2}}, )?(?P<day>\d{{1,2}})[ -]{_NAME}[ -](?P<year>\d{{4}}) {_TIME_OF_DAY}{_FRACTION}"
    r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d{4}))?"
)
SYSLOG = rf"{_NAME} {{1,2}}(?P<day>\d{{1,2}}) {_TIME_OF_DAY}{_FRACTION}"
KLOG = rf"(?P<month>\d\d)(?P<day>\d\d) {_TIME_OF_DAY}\.(?P<fraction>\d{{1,9}})"
CLOCK = rf"{_TIME_OF_DAY}[.,](?P<fraction>\d{{1,9}})"
_NAMED = tuple(re.compile(p) for p in (CLF, ASCTIME, RFC1123))


def time_ns(value: Any) -> int | None:
    """UTC nanoseconds of a JSON value: a number of seconds, milli-, micro- or nanoseconds since the epoch (told apart
    by size: 10^11 seconds is the year 5138), the same as text, a date in ISO 8601, CLF, RFC 1123 or asctime layout."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value if 10**17 <= value <= _MAX_NS else _epoch(Decimal(value))
    if isinstance(value, float):
        return _epoch(Decimal(repr(value))) if value == value and abs(value) != float("inf") else None
    if isinstance(value, str):
        return _text(value.strip())
    if isinstance(value, date):  # YAML gives dates
        return _text(value.isoformat())
    return None


def _text(text: str) -> int | None:
    if not text or len(text) > 64:
        return None
    if match := _ISO.fullmatch(text):
        return of_match(match)
    if text.isdecimal() and text.isascii() and len(text) > 7:
        return time_ns(int(text))
    if text[0].isdigit() or text[0] == "-":
        try:
            number = Decimal(text)
        except InvalidOperation:
            pass
        else:
            return _epoch(number) if number.is_finite() and len(text) > 7 else None
    for pattern in _NAMED:
        if match := pattern.fullmatch(text):
            return of_match(match)
    return None


def _epoch(number: Decimal) -> int | None:
    size = abs(number)
    for limit, factor in ((10**11, _SECOND), (10**14, 1_000_000), (10**17, 1_000)):
        if size < limit:
            return int(number * factor) if number > 0 else None
    return int(number) if size <= _MAX_NS and number > 0 else None


def of_match(match: re.Match[str], reference_ns: int = 0) -> int | None:
    """The moment that one of this module's patterns found. Without a year (syslog, klog) or a day (clock) the one
    nearest to `reference_ns` is taken; None when that is 0, or the numbers are no date."""
    parts = match.groupdict()
    second = parts.pop("second", None)
    fraction = (parts.pop("fraction", None) or "").ljust(9, "0")
    base = _minute(tuple(parts.items()), reference_ns)
    seconds = int(second or 0)
    return None if base is None or seconds > 60 else (base + seconds) * _SECOND + int(fraction)


@lru_cache(maxsize=4096)
def _minute(items: tuple[tuple[str, str | None], ...], reference_ns: int) -> int | None:
    """Seconds since the epoch at the start of a minute; the lines of a log share few of them."""
    parts = dict(items)
    try:
        seconds = _clock(parts)
        day = _day(parts, seconds, reference_ns)
    except (ValueError, KeyError, OverflowError):
        return None
    return None if day is None else day * 86_400 + seconds - _offset(parts.get("zone"))


def _clock(parts: dict[str, str | None]) -> int:
    hour, minute = int(parts.get("hour") or 0), int(parts.get("minute") or 0)
    if hour > 24 or minute > 59:
        raise ValueError("no time of day")
    return hour * 3600 + minute * 60


def _day(parts: dict[str, str | None], seconds: int, reference_ns: int) -> int | None:
    """Days since the epoch."""
    month = _MONTHS[name.lower()] if (name := parts.get("name")) else int(parts.get("month") or 0)
    if year := parts.get("year"):
        return date(int(year), month, int(parts.get("day") or 0)).toordinal() - _EPOCH_ORDINAL
    if not reference_ns:
        return None
    reference = datetime.fromtimestamp(reference_ns // _SECOND, tz=UTC)
    if not month:
        candidates = [reference.date() + timedelta(days=d) for d in (-1, 0, 1)]
    else:
        day = int(parts.get("day") or 0)
        candidates = [d for d in (_date(reference.year + y, month, day) for y in (-1, 0, 1)) if d is not None]
    distance = {(d.toordinal() - _EPOCH_ORDINAL): 0 for d in candidates}
    return min(distance, key=lambda d: (abs(d * 86_400 + seconds - reference_ns // _SECOND), d), default=None)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:  # 29 February of another year
        return None


def _offset(zone: str | None) -> int:
    if not zone or zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "")
    offset = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -offset if zone[0] == "-" else offset
