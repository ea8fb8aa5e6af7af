"""Thread dumps of Python: `faulthandler` (https://docs.python.org/3/library/faulthandler.html) and `py-spy dump`.

Neither tells of locks: what a thread waits for is to be read off its innermost frame.
"""

import re

from msgspec import Struct, field

from retrieval.languages.dumping import MAX_DUMPS, MAX_FRAMES, folded
from retrieval.languages.lines import split_lines
from retrieval.languages.python.frames import in_app
from retrieval.languages.python.traces import LANGUAGE
from retrieval.model import DumpedThread, Frame, ThreadDump

_FATAL = re.compile(r"(?:Fatal Python error|Windows fatal exception): .{0,300}$|Timeout \(.{1,40}\)!$")
_THREAD = re.compile(r"(Current thread|Thread) (0x[0-9a-f]{1,16})(?: \[(.{1,100})\])? \(most recent call first\):\s*$")
_FRAME = re.compile(r'  File "(.{1,1000})", line (\d{1,9}|\?\?\?) in (\S.{0,300})$')
_SPY = re.compile(r"Process \d{1,10}: .{0,1000}$")
_SPY_THREAD = re.compile(r'Thread (?:\d{1,20}|0x[0-9A-Fa-f]{1,16})(?: \(([\w+ ]{1,40})\))?(?:: "(.{0,200})")?$')
_SPY_FRAME = re.compile(r" {4}(\S.{0,300}) \((.{1,1000}):(\d{1,9})\)$")


class _Dump(Struct):
    headline: str
    spy: bool = False
    threads: list[DumpedThread] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    name: str = ""
    state: str = ""
    line: int = 0

    def begin(self, name: str, state: str, line: int) -> None:
        self.end()
        self.name, self.state, self.line = name, state, line

    def end(self) -> None:
        if self.line:
            found = tuple(reversed(self.frames))
            self.threads.append(DumpedThread(name=self.name, state=self.state, frames=found, line=self.line))
        self.frames, self.line = [], 0

    def add(self, file: str, line: str, function: str) -> None:
        if self.line and len(self.frames) < MAX_FRAMES:
            number = int(line) if line.isdigit() else None
            self.frames.append(Frame(file=file, function=function, line=number, in_app=in_app(file)))


def read_dumps(text: str) -> list[ThreadDump]:
    """Every dump in a text, which may be a log with other lines in it. Never raises."""
    dumps: list[_Dump] = []
    for number, line in enumerate(split_lines(text), start=1):
        if fatal := _FATAL.search(line):
            _open(dumps, _Dump(fatal[0].strip()))
        elif _SPY.match(line):
            _open(dumps, _Dump(line.strip(), spy=True))
        elif thread := _THREAD.search(line):
            if not dumps or dumps[-1].spy:
                _open(dumps, _Dump(""))
            current = "current" if thread[1].startswith("Current") else ""
            dumps[-1].begin(thread[3] or thread[2], current, number)
        elif dumps:
            _feed(dumps[-1], line, number)
    for dump in dumps:
        dump.end()
    return [_closed(dump) for dump in dumps if any(thread.frames for thread in dump.threads)]


def _closed(dump: _Dump) -> ThreadDump:
    threads, dropped = folded(dump.threads)
    return ThreadDump(language=LANGUAGE, headline=dump.headline, threads=threads, dropped=dropped)


def _open(dumps: list[_Dump], dump: _Dump) -> None:
    if len(dumps) < MAX_DUMPS:
        dumps.append(dump)


def _feed(dump: _Dump, line: str, number: int) -> None:
    if dump.spy and (thread := _SPY_THREAD.match(line)):
        dump.begin(thread[2] or line.split(" (")[0], thread[1] or "", number)
    elif dump.spy and (frame := _SPY_FRAME.match(line)):
        dump.add(frame[2], frame[3], frame[1])
    elif not dump.spy and (frame := _FRAME.match(line)):
        dump.add(frame[1], frame[2], frame[3].strip())
    elif not line.strip() or not line[0].isspace():
        dump.end()
