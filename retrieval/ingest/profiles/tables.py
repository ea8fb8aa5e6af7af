"""Tables with a header: `jmap -histo` (classes alive, instances, bytes) and `go tool pprof -top` (flat and cum)."""

import re

from retrieval.ingest.profiles.base import amount, heaviest, row_of, unit_of
from retrieval.model import Profile, ProfileRow

_HISTO = re.compile(r"\s*num\s+#instances\s+#bytes\s+class name", re.MULTILINE)
_CLASS = re.compile(r"\s*\d{1,9}:\s+(\d{1,18})\s+(\d{1,18})\s+(\S{1,500})(?: \(\S{1,200}\))?\s*$")
_ALL = re.compile(r"Total\s+(\d{1,18})\s+(\d{1,18})\s*$")
_TOP = re.compile(r"^\s*flat\s+flat%\s+sum%\s+cum\s+cum%", re.MULTILINE)
_TYPE = re.compile(r"^Type: (\w{1,40})", re.MULTILINE)
_ROW = re.compile(
    r"\s*(\S{1,30})\s+[\d.]{1,12}%\s+[\d.]{1,12}%\s+(\S{1,30})\s+[\d.]{1,12}%\s+(\S.{0,500}?)(?: \(inline\))?\s*$"
)
_OF = re.compile(r"% of (\S{1,30}) total")
# pprof prints sizes in powers of 1024 under decimal names (internal/measurement).
_BINARY = {"": 1.0, "b": 1.0, "kb": 2.0**10, "mb": 2.0**20, "gb": 2.0**30, "tb": 2.0**40}


def jmap(text: str) -> Profile | None:
    """Names of classes as the JVM prints them (`[B` is an array of bytes)."""
    if not _HISTO.search(text[:20_000]):
        return None
    rows: list[ProfileRow] = []
    total = 0
    for line in text.splitlines():
        if match := _CLASS.match(line):
            size = int(match[2])
            rows.append(ProfileRow(site=match[3], own=size, total=size, count=int(match[1])))
        elif whole := _ALL.match(line):
            total = int(whole[2])
    if not rows:
        return None
    total = total or sum(row.own for row in rows)
    return Profile(kind="heap", format="jmap", unit="bytes", total=total, rows=heaviest(rows))


def pprof(text: str) -> Profile | None:
    """The text of `-top`; a type that speaks of space or objects is a heap report, any other one tells of time."""
    if not _TOP.search(text[:20_000]):
        return None
    named = _TYPE.search(text[:20_000])
    kind = "heap" if named and re.search(r"space|objects|alloc|inuse", named[1]) else "cpu"
    found = [match for line in text.splitlines() if (match := _ROW.match(line))]
    units = _BINARY if kind == "heap" else None
    rows = []
    for match in found:
        own, total = amount(match[1], units), amount(match[2], units)
        if own is not None and total is not None:
            rows.append(row_of(match[3], own, total))
    if not rows:
        return None
    whole = _OF.search(text[:20_000])
    total = (amount(whole[1], units) if whole else None) or max(row.total for row in rows)
    unit = unit_of(match[2] for match in found)
    return Profile(kind=kind, format="pprof", unit=unit, total=total, rows=heaviest(rows))
