"""What of the records that came goes into the store (pure).

Of traces: those that failed, those that were slow, and a sample of the others (row B13). Whether a trace is one of
these may be known only when its last span has come, so what is not to be kept stays undecided for a while. Log records
and points all go on; the store makes templates of what is said again and again.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bot.intake.otlp.encoding import Signal
from bot.intake.otlp.records import SOURCES, Record
from bot.intake.otlp.spool import Row, packed
from retrieval.ingest.otlp_metrics import Point
from retrieval.ingest.rates import Key, Total, key_of, series_of
from retrieval.ingest.sampling import sampled
from retrieval.model import CaseSources, LogRecord, Span

_ENTRIES = ("server", "consumer")


class Held(Struct, frozen=True):
    """A batch with its records unpacked, and what has to be asked for to sort it."""

    rows: list[tuple[Row, list[Record]]]

    def trace_ids(self) -> set[str]:
        return {r.trace_id for _, records in self.rows for r in records if isinstance(r, Span | LogRecord)}

    def counters(self) -> set[Key]:
        return {key_of(p) for _, records in self.rows for p in records if isinstance(p, Point) and p.kind == "total"}


class Known(Struct, frozen=True):
    """What is known beyond the batch: notable traces, how far counters were, the share of healthy traces to keep, and
    since when what came is too young to be dropped."""

    notable: Mapping[str, bool]
    totals: Mapping[Key, Total]
    share: float
    young_ns: int


class Sorted(Struct, frozen=True):
    """What the store gets, what stays on the spool, how far counters are now, how many spans were dropped."""

    sources: CaseSources
    failing: frozenset[str]
    back: list[Row]
    totals: dict[Key, Total]
    dropped: int


def notable(records: Iterable[Record], slow_ns: int) -> dict[str, bool]:
    """The traces to be kept whole: those in which something failed (True), and those in which a request, a message or
    a whole trace took `slow_ns` or longer."""
    found: dict[str, bool] = {}
    for record in records:
        if isinstance(record, Point) or not record.trace_id:
            continue
        if record.is_error if isinstance(record, LogRecord) else record.failed:
            found[record.trace_id] = True
        elif isinstance(record, Span) and _is_slow(record, slow_ns):
            found.setdefault(record.trace_id, False)
    return found


def _is_slow(span: Span, slow_ns: int) -> bool:
    return (span.kind in _ENTRIES or not span.parent_span_id) and span.end_ns - span.start_ns >= slow_ns


def unpacked(rows: Sequence[Row]) -> Held:
    return Held([(row, row.records()) for row in rows])


def sort_out(held: Held, known: Known) -> Sorted:
    spans: dict[tuple[str, str], Span] = {}
    logs: list[LogRecord] = []
    points: list[Point] = []
    back: list[Row] = []
    dropped = 0
    for row, records in held.rows:
        undecided: list[Record] = []
        for record in records:
            if isinstance(record, Point):
                points.append(record)
            elif isinstance(record, LogRecord):
                logs.append(record)
            elif record.trace_id in known.notable or sampled(record.trace_id, known.share):
                spans.setdefault((record.trace_id, record.span_id), record)
            else:
                undecided.append(record)
        if undecided and row.received_ns >= known.young_ns:
            back.append(replace(row, body=packed(undecided)))
        else:
            dropped += len(undecided)
    series, totals = series_of(points, known.totals, SOURCES[Signal.METRICS])
    sources = CaseSources(
        spans=tuple(sorted(spans.values(), key=lambda s: s.start_ns)),
        logs=tuple(sorted(logs, key=lambda r: r.time_ns)),
        series=series,
    )
    failing = frozenset(trace_id for trace_id, failed in known.notable.items() if failed)
    return Sorted(sources, failing, back, totals, dropped)
