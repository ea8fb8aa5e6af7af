"""What a process looked like from inside: threads, locks, profiles, heaps, covered lines (rows A1, A13).

`time_ns` is 0 where a report does not say when it was taken.
"""

from msgspec import Struct, field

from retrieval.model.code import Frame
from retrieval.model.telemetry import SourceRef


class DumpedThread(Struct, frozen=True, kw_only=True, rename={"name": "thread"}):
    """One thread, task or goroutine at the moment of the dump; frames **outermost first**.

    `holds` and `waits_for` are ids of locks as the runtime prints them. `waits_ns` is how long it has waited where
    the runtime tells, `count` how many threads of the same stack this one stands for. Stored, `name` is `thread`: a
    field of that name is taken for a person's wherever it holds two words, and threads are called `VM Thread`.
    """

    name: str
    state: str = ""  # as printed: BLOCKED (on object monitor), chan receive, active+gil, ...
    frames: tuple[Frame, ...] = ()
    holds: tuple[str, ...] = ()
    waits_for: str = ""
    waits_ns: int = 0
    count: int = 1
    virtual: bool = False
    line: int = 0  # in the file, 1-based


class ThreadDump(Struct, frozen=True, kw_only=True):
    """All threads of one process. `locks` gives what a lock is, by id, where it is known; `deadlocks` are the cycles
    that the runtime itself names, each the names of its threads."""

    language: str
    service: str = ""
    time_ns: int = 0
    headline: str = ""  # what the dump begins with: the runtime, or why the process died
    threads: tuple[DumpedThread, ...] = ()
    locks: dict[str, str] = field(default_factory=dict)
    deadlocks: tuple[tuple[str, ...], ...] = ()
    dropped: int = 0  # threads that were too many to keep
    source: SourceRef = SourceRef("")


class ProfileRow(Struct, frozen=True, kw_only=True):
    """One line of a profile: a function with its own and its total cost, or a class or allocation site with what lives
    there. `count` is in samples or objects, `own` and `total` in the profile's unit."""

    site: str
    own: int = 0
    total: int = 0
    count: int = 0
    path: str = ""
    line: int | None = None


class Profile(Struct, frozen=True, kw_only=True):
    """One profile or heap report. `kind` is cpu (where time went) or heap (what is alive, or was allocated); `unit` is
    samples, ns or bytes. `stacks` are the heaviest whole stacks, `a;b;c` outermost first, with their cost."""

    kind: str
    format: str
    unit: str = "samples"
    service: str = ""
    time_ns: int = 0
    total: int = 0
    rows: tuple[ProfileRow, ...] = ()
    stacks: tuple[tuple[str, int], ...] = ()
    baseline: bool = False
    source: SourceRef = SourceRef("")


class FileCoverage(Struct, frozen=True, kw_only=True):
    """The lines of one file that one test executed, as (first, last) ranges; `test_id` is "" for a whole run."""

    path: str
    test_id: str = ""
    lines: tuple[tuple[int, int], ...] = ()
    source: SourceRef = SourceRef("")
