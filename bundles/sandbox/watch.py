"""Bounds the memory of a run as a whole: rlimits count per process, and a control group needs rights."""

import os
from collections.abc import Iterator
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_memory(pid: int) -> int:
    """Bytes of resident memory of a process and all that descend from it. Pages that several share count each time, so
    it errs on the high side. Processes that end meanwhile count nothing."""
    return sum(_resident(process) for process in _descendants(pid))


def _descendants(pid: int) -> Iterator[int]:
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        yield process
        try:
            for task in Path(f"/proc/{process}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
