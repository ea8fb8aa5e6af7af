"""The filter columns of every document in memory, one slot a document, and the mask of what a query may see.

Columns only grow; a reader holds how many slots there were and which were alive when it began (`View`), so that it sees
one state whatever is written meanwhile.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrieval.index.embedded.postings import Segment, Slots
from retrieval.model import Query

Mask = NDArray[np.bool_]
Column = NDArray[Any]

_FEW = 8  # share of the slots, one of so many, from which on their numbers cost less than a mask

_CODED = ("kind", "service", "environment", "language", "snapshot")
_COLUMNS: dict[str, Any] = {
    **dict.fromkeys((*_CODED, "acl"), np.uint32),
    **dict.fromkeys(("rid", "time", "expires"), np.int64),
    "length": np.uint32,  # terms
    "norm": np.uint32,  # the same, as BM25 sees it
    "items": np.uint16,
    "vector": np.int32,  # -1: none
}


class Row(NamedTuple):
    """One document's columns. `acl` is its sorted tag set; `vector` is -1 where it has none."""

    rid: int
    id: str
    kind: str
    service: str
    environment: str
    language: str
    snapshot: str
    acl: tuple[str, ...]
    time: int
    expires: int
    length: int
    items: int
    vector: int


class Table:
    """Written by one thread at a time; read through `View`s."""

    def __init__(self) -> None:
        self.size = 0
        self.ids: list[str] = []
        self.columns: dict[str, Column] = {name: np.zeros(1024, dtype) for name, dtype in _COLUMNS.items()}
        self.codes: dict[str, dict[str, int]] = {name: {} for name in _CODED}
        self.tag_sets: dict[tuple[str, ...], int] = {}
        self.slot_of: dict[int, int] = {}  # rid -> slot

    def extend(self, rows: Sequence[Row], norms: Iterable[int]) -> None:
        """Add documents in new slots; nothing refers to them before a new view does."""
        self._reserve(self.size + len(rows))
        low, high = self.size, self.size + len(rows)
        held = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
        for name in _CODED:
            codes = self.codes[name]
            self.columns[name][low:high] = [codes.setdefault(value, len(codes)) for value in held[name]]
        self.columns["acl"][low:high] = [self.tag_sets.setdefault(tags, len(self.tag_sets)) for tags in held["acl"]]
        for name in ("rid", "time", "expires", "length", "items", "vector"):
            self.columns[name][low:high] = held[name]
        self.columns["norm"][low:high] = list(norms)
        self.ids.extend(held["id"])
        self.slot_of.update(zip(held["rid"], range(low, high), strict=True))
        self.size = high

    def _reserve(self, wanted: int) -> None:
        capacity = len(self.columns["rid"])
        if wanted <= capacity:
            return
        for name, column in self.columns.items():
            grown = np.zeros(max(wanted, capacity * 3 // 2), column.dtype)
            grown[: self.size] = column[: self.size]
            self.columns[name] = grown


@dataclass(frozen=True)
class View:
    """One state of the store. `live` marks the slots that exist; `lengths` is their terms in all."""

    size: int
    live: Mask
    documents: int
    lengths: int
    columns: dict[str, Column]
    codes: dict[str, dict[str, int]]
    tag_sets: dict[tuple[str, ...], int]
    ids: list[str]
    segments: tuple[Segment, ...]
    aliases: dict[str, str]


def make_view(table: Table, live: Mask, segments: tuple[Segment, ...], aliases: dict[str, str]) -> View:
    """The table's present state, to be published once all of it is durable."""
    lengths = int(table.columns["length"][: table.size][live].sum(dtype=np.int64))
    return View(
        size=table.size,
        live=live,
        documents=int(live.sum()),
        lengths=lengths,
        columns=dict(table.columns),
        codes=table.codes,
        tag_sets=table.tag_sets,
        ids=table.ids,
        segments=segments,
        aliases=dict(aliases),
    )


def filtered(view: View, query: Query, now_ns: int) -> Mask:
    """The slots that pass every filter of a query but its join keys: alive, not expired, in the window, of the wanted
    values, and with a tag of the reader's. Each filter looks only at what the ones before it left."""
    left = _Left(view.size)
    times = view.columns["time"]
    if (from_ns := query.from_ns) is not None:
        left.keep(times, lambda column: column >= from_ns)
    if (to_ns := query.to_ns) is not None:
        left.keep(times, lambda column: column < to_ns)
    wanted = {
        "kind": query.kinds,
        "service": query.services,
        "environment": (query.environment,) if query.environment else (),
        "language": (query.language,) if query.language else (),
        "snapshot": (view.aliases.get(query.snapshot, query.snapshot),),
    }
    for name, values in wanted.items():
        if values:
            left.keep(view.columns[name], partial(_any_of, codes=view.codes[name], values=values))
    tags = frozenset(query.acl)
    allowed = np.zeros(len(view.tag_sets) + 1, dtype=np.bool_)
    allowed[[code for held, code in list(view.tag_sets.items()) if tags.intersection(held)]] = True
    left.keep(view.columns["acl"], lambda column: allowed[column])
    left.keep(view.live, lambda column: column)
    left.keep(view.columns["expires"], lambda column: column > now_ns)
    return left.mask()


class _Left:
    """What filters have left of the slots: a mask while they are many, their numbers once they are few."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._mask: Mask | None = None
        self._slots: Slots | None = None

    def keep(self, column: Column, passes: Callable[[Column], Any]) -> None:
        if self._slots is not None:
            self._slots = self._slots[passes(column[self._slots])]
            return
        passed = np.asarray(passes(column[: self._size]))
        self._mask = passed if self._mask is None else self._mask & passed
        if _FEW * int(np.count_nonzero(self._mask)) <= self._size:
            self._slots = np.flatnonzero(self._mask)

    def mask(self) -> Mask:
        """A mask of the caller's own."""
        if self._slots is None and self._mask is not None:
            return self._mask.copy()
        mask = np.zeros(self._size, dtype=np.bool_)
        mask[self._slots if self._slots is not None else slice(None)] = True
        return mask


def _any_of(column: Column, *, codes: dict[str, int], values: Sequence[str]) -> Mask:
    known = [codes[value] for value in values if value in codes]
    if len(known) == 1:
        return np.asarray(column == known[0])
    allowed = np.zeros(len(codes) + 1, dtype=np.bool_)
    allowed[known] = True
    return np.asarray(allowed[column])
