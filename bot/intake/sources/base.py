"""What an alert source is, and the reading that all of them share. Pure: bytes in, records out.

A source never raises anything but `Unreadable`, whatever the bytes are. An alert that cannot be read does not harm its
neighbours: it is returned among `AlertBatch.rejected` with the reason.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol

from retrieval.model import AlertBatch

MAX_DEPTH = 64
MAX_LABELS = 256
MAX_TEXT = 4096  # characters of one label or annotation that are kept; the body is kept whole beside it
MAX_REJECTED = 100
_FIRST_NS = 946_684_800 * 10**9  # 2000-01-01
_LAST_NS = 2**63 - 1  # 2262-04-11, the last time that fits 64 bits
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,12}))?\s?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Unreadable(Exception):
    """A body, or one alert of it, is not what this source sends. `reason` is one sentence that may be shown."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AlertSource(Protocol):
    name: str

    def parse(self, body: bytes, headers: Mapping[str, str]) -> AlertBatch:
        """All alerts of one delivery, in the sender's order.

        Raises: Unreadable when there is no telling what the alerts are.
        """
        ...


def read_json(body: bytes) -> Any:
    """The JSON value of a body in UTF-8, at most `MAX_DEPTH` deep.

    Raises: Unreadable.
    """
    if not body.strip():
        raise Unreadable("the body is empty")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"the body is not UTF-8 (byte {error.start})") from None
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Unreadable(f"the body is not JSON, or cut off (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise Unreadable("the body is nested too deeply") from None
    except ValueError:
        raise Unreadable("the body holds a number that is none") from None
    if _depth_exceeds(value, MAX_DEPTH):
        raise Unreadable("the body is nested too deeply")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def raw(value: Any) -> str:
    """A JSON value as text, for the dead letter."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def text(value: Any, where: str) -> str:
    """A string, clean enough to be stored; numbers and booleans as they are written in JSON, absent ones as "".

    Raises: Unreadable naming `where`.
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        raise Unreadable(f"{where}: a text was expected")
    return _SURROGATE.sub("\ufffd", value)[:MAX_TEXT]


def text_map(value: Any, where: str) -> dict[str, str]:
    """A flat map of texts; absent = empty.

    Raises: Unreadable naming `where`.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: a map was expected")
    if len(value) > MAX_LABELS:
        raise Unreadable(f"{where}: more than {MAX_LABELS} entries")
    return {text(key, where): text(inner, f"{where}.{text(key, where)[:80]}") for key, inner in value.items()}


def time_ns(value: Any, where: str) -> int:
    """Nanoseconds of an RFC 3339 time (up to nanoseconds; no zone = UTC) or a Unix time in s, ms, us or ns. 0 when it
    is absent or Go's zero time (year 1), with which Alertmanager says "not yet".

    Raises: Unreadable naming `where`.
    """
    if value is None or value == "":
        return 0
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Unreadable(f"{where}: a time was expected")
    moment = _unix_ns(str(value)) if not isinstance(value, str) else _text_ns(value.strip(), where)
    if moment is None:
        return 0
    if not _FIRST_NS <= moment <= _LAST_NS:
        raise Unreadable(f"{where}: the time is outside of 2000..2262")
    return moment


def _text_ns(value: str, where: str) -> int | None:
    if re.fullmatch(r"\d{1,20}(\.\d{1,9})?", value, re.ASCII):
        return _unix_ns(value)
    match = _RFC3339.fullmatch(value)
    if not match:
        raise Unreadable(f"{where}: not a time")
    day, clock, fraction, zone = match.groups()
    if day.startswith("0001-"):
        return None
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{_offset(zone)}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise Unreadable(f"{where}: not a time") from None
    return int(moment.timestamp()) * 10**9 + int((fraction or "0").ljust(9, "0")[:9])


def _offset(zone: str | None) -> str:
    if zone in (None, "Z", "z"):
        return "+00:00"
    return str(zone)


def _unix_ns(text: str) -> int:
    """Seconds up to 10^11 (the year 5138), then ms, us, ns by magnitude; exact, unlike a float's 53 bits."""
    value = Decimal(text)
    for limit, factor in ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3)):
        if abs(value) < limit:
            return int(value * factor)
    return int(value) if abs(value) <= _LAST_NS else -1


def label_hash(labels: Mapping[str, str]) -> str:
    """A stand-in for the sender's own fingerprint: the same label set gives the same 16 hex digits."""
    return hashlib.sha256(raw(sorted(labels.items())).encode()).hexdigest()[:16]
