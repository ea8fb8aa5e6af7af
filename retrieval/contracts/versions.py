"""Contract files of a case folder: which are versions of one another, in which order, and when each came. Pure.

A version is told by a folder or a part of the file's name (`v1/openapi.yaml`, `openapi-2.1.yaml`,
`2025-05-14T06:30:00Z/api.proto`, `api@3f9c2ab.proto`, `before/` and `after/`). What is left of the path is the family.
Words for before mean what ran before the incident's rollout, words for after, and no word at all, what ran at it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from msgspec import Struct

from retrieval.contracts.difference import Versions, differences
from retrieval.contracts.formats import CONTRACT_FORMATS
from retrieval.model import Contract, ContractChange, Deploy

BEFORE = frozenset({"before", "old", "previous", "prev", "base", "good", "baseline", "last-good", "last_good", "from"})
AFTER = frozenset({"after", "new", "current", "head", "deployed", "bad", "to", "latest"})
_DATE = r"\d{4}-\d\d-\d\d(?:[T_ ]\d\d[:.-]?\d\d(?:[:.-]?\d\d)?Z?)?"
_NUMBER = r"[vV]?\d{1,9}(?:\.\d{1,9}){0,3}"
_SHA = r"(?=[0-9a-f]*\d)[0-9a-f]{7,40}"
_WORDS = "|".join(sorted(BEFORE | AFTER, key=lambda w: (-len(w), w)))
_VERSION = re.compile(rf"{_DATE}|{_SHA}|{_NUMBER}|{_WORDS}", re.I)
_IN_NAME = re.compile(
    rf"(?P<stem>.+?)[._@-](?P<version>{_DATE}|{_SHA}|[vV]\d+(?:\.\d+)*|\d+(?:\.\d+)+|\d+|{_WORDS})", re.I
)


class Place(Struct, frozen=True):
    """Where a file belongs: its family and its version, "" where its path tells none."""

    family: str
    version: str


def place_of(path: str) -> Place:
    """`path` is relative to the service's folder."""
    pure = PurePosixPath(path)
    for at, part in enumerate(pure.parts[:-1]):
        if _VERSION.fullmatch(part):
            rest = (*pure.parts[:at], *pure.parts[at + 1 :])
            return Place("/".join(rest), part)
    # A name may have several endings (`.schema.json`), of which none is a version.
    name, _, endings = (
        pure.name.partition(".") if not _IN_NAME.fullmatch(pure.stem) else (pure.stem, "", pure.suffix[1:])
    )
    if match := _IN_NAME.fullmatch(name):
        left = "/".join((*pure.parts[:-1], f"{match['stem']}.{endings}"))
        return Place(left, match["version"])
    return Place(path, "")


def versions_changes(contracts: Iterable[Contract], deploys: Sequence[Deploy]) -> tuple[ContractChange, ...]:
    """What consecutive versions of each family changed, and what each migration does."""
    families: dict[tuple[str, str, str], list[Contract]] = defaultdict(list)
    found: list[ContractChange] = []
    for contract in contracts:
        if CONTRACT_FORMATS[contract.format].steps:
            found += _compared(None, contract, deploys)
        else:
            families[contract.service, contract.format, contract.family].append(contract)
    for key in sorted(families):
        for one, other in pairwise(sorted(families[key], key=_order)):
            found += _compared(one, other, deploys)
    return tuple(found)


def _compared(one: Contract | None, other: Contract, deploys: Sequence[Deploy]) -> tuple[ContractChange, ...]:
    return differences(
        CONTRACT_FORMATS[other.format],
        Versions(
            service=other.service,
            path=other.family,
            before=one.elements if one else (),
            after=other.elements,
            version=other.version,
            reached_ns=_reached(other, deploys),
            source=other.source.file,
        ),
    )


def _order(contract: Contract) -> tuple[int, int, tuple[int, ...], str]:
    version = contract.version.lower()
    rank = 0 if version in BEFORE else 2 if version in AFTER or not version else 1
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:8]) if not contract.time_ns else ()
    return rank, contract.time_ns or 0, numbers, contract.source.file


def _reached(contract: Contract, deploys: Sequence[Deploy]) -> int | None:
    """When a version came: its own time, else that of the first deploy of the commit that it is named after. A
    migration bears the time at which it was written, and comes with the next deploy."""
    if contract.time_ns is not None and CONTRACT_FORMATS[contract.format].steps:
        later = [d.started_ns for d in deploys if d.service == contract.service and d.started_ns >= contract.time_ns]
        return min(later, default=contract.time_ns)
    if contract.time_ns is not None:
        return contract.time_ns
    version = contract.version.lower()
    if re.fullmatch(_SHA, version):
        own = [d.started_ns for d in deploys if d.service == contract.service and d.git_sha.startswith(version)]
        return min(own, default=None)
    return None


def is_current(version: str) -> bool:
    """Whether a version says that it is what ran at the incident."""
    return not version or version.lower() in AFTER
