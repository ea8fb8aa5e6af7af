"""What dumps and profiles of an incident say: what kind of trouble it is, and in which functions it shows (row A13).

Pure. A report counts for the incident when it is of a service on the failing path (or of no named one) and was taken
from the window's beginning to a day after the onset; one without a time counts as taken at the onset.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from retrieval.context.locks import Contended, contended, deadlocks
from retrieval.context.profiles import Comparison, comparisons, hottest
from retrieval.model import Case, Commit, DumpedThread, Frame, Profile, ProfileRow, ThreadDump
from retrieval.model.paths import module_path, repo_path, stable_path
from retrieval.model.signatures import frame_path, frame_qualname, frame_symbol, symbol_at

_LINES, _LINE = 2_000, 1_000  # lines of a commit that are looked at, and characters of each
DAY_NS = 86_400 * 10**9
FRAME_DECAY = 0.7  # as in the ranking of a crash's frames
# What is seen in a deadlock is its place; a queue in front of a lock, or a hot function, may be a healthy one.
DEADLOCKED, HOLDING, GROWN, HOT = 1.0, 0.6, 0.8, 0.4

LOCKS, MEMORY, TIME = "locks", "memory", "time"
_ASKED = {
    LOCKS: re.compile(r"dead-?lock|lock wait|lock contention|stuck thread|\bhung\b|thread pool exhaust|BLOCKED", re.I),
    MEMORY: re.compile(r"out of ?memory|\boom\b|OOMKilled|memory|heap|\bleak|\bgc\b|garbage", re.I),
    TIME: re.compile(r"\bcpu\b|load average|throttl", re.I),
}
# Words of code that takes locks, keeps things, or allocates and loops; of a changed line, in any language.
_CODE = {
    LOCKS: re.compile(
        r"\block|unlock|\bmutex|semaphore|synchronized|\bacquire\(|\brelease\(|ReentrantLock|RWLock|RWMutex|\bjoin\(|"
        r"FOR UPDATE|Condition\b|\bwait\(|notify|\bLatch|barrier",
        re.I,
    ),
    MEMORY: re.compile(
        r"cache|\bmemo|lru|\bappend\(|\.put\(|\.add\(|\bpush\(|\bnew\s+byte\[|\bmake\(|malloc|buffer|\bpool|"
        r"^[^=]{0,200}\w\[[^\]=]{1,200}\]\s*=(?!=)|setdefault\(|\bset\(|max_?size|evict|\bttl\b|expire|static\s+(?:final\s+)?(?:Map|List|HashMap|ArrayList)",
        re.I,
    ),
    TIME: re.compile(r"\bwhile\b|\bfor\b|re\.compile|Pattern\.compile|regex|sort|deepcopy|json|sleep|retry", re.I),
}
WORDS = {
    LOCKS: "lock unlock mutex synchronized semaphore acquire release deadlock",
    MEMORY: "cache append put buffer pool allocate evict ttl maxsize leak",
    TIME: "loop sort regex compile parse cache retry",
}


class Observed(Struct, frozen=True, kw_only=True):
    """`symptom` is locks, memory, time or "" where neither a report nor the alert's words tell. `places` are functions
    (`path::name`) with how strongly they are seen in it, 0..1."""

    symptom: str = ""
    dumps: tuple[ThreadDump, ...] = ()
    compared: tuple[Comparison, ...] = ()
    profiles: tuple[Profile, ...] = ()
    places: tuple[tuple[str, float], ...] = ()


def observed(case: Case) -> Observed:
    """Everything above, from the case alone."""
    dumps = tuple(d for d in case.sources.dumps if _counts(case, d.service, d.time_ns))
    onset = case.onset.at_ns if case.onset else 0
    ours = tuple(p for p in case.sources.profiles if _counts(case, p.service, p.time_ns, p.baseline))
    compared = tuple(c for c in comparisons(ours, onset) if c.grown)
    found = Observed(dumps=dumps, compared=compared, profiles=ours)
    weights: dict[str, float] = {}
    for place, weight in _places(case, found):
        weights[place] = max(weights.get(place, 0.0), round(weight, 6))
    ordered = tuple(sorted(weights.items(), key=lambda item: (-item[1], item[0])))
    return Observed(symptom=_symptom(case, found), dumps=dumps, compared=compared, profiles=ours, places=ordered)


def _counts(case: Case, service: str, time_ns: int, baseline: bool = False) -> bool:
    named = {*case.topology.path, *(a.service for a in case.alerts), *(c.service for c in case.crashes)} - {""}
    if service and named and service not in named:
        return False
    if not time_ns or baseline or case.window is None or case.onset is None:
        return True
    return case.window.from_ns <= time_ns < case.onset.at_ns + DAY_NS


def _symptom(case: Case, found: Observed) -> str:
    if any(deadlocks(dump) for dump in found.dumps):
        return LOCKS
    for comparison in found.compared:
        return MEMORY if comparison.after.kind == "heap" else TIME
    told = " ".join([f"{a.name} {a.summary}" for a in case.alerts] + [c.signature.type for c in case.crashes[:1]])
    asked = next((name for name, words in _ASKED.items() if words.search(told)), "")
    return asked or (LOCKS if any(contended(dump) for dump in found.dumps) else "")


def _places(case: Case, found: Observed) -> Iterator[tuple[str, float]]:
    for dump in found.dumps:
        for ring in deadlocks(dump):
            for thread in ring:
                yield from _of_thread(case, thread, DEADLOCKED)
        by_name = {thread.name: thread for thread in dump.threads}
        for lock in contended(dump):
            if lock.holder in by_name:
                yield from _of_thread(case, by_name[lock.holder], HOLDING)
    for comparison in found.compared:
        for growth in comparison.grown:
            yield from _of_row(case, growth.row, GROWN)
    if not found.compared:
        hot = [row for p in found.profiles if p.kind == "cpu" and (row := hottest(p)) is not None]
        for row in hot:
            yield from _of_row(case, row, HOT)


def _of_thread(case: Case, thread: DumpedThread, weight: float) -> Iterator[tuple[str, float]]:
    own = [frame for frame in reversed(thread.frames) if frame.in_app and frame.file]
    for depth, frame in enumerate(own[:20]):
        yield place_of_frame(case, frame), weight * FRAME_DECAY**depth


def _of_row(case: Case, row: ProfileRow, weight: float) -> Iterator[tuple[str, float]]:
    place = place_of_row(case, row)
    if place:
        yield place, weight


def place_of_frame(case: Case, frame: Frame) -> str:
    """`path::name` of a frame, by the repository where it is known there."""
    path = frame_path(frame, case.seen_files)
    if path is None:
        return f"{module_path(frame.module, frame.file) or stable_path(frame.file)}::{frame_qualname(frame)}"
    symbol = frame_symbol(frame, path, case.symbols)
    return symbol.symbol_id if symbol is not None else f"{path}::{frame_qualname(frame)}"


def place_of_row(case: Case, row: ProfileRow) -> str:
    """The same of a profile's row, "" where it is of nothing in the repository: a library's, or a class of nobody's.

    A row without a path is found by its class's file, else by its name, where a single function that is known here,
    or that a suspect commit touched, has it.
    """
    path = next((found for name in printed_paths(row) if (found := repo_path(name, case.seen_files))), None)
    bare = _BARE.search(row.site)
    qualname = ".".join(part for part in (bare[1], bare[2]) if part) if bare else ""
    if path is None:
        return "" if row.path else _by_name(case, qualname)
    symbol = symbol_at(case.symbols, path, row.line)
    if symbol is not None:
        return symbol.symbol_id
    if row.path:
        return f"{path}::{row.site.replace('.<locals>', '')}"
    return f"{path}::{qualname}"


# `main.(*Cache).Put`, `shop/Pay.charge`, `shop.Pay.charge_[j]`, `shop.Cart$Line`: the last name and the type before it.
_BARE = re.compile(r"(?:\(?\*?([A-Z]\w{0,200})\)?[.$])?(\w{1,200}?)(?:_\[\w\])?$")


def _by_name(case: Case, qualname: str) -> str:
    known = {s.symbol_id for s in case.symbols} | {i for suspect in case.suspects for i in suspect.symbols}
    fitting = sorted(i for i in known if qualname and i.partition("::")[2] == qualname)
    return fitting[0] if len(fitting) == 1 else ""


def printed_paths(row: ProfileRow) -> tuple[str, ...]:
    """The paths that a row may mean: its own, or that of the Java class that it is, or is a method of (async-profiler
    writes `shop/Pay.charge`)."""
    if row.path:
        return (row.path,)
    outer = re.sub(r"_\[\w\]$", "", row.site).replace("/", ".").partition("$")[0]
    owner = outer.rpartition(".")[0]
    named = (name for name in (outer, owner) if "." in name and name[0].isalpha())
    return tuple(module_path(name, f"{name.rpartition('.')[2]}.java") for name in named)


def seen_files(case: Case, files_of: Callable[[str], Collection[str]]) -> tuple[str, ...]:
    """The repository's files that dumps and profiles name, so that the stages after need not read it."""
    found: set[str] = set()
    for dump in case.sources.dumps:
        files = files_of(dump.service or _service(case))
        frames = {(f.module, f.file): f for t in dump.threads for f in t.frames if f.file}
        found.update(path for f in frames.values() if (path := frame_path(f, files)))
    for profile in case.sources.profiles:
        files = files_of(profile.service or _service(case))
        printed = sorted({name for row in profile.rows for name in printed_paths(row)})
        found.update(path for name in printed if (path := repo_path(name, files)))
    return tuple(sorted(found))


