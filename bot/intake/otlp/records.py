"""A request in the plain shape to records of ours, redacted, and a count of what could not be used (pure)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from bot.intake.otlp.encoding import Signal, levels
from retrieval.ingest import log_records, otlp_metrics
from retrieval.ingest.otlp import groups, span_of
from retrieval.ingest.otlp_metrics import Point
from retrieval.ingest.redaction import redact
from retrieval.ingest.values import first
from retrieval.model import LogRecord, SourceRef, Span
from retrieval.ports import Redactor

Record = Span | LogRecord | Point
SOURCES = {signal: SourceRef(f"otlp/{signal}") for signal in Signal}
_HEX = {32: re.compile(r"(?!0+$)[0-9a-fA-F]{32}"), 16: re.compile(r"(?!0+$)[0-9a-fA-F]{16}")}
_REASONS = 3  # of one request that are told


class Taken(Struct, frozen=True):
    """The records of one request, and how many were rejected for which reason."""

    records: list[Record]
    rejected: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return sum(self.rejected.values())

    @property
    def reason(self) -> str:
        """The most frequent reasons with their counts."""
        most = sorted(self.rejected.items(), key=lambda item: (-item[1], item[0]))
        return "; ".join(f"{count} × {reason}" for reason, count in most[:_REASONS])


def take(signal: Signal, line: Mapping[str, Any], redactor: Redactor, received_ns: int) -> Taken:
    """The records of an export request. `received_ns` is when a log record without any time was observed."""
    records: list[Record] = []
    rejected: Counter[str] = Counter()
    for found in _READERS[signal](line, received_ns) if levels(signal)[0] in line else ():
        if isinstance(found, str):
            rejected[found] += 1
        else:
            records.append(redact(found, redactor))
    return Taken(records, rejected)


def _spans(line: Mapping[str, Any], received_ns: int) -> Iterator[Span | str]:
    for resource, scope, raw in groups(line, *levels(Signal.TRACES)):
        if not _is_id(raw.get("traceId"), 32):
            yield "a span whose traceId is not 32 hexadecimal digits, or all zeros"
        elif not _is_id(raw.get("spanId"), 16):
            yield "a span whose spanId is not 16 hexadecimal digits, or all zeros"
        else:
            yield span_of(raw, resource, scope, SOURCES[Signal.TRACES]) or "a span without a start time"


def _is_id(value: Any, digits: int) -> bool:
    return isinstance(value, str) and _HEX[digits].fullmatch(value) is not None


def _logs(line: Mapping[str, Any], received_ns: int) -> Iterator[LogRecord | str]:
    source = SOURCES[Signal.LOGS]
    for resource, scope, raw in groups(line, *levels(Signal.LOGS)):
        if first(raw, "timeUnixNano", "observedTimeUnixNano") in (None, 0, "0"):
            raw["observedTimeUnixNano"] = received_ns
        if raw.get("eventName") and "body" not in raw:
            raw["body"] = {"stringValue": raw["eventName"]}
        yield log_records.record_of(raw, resource, scope, source)


def _points(line: Mapping[str, Any], received_ns: int) -> Iterator[Point | str]:
    return otlp_metrics.points(line)


_READERS = {Signal.TRACES: _spans, Signal.LOGS: _logs, Signal.METRICS: _points}
