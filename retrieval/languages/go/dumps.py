"""Goroutine dumps (src/runtime/traceback.go): SIGQUIT, fatal errors, pprof's `goroutine?debug=1|2`.

A dump names the lock that a goroutine waits for by the address that `lockSlow` was called with, and never who holds it.
Where the runtime died because all goroutines were asleep, those that wait are the deadlock that it speaks of.
"""

import re

from retrieval.languages.dumping import MAX_DUMPS, MAX_FRAMES, folded
from retrieval.languages.go.frames import in_app, qualname
from retrieval.languages.go.traces import LANGUAGE, read_frame
from retrieval.languages.lines import split_lines
from retrieval.model import DumpedThread, Frame, ThreadDump

_GOROUTINE = re.compile(r"^goroutine (\d{1,19}) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\]]{1,200})\]:$")
_WAITED = re.compile(r"(\d{1,9}) minutes")
_LOCK = re.compile(
    r"sync\.\(\*(?:(RWMutex)\)\.\w{1,20}|(Mutex)\)\.lockSlow|(WaitGroup)\)\.Wait|(Cond)\)\.Wait)\((0x[0-9a-f]+)"
)
_ASLEEP = "all goroutines are asleep"
_HEAD = re.compile(r"^(?:SIG[A-Z]{2,6}: .{1,100}|fatal error: .{1,300}|panic: .{1,300})$")
_PROFILE = re.compile(r"^goroutine profile: total \d{1,9}$")
_GROUP = re.compile(r"^(\d{1,9}) @( 0x[0-9a-f]+)+$")
_GROUP_FRAME = re.compile(r"^#\t0x[0-9a-f]+\t(\S{1,500})\+0x[0-9a-f]+\t+(\S{1,1000}):(\d{1,9})$")
_MINUTE_NS = 60 * 10**9


def read_dumps(text: str) -> list[ThreadDump]:
    """Every dump in a text, which may be a log with other lines in it. Never raises."""
    if "goroutine " not in text:
        return []
    lines = split_lines(text)
    dumps: list[tuple[str, list[DumpedThread], dict[str, str]]] = []
    headline, fresh, at = "", True, 0
    while at < len(lines) and len(dumps) <= MAX_DUMPS:
        if head := _HEAD.match(lines[at]):
            headline, fresh = head[0], True
        elif _PROFILE.match(lines[at]):
            dumps.append((lines[at], *_profile(lines, at + 1)))
        elif match := _GOROUTINE.match(lines[at]):
            if fresh or not dumps:
                dumps.append((headline, [], {}))
                fresh = False
            thread, lock, at = _goroutine(lines, at, match)
            dumps[-1][1].append(thread)
            if thread.waits_for:
                dumps[-1][2][thread.waits_for] = lock
            continue
        at += 1
    return [_dump(*parts) for parts in dumps[:MAX_DUMPS] if parts[1]]


def _dump(headline: str, threads: list[DumpedThread], locks: dict[str, str]) -> ThreadDump:
    asleep = [t.name for t in threads if not t.state.endswith("(idle)") and t.state != "idle" and t.frames]
    dead = (tuple(asleep[:100]),) if _ASLEEP in headline and asleep else ()
    kept, dropped = folded(threads)
    return ThreadDump(
        language=LANGUAGE,
        headline=headline,
        threads=kept,
        locks=dict(sorted(locks.items())),
        deadlocks=dead,
        dropped=dropped,
    )


def _goroutine(lines: list[str], at: int, match: re.Match[str]) -> tuple[DumpedThread, str, int]:
    """One goroutine, the type of what it waits for, and the line after it."""
    state, _, more = match[2].partition(", ")
    waited = _WAITED.search(more)
    frames: list[Frame] = []
    wants = kind = ""
    start, at = at, at + 1
    while at < len(lines):
        frame = read_frame(lines, at)
        if frame is None:
            if lines[at].strip().startswith("...") and "elided" in lines[at]:
                at += 1
                continue
            break
        if not wants and (lock := _LOCK.search(lines[at])):
            kind, wants = next(part for part in lock.groups()[:4] if part), lock[5]
        if len(frames) < MAX_FRAMES:
            frames.append(frame)
        at += 2
    thread = DumpedThread(
        name=f"goroutine {match[1]}",
        state=state,
        frames=tuple(reversed(frames)),
        waits_for=wants,
        waits_ns=int(waited[1]) * _MINUTE_NS if waited else 0,
        line=start + 1,
    )
    return thread, f"sync.{kind}" if kind else "", at


def _profile(lines: list[str], at: int) -> tuple[list[DumpedThread], dict[str, str]]:
    """`goroutine?debug=1`: goroutines of the same stack, with their number."""
    threads: list[DumpedThread] = []
    while at < len(lines) and len(threads) < 10_000:
        group = _GROUP.match(lines[at])
        at += 1
        if not group:
            if lines[at - 1].startswith(("#", "1 @")) or not lines[at - 1].strip():
                continue
            break
        start = at
        frames: list[Frame] = []
        while at < len(lines) and (frame := _GROUP_FRAME.match(lines[at])):
            if len(frames) < MAX_FRAMES:
                place = frame[2]
                frames.append(Frame(file=place, function=qualname(frame[1]), line=int(frame[3]), in_app=in_app(place)))
            at += 1
        name = f"goroutines {len(threads) + 1}"
        threads.append(DumpedThread(name=name, frames=tuple(reversed(frames)), count=int(group[1]), line=start))
    return threads, {}
