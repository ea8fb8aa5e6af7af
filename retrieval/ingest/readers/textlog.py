"""Logs as lines of text: a record begins at a line with a time, and goes on over tracebacks and dumps to the next."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from retrieval.ingest import exceptions, severity
from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.jsonlines import NotJson, decode, lines
from retrieval.ingest.linelayouts import LAYOUTS, Line, Loggers, Parse, untimed
from retrieval.ingest.log_records import records
from retrieval.ingest.readers.base import Reader
from retrieval.model import LogRecord, SourceRef

MAX_CONTINUATION = 2_000_000  # characters that one record may go on for


class _Open(Struct):
    """A record whose continuation lines are still being collected."""

    line: Line
    number: int
    more: list[str] = field(default_factory=list)
    size: int = 0
    dropped: int = 0


class _Reading:
    def __init__(self, file: SourceFile, intake: Intake) -> None:
        self.file, self.intake = file, intake
        self.loggers = Loggers(file.stem)
        self.layout: Parse | None = None
        self.open: _Open | None = None
        self.last_ns = 0
        self.orphans = 0

    def line(self, number: int, text: str) -> Iterator[LogRecord]:
        if text.startswith("{") and (parsed := _json(text)) is not None:
            yield from self.close()
            yield from self.structured(parsed, number)
            return
        begun = self._begins(text)
        if begun is None:
            self._continue(number, text)
            return
        yield from self.close()
        if begun.time_ns is None:
            begun.time_ns = self.last_ns
        self.last_ns = begun.time_ns
        self.open = _Open(begun, number)

    def _begins(self, text: str) -> Line | None:
        if not text or text[0] in " \t":
            return None
        if self.layout is not None and (found := self.layout(text, self.intake.reference_ns, self.loggers)):
            return found
        for layout in LAYOUTS:
            found = layout(text, self.intake.reference_ns, self.loggers)
            if found is not None and found.time_ns is not None:
                self.layout = layout
                return found
        return untimed(text, self.intake.reference_ns, self.loggers) if self.last_ns else None

    def _continue(self, number: int, text: str) -> None:
        if self.open is None:
            if text.strip():
                self.orphans += 1
                if self.orphans == 1:
                    self.intake.problem(self.file.name, number, "no time can be read here, nor on a line before it")
            return
        if self.open.size + len(text) > MAX_CONTINUATION:
            self.open.dropped += 1
            return
        self.open.more.append(text)
        self.open.size += len(text) + 1

    def structured(self, parsed: dict[str, Any], number: int) -> Iterator[LogRecord]:
        for record in records(parsed, SourceRef(self.file.name, number)):
            if isinstance(record, str):
                self.intake.problem(self.file.name, number, record)
            else:
                self.last_ns = record.time_ns
                yield record

    def close(self) -> Iterator[LogRecord]:
        if self.open is not None:
            if self.open.dropped:
                reason = f"{self.open.dropped} lines of one record beyond {MAX_CONTINUATION} characters were left out"
                self.intake.problem(self.file.name, self.open.number, reason)
            yield _record(self.open, self.file)
            self.open = None


def read(file: SourceFile, intake: Intake) -> Iterator[LogRecord]:
    reading = _Reading(file, intake)
    for number, data in lines(file, intake):
        yield from reading.line(number, data.decode("utf-8", "replace"))
    yield from reading.close()
    if reading.orphans > 1:
        intake.problem(file.name, 0, f"{reading.orphans} lines without a time could not be placed")


def _json(text: str) -> dict[str, Any] | None:
    try:
        value = decode(text.encode("utf-8", "replace"))
    except NotJson:
        return None
    return value if isinstance(value, dict) else None


def _record(opened: _Open, file: SourceFile) -> LogRecord:
    line = opened.line
    while opened.more and not opened.more[-1].strip():
        opened.more.pop()
    whole = "\n".join([line.message, *opened.more])
    body, stack = exceptions.split(whole)
    exception = exceptions.of_text(stack) if stack else exceptions.of_record(line.attributes)
    level = line.level
    if level is None:
        level = 17 if exception is not None else severity.INFO
    return LogRecord(
        time_ns=line.time_ns or 0,
        body=body.strip("\n"),
        severity=level,
        logger=line.logger,
        trace_id=line.trace_id,
        span_id=line.span_id,
        attributes=exceptions.untold(line.attributes, exception),
        exception=exception,
        source=SourceRef(file.name, opened.number),
    )


READER = Reader(
    kind="textlog",
    part="logs",
    patterns=("logs/**/*.log", "logs/**/*.txt", "logs/**/*.out", "logs/**/*.log.[0-9]"),
    read=read,
)
