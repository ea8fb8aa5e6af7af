"""Thread dumps of the JVM: `jstack` and SIGQUIT (HotSpot, JDK 8 and later), `jcmd Thread.dump_to_file` as text and as
JSON (JDK 21 and later, with virtual threads; https://openjdk.org/jeps/444).

A thread that waits for a notification on a monitor (`waiting on`) has given that monitor up: it neither holds it nor
waits for another thread's. Parking names what is parked on; only a lock that some thread is shown to own has a holder.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from retrieval.languages.dumping import MAX_DUMPS, MAX_FRAMES, folded
from retrieval.languages.java.traces import LANGUAGE, read_frame
from retrieval.languages.lines import split_lines
from retrieval.model import DumpedThread, Frame, ThreadDump

_DUMP = re.compile(r"Full thread dump (.{1,200}):\s*$")
_THREAD = re.compile(r'"(.{0,500}?)"(?: #\d+)?(?: \[\d+\])?(?: .*)?(?: prio=|os_prio=|tid=).*$')
_TO_FILE = re.compile(r'#(\d{1,19}) "(.{0,500}?)"( virtual)?(?: ([A-Z_]{3,20}))?(?: \d{4}-\S+)?$')
_STATE = re.compile(r"\s+java\.lang\.Thread\.State: (.{1,80})$")
_LOCK = re.compile(
    r"\s+- (locked|waiting to lock|waiting on|waiting to re-lock in wait\(\)|parking to wait for|eliminated)\s+"
    r"<([^<>]{1,300})>(?: \(an? (.{1,300})\))?$"
)
_OWNED = re.compile(r"\s+- <(0x[0-9a-f]+)>(?: \(an? (.{1,300})\))?$")
_FOUND = re.compile(r"Found (?:one|\d+) Java-level deadlocks?:?\s*$")
_MEMBER = re.compile(r'"(.{0,500})":$')
_LAST = re.compile(r"Found \d+ deadlocks?\.|Java stack information for the threads")
_WANTED = frozenset({"waiting to lock", "parking to wait for", "waiting to re-lock in wait()"})


class _Open(Struct):
    name: str
    line: int
    virtual: bool = False
    state: str = ""
    frames: list[Frame] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)
    wants: str = ""
    given_up: set[str] = field(default_factory=set)

    def close(self) -> DumpedThread:
        return DumpedThread(
            name=self.name,
            state=self.state,
            frames=tuple(reversed(self.frames)),
            holds=tuple(h for h in dict.fromkeys(self.holds) if h != self.wants and h not in self.given_up),
            waits_for=self.wants,
            virtual=self.virtual,
            line=self.line,
        )


class _Dump(Struct):
    headline: str
    threads: list[DumpedThread] = field(default_factory=list)
    locks: dict[str, str] = field(default_factory=dict)
    deadlocks: list[tuple[str, ...]] = field(default_factory=list)
    open: _Open | None = None

    def end(self) -> None:
        if self.open is not None:
            self.threads.append(self.open.close())
            self.open = None

    def close(self) -> ThreadDump:
        self.end()
        threads, dropped = folded(self.threads)
        return ThreadDump(
            language=LANGUAGE,
            headline=self.headline,
            threads=threads,
            dropped=dropped,
            locks=dict(sorted(self.locks.items())),
            deadlocks=tuple(self.deadlocks),
        )


def read_dumps(text: str) -> list[ThreadDump]:
    """Every dump in a text, which may be a log with other lines in it. Never raises."""
    if '"threadDump"' in text[:200]:
        return _of_json(text)
    dumps: list[_Dump] = []
    lines = split_lines(text)
    at = 0
    while at < len(lines):
        line = lines[at]
        if header := _DUMP.search(line):
            if len(dumps) >= MAX_DUMPS:
                break
            dumps.append(_Dump(header[1]))
        elif not dumps and _TO_FILE.match(line) and at < 10:
            dumps.append(_Dump(lines[2].strip() if at > 2 else ""))
            _feed(dumps[-1], line, at + 1)
        elif dumps and _FOUND.match(line):
            dumps[-1].end()
            at = _deadlocks(lines, at + 1, dumps[-1])
            continue
        elif dumps:
            _feed(dumps[-1], line, at + 1)
        at += 1
    return [dump for dump in (d.close() for d in dumps) if dump.threads]


def _feed(dump: _Dump, line: str, number: int) -> None:
    """One line of a dump; what is no part of a thread ends the one before."""
    opened = dump.open
    if line.startswith('"') and (thread := _THREAD.match(line)):
        dump.end()
        dump.open = _Open(thread[1], number)
    elif line.startswith("#") and (thread := _TO_FILE.match(line)):
        dump.end()
        dump.open = _Open(thread[2] or f"#{thread[1]}", number, bool(thread[3]), thread[4] or "")
    elif opened is None:
        return
    elif state := _STATE.match(line):
        opened.state = state[1]
    elif frame := read_frame(line):
        if len(opened.frames) < MAX_FRAMES:
            opened.frames.append(frame)
    elif lock := _LOCK.match(line):
        _lock(dump, opened, lock)
    elif owned := _OWNED.match(line):
        opened.holds.append(owned[1])
        dump.locks.setdefault(owned[1], owned[2] or "")
    elif line.strip() and not line[0].isspace():
        dump.end()


def _lock(dump: _Dump, opened: _Open, match: re.Match[str]) -> None:
    kind, identity = match[1], match[2]
    dump.locks.setdefault(identity, match[3] or identity.rpartition("@")[0])
    if kind == "locked":
        opened.holds.append(identity)
    elif kind in _WANTED and not opened.wants:
        opened.wants = identity
    elif kind == "waiting on":
        opened.given_up.add(identity)


def _deadlocks(lines: list[str], at: int, dump: _Dump) -> int:
    """The cycles that the runtime found; returns the line after the last of its report."""
    members: list[str] = []
    while at < len(lines):
        line = lines[at]
        if member := _MEMBER.match(line):
            members.append(member[1])
        elif _FOUND.match(line) or _LAST.match(line):
            if len(members) > 1:
                dump.deadlocks.append(tuple(members))
            members = []
            if _LAST.match(line):
                return at + 1
        at += 1
    if len(members) > 1:
        dump.deadlocks.append(tuple(members))
    return at


def _of_json(text: str) -> list[ThreadDump]:
    try:
        told = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return []
    dump = _mapping(_mapping(told).get("threadDump"))
    made = _Dump(str(dump.get("runtimeVersion", ""))[:200])
    for container in _list(dump.get("threadContainers")):
        for thread in _list(_mapping(container).get("threads")):
            made.end()
            made.open = _of_object(_mapping(thread), made)
    closed = made.close()
    return [closed] if closed.threads else []


def _of_object(thread: Mapping[str, Any], dump: _Dump) -> _Open:
    """One thread of the JSON form; a lock is named by its class and identity."""
    wants = _mapping(thread.get("parkBlocker")).get("object") or thread.get("blockedOn") or ""
    opened = _Open(
        str(thread.get("name") or f"#{thread.get('tid', '')}")[:500],
        0,
        thread.get("virtual") is True,
        str(thread.get("state", ""))[:80],
        wants=str(wants)[:300],
    )
    stack = (read_frame(f" at {line}") for line in _list(thread.get("stack"))[:MAX_FRAMES])
    opened.frames = [frame for frame in stack if frame is not None]
    for depth in _list(thread.get("monitorsOwned")):
        opened.holds += [str(lock)[:300] for lock in _list(_mapping(depth).get("locks")) if isinstance(lock, str)]
    if thread.get("waitingOn"):
        opened.given_up.add(str(thread["waitingOn"])[:300])
    for lock in (opened.wants, *opened.holds):
        if lock:
            dump.locks.setdefault(lock, lock.rpartition("@")[0])
    return opened


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
