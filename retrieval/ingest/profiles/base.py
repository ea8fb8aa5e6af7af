"""What the readers of profiles share: bounds, sizes with units, the sum over stacks."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from retrieval.model import Profile, ProfileRow

MAX_ROWS = 2_000  # of one report: the heaviest
MAX_STACKS = 500  # whole stacks that are kept: the heaviest
MAX_DEPTH = 500  # frames of one stack

ReadProfile = Callable[[str], Profile | None]

_SIZE = re.compile(r"([-+]?\d+(?:\.\d+)?)\s?([A-Za-zµ]*)$")
# Decimal and binary units of bytes, and those of time; a bare number counts as it is.
_UNITS = {
    "": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30,
    "tib": 2.0**40, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "min": 60e9, "mins": 60e9,
    "h": 3600e9, "hrs": 3600e9,
}  # fmt: skip
_PLACE = re.compile(r"(.{1,300}?) \(([^()]{1,1000}\.\w{1,5}):(\d{1,9})\)$")


def amount(text: str, units: dict[str, float] | None = None) -> int | None:
    """`6.25MB` as bytes, `990ms` as nanoseconds, rounded; None for what is no such size."""
    found = _SIZE.match(text.strip().replace(",", ""))
    factor = (units or _UNITS).get(found[2].lower()) if found else None
    if found is None or factor is None:
        return None
    value = float(found[1]) * factor
    return round(value) if abs(value) < 2**62 else None


def unit_of(texts: Iterable[str]) -> str:
    """bytes or ns, by the first size that has a unit; samples where none has."""
    for text in texts:
        found = _SIZE.match(text.strip())
        if found and found[2]:
            return "bytes" if found[2].lower().endswith("b") else "ns"
    return "samples"


def heaviest(rows: Iterable[ProfileRow]) -> tuple[ProfileRow, ...]:
    return tuple(sorted(rows, key=lambda r: (-r.own, -r.total, -r.count, r.site))[:MAX_ROWS])


def of_stacks(format_name: str, unit: str, stacks: Counter[tuple[str, ...]]) -> Profile | None:
    """Own and total cost by frame; a frame that occurs twice in a stack counts once for its total."""
    if not stacks:
        return None
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for stack, cost in stacks.items():
        own[stack[-1]] += cost
        total.update(dict.fromkeys(stack, cost))
    rows = (row_of(site, own[site], total[site]) for site in total)
    kept = sorted(stacks.items(), key=lambda item: (-item[1], item[0]))[:MAX_STACKS]
    return Profile(
        kind="cpu",
        format=format_name,
        unit=unit,
        total=sum(stacks.values()),
        rows=heaviest(rows),
        stacks=tuple((";".join(stack), cost) for stack, cost in kept),
    )


def row_of(site: str, own: int, total: int, count: int = 0) -> ProfileRow:
    """A row whose site may bear its place, as py-spy writes it: `parse (work.py:4)`."""
    place = _PLACE.match(site)
    if place is None:
        return ProfileRow(site=site, own=own, total=total, count=count)
    return ProfileRow(site=place[1], own=own, total=total, count=count, path=place[2], line=int(place[3]))
