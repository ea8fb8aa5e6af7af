"""Tags: a document is found by whoever holds one of its tags. Pure."""

from collections.abc import Iterable, Sequence


def may_read(held: Iterable[str], sets: Iterable[Sequence[str]]) -> bool:
    """Whether a reader of these tags may see what was made from documents with each of these tag sets."""
    mine = frozenset(held)
    return all(not mine.isdisjoint(tags) for tags in sets)


def covers(own: Sequence[str], other: Sequence[str]) -> bool:
    """Whether whoever may see a document with the tags `own` may see one with the tags `other` too, whatever tags they
    hold."""
    return frozenset(own) <= frozenset(other)
