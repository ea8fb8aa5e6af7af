"""Which documents hold a term, and how often: immutable sorted segments in memory.

A term is its 64-bit BLAKE2b hash: a million distinct terms collide with a probability of 3e-8, and no dictionary has to
be kept. A segment is made from the rows of one commit or from two older segments; readers hold the tuple they began
with, so that writing never disturbs them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from retrieval.index.bm25 import MAX_COUNT

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
Slots = NDArray[np.intp]

MAX_SEGMENT = 65_536  # documents; bounds what a merge costs: half a second, 0.1 GB
_ENTRY = 9  # bytes: hash, count


@lru_cache(maxsize=65_536)
def term_hash(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def item_hash(item: str) -> int:
    """The hash of something exact (a path, a key); text terms hold no NUL, so that the two never meet."""
    return term_hash(f"\0{item}")


def pack(terms: Iterable[str], exact: Iterable[str]) -> bytes:
    """A document's postings as bytes: sorted hashes, then their counts; exact items have the count 0."""
    counts = {term_hash(term): count for term, count in Counter(terms).items()}
    counts.update((item_hash(item), 0) for item in exact)
    hashes = np.fromiter(counts.keys(), dtype="<u8", count=len(counts))
    order = np.argsort(hashes)
    capped = np.minimum(np.fromiter(counts.values(), dtype=np.int64, count=len(counts)), MAX_COUNT)
    return bytes(hashes[order].tobytes() + capped.astype(np.uint8)[order].tobytes())


@dataclass(frozen=True)
class Segment:
    """`hashes` ascending and distinct; the entries of hash i are [starts[i], starts[i+1]) of `slots` and `counts`,
    slots ascending. `documents` is how many documents went in."""

    hashes: U64
    starts: U32
    slots: Slots
    counts: U8
    documents: int

    def entries(self, term: int) -> tuple[Slots, U8]:
        """The slots and counts of one term."""
        wanted = np.uint64(term)
        at = int(np.searchsorted(self.hashes, wanted))
        if at == len(self.hashes) or self.hashes[at] != wanted:
            return self.slots[:0], self.counts[:0]
        low, high = int(self.starts[at]), int(self.starts[at + 1])
        return self.slots[low:high], self.counts[low:high]


def build(packed: Sequence[bytes], first_slot: int) -> Segment:
    """The segment of documents whose slots follow one another from `first_slot` on."""
    sizes = np.array([len(p) // _ENTRY for p in packed], dtype=np.int64)
    hashes = np.frombuffer(b"".join(p[: len(p) // _ENTRY * 8] for p in packed), dtype="<u8")
    counts = np.frombuffer(b"".join(p[len(p) // _ENTRY * 8 :] for p in packed), dtype=np.uint8)
    slots = np.repeat(np.arange(first_slot, first_slot + len(packed), dtype=np.intp), sizes)
    return _sorted(hashes, slots, counts, len(packed))


def append(segments: tuple[Segment, ...], new: Segment) -> tuple[Segment, ...]:
    """The segments with one more, the last ones merged so that there are few: each is at least twice the next."""
    kept = [*segments, new]
    while len(kept) >= 2 and _mergeable(kept[-2], kept[-1]):
        right = kept.pop()
        left = kept.pop()
        kept.append(_merged(left, right))
    return tuple(kept)


def _mergeable(left: Segment, right: Segment) -> bool:
    return left.documents < 2 * right.documents and left.documents + right.documents <= MAX_SEGMENT


def _merged(left: Segment, right: Segment) -> Segment:
    hashes = np.concatenate([np.repeat(s.hashes, np.diff(s.starts)) for s in (left, right)])
    slots = np.concatenate([left.slots, right.slots])
    counts = np.concatenate([left.counts, right.counts])
    return _sorted(hashes, slots, counts, left.documents + right.documents)


def _sorted(hashes: U64, slots: Slots, counts: U8, documents: int) -> Segment:
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    first = (
        np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]])) if len(hashes) else np.empty(0, np.int64)
    )
    starts = np.concatenate([first, [len(hashes)]]).astype(np.uint32)
    return Segment(hashes[first], starts, slots[order], counts[order], documents)
