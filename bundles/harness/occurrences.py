"""One failure of a crash group with everything that was recorded about it (pure).

Records belong together by trace id. A record without one (a server's log outside the request's context) is joined to
the failing span of the same service that was running when it was written; log records of one unit of work are joined by
an identifier that both carry.
"""

from collections import Counter

from msgspec import Struct

from bundles.harness.flat import flatten
from retrieval.model import Case, CrashGroup, ExceptionInfo, LogRecord, SourceRef, Span

SAMPLES = 12
_SLACK_NS = 50_000_000
_NEAR_NS = 5_000_000_000
_RARE = 12
_DISTINCT = 0.15


class Thrown(Struct, frozen=True):
    """The exception as one record holds it."""

    info: ExceptionInfo
    source: SourceRef


class Occurrence(Struct, frozen=True, kw_only=True):
    """One failure. `spans` and `logs` are those of its trace, `correlated` share an identifier with it, `own` are the
    records that hold the exception; all in order of time."""

    time_ns: int
    trace_id: str
    thrown: tuple[Thrown, ...]
    own: tuple[LogRecord | Span, ...]
    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
    correlated: tuple[LogRecord, ...] = ()


def short_type(name: str) -> str:
    """`decimal.InvalidOperation` and `InvalidOperation` are one type."""
    return name.rsplit(".", 1)[-1]


def occurrences(case: Case, crash: CrashGroup, limit: int = SAMPLES) -> tuple[Occurrence, ...]:
    """The failures of a group, those after the onset first, one for each trace."""
    wanted = short_type(crash.signature.type)
    records: list[LogRecord | Span] = [*crash.logs, *crash.spans]
    starts = case.onset.at_ns - 60_000_000_000 if case.onset else 0
    records.sort(key=lambda r: (_time(r) < starts, _time(r), str(r.source)))
    index = _Index(case, crash.service, wanted)
    groups: dict[str, list[LogRecord | Span]] = {}
    for record in records:
        trace = record.trace_id or index.trace_at(record)
        groups.setdefault(trace or f"at {_time(record)} {record.source}", []).append(record)
    found = []
    for key, own in groups.items():
        found.append(index.occurrence("" if key.startswith("at ") else key, own))
        if len(found) == limit:
            break
    return tuple(found)


def _time(record: LogRecord | Span) -> int:
    return record.time_ns if isinstance(record, LogRecord) else record.start_ns


class _Index:
    """The records of a case by what joins them."""

    def __init__(self, case: Case, service: str, wanted: str) -> None:
        self._service, self._wanted = service, wanted
        self._spans: dict[str, list[Span]] = {}
        self._logs: dict[str, list[LogRecord]] = {}
        for span in case.sources.spans:
            self._spans.setdefault(span.trace_id, []).append(span)
        for log in case.sources.logs:
            if log.trace_id:
                self._logs.setdefault(log.trace_id, []).append(log)
        self._own_logs = [log for log in case.sources.logs if log.service == service]
        self._distinct: dict[str, bool] = {}
        self._failed = [s for s in case.sources.spans if s.service == service and (s.failed or s.exception)]

    def trace_at(self, record: LogRecord | Span) -> str:
        """The trace of the failing span that was running when an untraced record was written; "" where none was."""
        at = _time(record)
        running = [s for s in self._failed if s.start_ns - _SLACK_NS <= at <= s.end_ns + _SLACK_NS]
        same = [s for s in running if s.exception and short_type(s.exception.type) == self._wanted]
        best = min(same or running, key=lambda s: (abs(s.end_ns - at), s.span_id), default=None)
        return best.trace_id if best else ""

    def occurrence(self, trace: str, own: list[LogRecord | Span]) -> Occurrence:
        spans = sorted(self._spans.get(trace, []), key=lambda s: (s.start_ns, s.span_id)) if trace else []
        logs = sorted(self._logs.get(trace, []), key=lambda r: (r.time_ns, str(r.source))) if trace else []
        own = [*own, *(r for r in self._same_failure([*logs, *spans]) if r not in own)]
        thrown = [Thrown(r.exception, r.source) for r in own if r.exception]
        return Occurrence(
            time_ns=min(_time(r) for r in own),
            trace_id=trace,
            thrown=tuple(thrown),
            own=tuple(own),
            spans=tuple(spans),
            logs=tuple(logs),
            correlated=tuple(self._correlated(own, logs)),
        )

    def _same_failure(self, records: list[LogRecord | Span]) -> list[LogRecord | Span]:
        return [
            r
            for r in records
            if r.service == self._service and r.exception and short_type(r.exception.type) == self._wanted
        ]

    def _correlated(self, own: list[LogRecord | Span], logs: list[LogRecord]) -> list[LogRecord]:
        """Records of the service that share a rare identifier (job, order, request id) with the failure."""
        keys = {(k, str(v)) for r in own for k, v in flatten(r.attributes).items() if _identifier(k, v)}
        keys = {pair for pair in keys if self._distinguishes(pair[0])}
        if not keys:
            return []
        near = [r for r in self._own_logs if abs(r.time_ns - _time(own[0])) <= 12 * _NEAR_NS]
        seen = Counter(p for r in near for p in set(_pairs(r)) & keys)
        rare = {pair for pair, count in seen.items() if count <= _RARE}
        taken = {id(r) for r in (*own, *logs)}
        return [r for r in near if id(r) not in taken and rare & set(_pairs(r))]

    def _distinguishes(self, key: str) -> bool:
        """Whether an attribute names units of work (a job, an order) and not kinds of them (a site, a channel): a fair
        share of its values must differ."""
        if key not in self._distinct:
            values = [str(r.attributes[key]) for r in self._own_logs if key in r.attributes]
            self._distinct[key] = bool(values) and len(set(values)) >= _DISTINCT * len(values)
        return self._distinct[key]


def _pairs(record: LogRecord) -> list[tuple[str, str]]:
    return [(k, str(v)) for k, v in flatten(record.attributes).items()]


def _identifier(key: str, value: object) -> bool:
    if key.startswith(("code.", "exception.", "otel", "thread.", "telemetry.", "process.", "error.", "log.", "host.")):
        return False
    return isinstance(value, str | int) and not isinstance(value, bool) and 3 <= len(str(value)) <= 80
