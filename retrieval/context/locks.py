"""Who waits for whom: a thread dump's wait-for graph, its cycles, and the locks that are fought for (row A13). Pure.

A thread waits for at most one lock, so that the graph has one edge a thread and its cycles are found in one pass. A
cycle in it is a deadlock (Coffman, Elphick, Shoshani 1971). What the runtime itself found is taken as it says.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from retrieval.model import DumpedThread, Frame, ThreadDump

MIN_WAITERS = 2  # one thread that waits for a lock for a moment is how locks work


class Contended(Struct, frozen=True):
    """A lock that threads wait for; `holder` is "" where the dump does not tell who has it."""

    lock: str
    what: str
    holder: str
    waiters: tuple[str, ...]


def wait_for_graph(threads: Sequence[DumpedThread]) -> dict[int, int]:
    """Index of a waiting thread -> index of the one that holds what it waits for; the first holder where a lock is
    shared."""
    holders: dict[str, int] = {}
    for at, thread in enumerate(threads):
        for lock in thread.holds:
            holders.setdefault(lock, at)
    waits = ((at, holders.get(thread.waits_for)) for at, thread in enumerate(threads) if thread.waits_for)
    return {at: holder for at, holder in waits if holder is not None and holder != at}


def cycles(graph: Mapping[int, int]) -> list[tuple[int, ...]]:
    """Every cycle, each beginning with its smallest index, in the order of these."""
    found: list[tuple[int, ...]] = []
    done: set[int] = set()
    for start in sorted(graph):
        path: list[int] = []
        seen: dict[int, int] = {}
        at: int | None = start
        while at is not None and at not in done and at not in seen:
            seen[at] = len(path)
            path.append(at)
            at = graph.get(at)
        if at is not None and at in seen:
            ring = path[seen[at] :]
            first = ring.index(min(ring))
            found.append(tuple(ring[first:] + ring[:first]))
        done.update(path)
    return sorted(found)


def deadlocks(dump: ThreadDump) -> tuple[tuple[DumpedThread, ...], ...]:
    """The threads of each deadlock: those that the runtime names, then the cycles that it does not."""
    by_name: dict[str, DumpedThread] = {}
    for thread in dump.threads:
        by_name.setdefault(thread.name, thread)
    named = [tuple(by_name[name] for name in names if name in by_name) for names in dump.deadlocks]
    derived = [tuple(dump.threads[at] for at in ring) for ring in cycles(wait_for_graph(dump.threads))]
    found: dict[frozenset[str], tuple[DumpedThread, ...]] = {}
    for ring in [*named, *derived]:
        if ring:
            found.setdefault(frozenset(thread.name for thread in ring), ring)
    return tuple(found.values())


def contended(dump: ThreadDump) -> tuple[Contended, ...]:
    """Locks with at least `MIN_WAITERS` threads in front of them, the longest queue first."""
    waiters: dict[str, list[str]] = defaultdict(list)
    holders: dict[str, str] = {}
    for thread in dump.threads:
        for lock in thread.holds:
            holders.setdefault(lock, thread.name)
        if thread.waits_for:
            waiters[thread.waits_for].append(thread.name)
    found = [
        Contended(lock, dump.locks.get(lock, ""), holders.get(lock, ""), tuple(names))
        for lock, names in waiters.items()
        if len(names) >= MIN_WAITERS and (lock in holders or not _is_idle(dump, lock))
    ]
    return tuple(sorted(found, key=lambda c: (-len(c.waiters), c.lock)))


# Threads of a pool park on the pool or on its queue's condition until there is work: a queue of nobody's making.
_IDLE = ("ForkJoinPool", "ConditionObject", "SynchronousQueue", "ReferenceQueue", "CompletableFuture", "CountDownLatch",
         "WaitGroup", "Cond")  # fmt: skip


def _is_idle(dump: ThreadDump, lock: str) -> bool:
    return any(name in dump.locks.get(lock, "") for name in _IDLE)


def place_of(thread: DumpedThread) -> Frame | None:
    """Where the application's own code stands in a thread: its innermost frame, None where there is none."""
    own = [frame for frame in thread.frames if frame.in_app]
    return own[-1] if own else None
