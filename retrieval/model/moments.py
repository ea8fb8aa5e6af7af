"""Moments as people read them; always UTC."""

from datetime import UTC, datetime


def moment(time_ns: int) -> datetime:
    return datetime.fromtimestamp(time_ns // 1_000_000_000, tz=UTC)


def clock_of(time_ns: int) -> str:
    """`13:58`."""
    return moment(time_ns).strftime("%H:%M")


def date_of(time_ns: int) -> str:
    """`2025-03-11 13:58:04Z`."""
    return moment(time_ns).strftime("%Y-%m-%d %H:%M:%SZ")


def iso_of(time_ns: int) -> str:
    """RFC 3339 with milliseconds."""
    return moment(time_ns).strftime("%Y-%m-%dT%H:%M:%S.") + f"{time_ns // 1_000_000 % 1000:03d}Z"
