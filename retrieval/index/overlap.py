"""How much of the program two records share: signatures, symbols, paths. Pure.

Symbols count by path and last name: a frame prints `path::method` where the symbol index has `path::Class.method`.
"""

from collections.abc import Collection, Iterable, Sequence

from retrieval.model import Document, Query


def items(record: Document | Query) -> frozenset[str]:
    """What a document or a query is compared by: tagged paths, symbols, error and stack signature."""
    found = {f"path\0{path}" for path in record.paths}
    found.update(f"symbol\0{plain_symbol(symbol)}" for symbol in record.symbols)
    if record.error_signature:
        found.add(f"error\0{record.error_signature}")
    if record.stack_signature:
        found.add(f"stack\0{record.stack_signature}")
    return frozenset(found)


def plain_symbol(symbol: str) -> str:
    """`a/b.py::Class.method` -> `a/b.py::method`."""
    path, separator, name = symbol.rpartition("::")
    return f"{path}{separator}{name.rpartition('.')[2]}"


def jaccard(shared: int, left: int, right: int) -> float:
    """|A and B| / |A or B|, 0 where both are empty."""
    union = left + right - shared
    return shared / union if union else 0.0


def symbol_overlap(query: Query, document: Document) -> float:
    """The A4 symbol overlap, 0..1: Jaccard over `items`; each join key that is asked for and met is an item of both."""
    asked, held = items(query), items(document)
    met = sum(document.keys.get(name) == value for name, value in query.keys.items())
    return jaccard(len(asked & held) + met, len(asked) + len(query.keys), len(held) + met)


def path_proximity(left: Iterable[str], right: Collection[str]) -> float:
    """The best pair's longest common run of path components over the longer path's length, 0..1 (row A4)."""
    split = [path.split("/") for path in right]
    return max(
        (_common_run(a.split("/"), b) / max(len(a.split("/")), len(b)) for a in left for b in split), default=0.0
    )


def _common_run(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common contiguous run."""
    best = 0
    above = [0] * (len(right) + 1)
    for part in left:
        row = [0] * (len(right) + 1)
        for at, other in enumerate(right, 1):
            if part == other:
                row[at] = above[at - 1] + 1
                best = max(best, row[at])
        above = row
    return best
