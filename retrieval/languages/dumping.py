"""What the thread dumps of all runtimes share: bounds, folding of equal threads, where a name may hold more text."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from retrieval.model import DumpedThread, ThreadDump

MAX_THREADS = 2_000  # of one dump, after equal ones were folded
MAX_FRAMES = 100  # of one thread: the innermost, since they tell what it is doing
MAX_DUMPS = 50  # of one text

ReadDumps = Callable[[str], list[ThreadDump]]


def folded(threads: Iterable[DumpedThread]) -> tuple[tuple[DumpedThread, ...], int]:
    """Threads in the order of the dump; those that do the same and hold and await nothing of their own are one with a
    count, under the first one's name. Pools of hundreds of idle threads are the rule.

    Also how many were left out beyond `MAX_THREADS`.
    """
    dropped = 0
    kept: dict[object, DumpedThread] = {}
    for number, thread in enumerate(threads):
        places = tuple((f.file, f.function, f.line) for f in thread.frames)
        alike = places and not thread.holds and not thread.waits_for
        key: object = (thread.state, places, thread.virtual) if alike else number
        if key in kept:
            before = kept[key]
            kept[key] = replace(
                before, count=before.count + thread.count, waits_ns=max(before.waits_ns, thread.waits_ns)
            )
        elif len(kept) < MAX_THREADS:
            kept[key] = thread
        else:
            dropped += thread.count
    return tuple(kept.values()), dropped