def seen_service(case: Case) -> str:
    """Whose dumps and profiles these are: the first that names a service, else the alert's."""
    named = [d.service for d in case.sources.dumps] + [p.service for p in case.sources.profiles]
    return next((name for name in named if name and _counts(case, name, 0)), "") or _service(case)


def _service(case: Case) -> str:
    return next((a.service for a in case.alerts if a.service), "")


def touches(commit: Commit, symptom: str) -> bool:
    """Whether a commit's changed lines speak of locks, of what is kept, or of loops, as the symptom asks."""
    words = _CODE.get(symptom)
    if words is None:
        return False
    lines = (line for f in commit.files for hunk in f.hunks for line in (*hunk.added, *hunk.removed))
    return any(words.search(line[:_LINE]) for line in islice(lines, _LINES))


LONG_QUEUE = 5  # waiting threads; where nobody is known to hold the lock, a shorter queue tells nothing


def queue(dumps: Sequence[ThreadDump]) -> tuple[ThreadDump, Contended] | None:
    """The longest queue in front of a lock, of all dumps; of locks whose holder is not told (Go tells of none) only
    long ones."""
    found: Iterable[tuple[ThreadDump, Contended]] = (
        (dump, lock) for dump in dumps for lock in contended(dump) if lock.holder or len(lock.waiters) >= LONG_QUEUE
    )
    return min(found, key=lambda pair: (-len(pair[1].waiters), str(pair[0].source), pair[1].lock), default=None)
