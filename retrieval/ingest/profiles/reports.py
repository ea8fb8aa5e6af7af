"""Allocation sites of Python: `tracemalloc`'s statistics as they print themselves, and the text of `memray stats`."""

import re

from retrieval.ingest.profiles.base import amount, heaviest, row_of
from retrieval.model import Profile, ProfileRow

_STATISTIC = re.compile(
    r"(?:#?\d{1,6}: )?(\S.{0,1000}?):(\d{1,9}): size=([\d.]{1,20} \w{1,4})(?: \([-+][\d.]{1,20} \w{1,4}\))?"
    r", count=(\d{1,18})(?: \([-+]\d{1,18}\))?(?:, average=.{1,40})?$"
)
_LOCATION = re.compile(r"\s*- (\S.{0,300}?):(\S.{0,1000}):(\d{1,9}) -> (\S{1,30})\s*$")
_BY_SIZE = re.compile(r"largest allocating locations \(by size\)")
_BY_COUNT = re.compile(r"largest allocating locations \(by number")


def tracemalloc(text: str) -> Profile | None:
    """Of several snapshots in one text the last: a place that is named again has its later size."""
    sites: dict[tuple[str, int], ProfileRow] = {}
    for line in text.splitlines():
        match = _STATISTIC.match(line.strip())
        size = amount(match[3]) if match else None
        if match and size is not None:
            place = (match[1], int(match[2]))
            sites[place] = ProfileRow(
                site=f"{match[1]}:{match[2]}", own=size, total=size, count=int(match[4]), path=place[0], line=place[1]
            )
    if not sites:
        return None
    total = sum(row.own for row in sites.values())
    return Profile(kind="heap", format="tracemalloc", unit="bytes", total=total, rows=heaviest(sites.values()))


def memray(text: str) -> Profile | None:
    """The largest allocating locations, with bytes and, where it is listed too, the number of allocations."""
    if not _BY_SIZE.search(text):
        return None
    sizes: dict[tuple[str, str, str], int] = {}
    counts: dict[tuple[str, str, str], int] = {}
    into: dict[tuple[str, str, str], int] | None = None
    for line in text.splitlines():
        if _BY_SIZE.search(line):
            into = sizes
        elif _BY_COUNT.search(line):
            into = counts
        elif into is not None and (match := _LOCATION.match(line)):
            value = amount(match[4])
            if value is not None:
                into[match[1], match[2], match[3]] = value
        elif line.strip():
            into = None
    rows = [row_of(f"{n} ({f}:{at})", size, size, counts.get((n, f, at), 0)) for (n, f, at), size in sizes.items()]
    if not rows:
        return None
    return Profile(kind="heap", format="memray", unit="bytes", total=sum(r.own for r in rows), rows=heaviest(rows))
