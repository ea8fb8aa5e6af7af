"""Looks at processes: the memory of a run as a whole (rlimits count per process, and a control group needs rights), and
what else is its user's."""

import os
from collections.abc import Iterator
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_memory(pid: int) -> int:
    """Bytes of resident memory of a process and all that descend from it. Pages that several share count each time, so
    it errs on the high side. Processes that end meanwhile count nothing."""
    return sum(_resident(process) for process in descendants(pid))


def descendants(pid: int) -> Iterator[int]:
    """The process and all that descend from it, as far as they are alive."""
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        yield process
        try:
            for task in Path(f"/proc/{process}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue


def tasks_of(user: int) -> int:
    """How many processes and threads a user has now: what Linux holds against the limit on processes."""
    return sum(_threads(status, user) for status in Path("/proc").glob("[0-9]*/status"))


def _threads(status: Path, user: int) -> int:
    try:
        rows = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        return int(rows["Threads"]) if int(rows["Uid"].split()[0]) == user else 0
    except (OSError, KeyError, ValueError):
        return 0


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
