"""Which error is the incident's? Groups of errors, scored against the onset and the alert (row B4)."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from math import exp2, log1p, sqrt

from msgspec import Struct
from msgspec.structs import replace

from retrieval.context.coverage import Coverage, coverage_of
from retrieval.context.errors import ErrorGroup, causes_of, group_errors
from retrieval.context.frames import Place, own_places, with_symbols
from retrieval.context.occurrences import FilesOf, Occurrence
from retrieval.model import Alert, CaseSources, CrashGroup, LogRecord, Onset, Span, Symbol, Topology
from retrieval.model.proof import ErrorSignature
from retrieval.model.signatures import error_signature, stack_signature

SAMPLES = 40  # records kept per group and kind
# Clocks of services, of their log shippers and of tracing differ; a first error a little before the onset is after it.
SLACK_NS = 2_000_000_000
_WORD = re.compile(r"[a-z]{4,}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Scene(Struct, frozen=True, kw_only=True):
    """What all groups are measured against."""

    onset: Onset
    alerts: tuple[Alert, ...]
    topology: Topology
    coverage: Coverage
    most: int  # occurrences after the onset of the group that has most
    failed_traces: frozenset[str]  # requests whose first span failed


def crash_groups(
    sources: CaseSources,
    *,
    files_of: FilesOf,
    onset: Onset,
    alerts: Sequence[Alert],
    topology: Topology | None = None,
) -> tuple[CrashGroup, ...]:
    """All error groups of a case, the incident's own first: `group_errors`, then `score_crashes`."""
    return score_crashes(
        group_errors(sources, files_of), sources, onset=onset, alerts=alerts, topology=topology or Topology()
    )


def score_crashes(
    groups: Sequence[ErrorGroup],
    sources: CaseSources,
    *,
    onset: Onset,
    alerts: Sequence[Alert],
    topology: Topology,
) -> tuple[CrashGroup, ...]:
    """Groups in order of suspicion, ties by key.

    The score is a product, so that a group must do passably in all of it: novelty (how many of its events are more
    than the earlier rate explains), being in the alerted service or on the failing path, having frames in the
    application, severity, volume, how soon after the onset it began, belonging to requests that failed. A group whose
    requests also crash further down the call path is the consequence of that crash and counts a third.
    """
    since = [sum(t >= onset.at_ns - SLACK_NS for t in group.times_ns) for group in groups]
    scene = Scene(
        onset=onset,
        alerts=tuple(alerts),
        topology=topology,
        coverage=coverage_of(sources),
        most=max(since, default=0),
        failed_traces=_failed_traces(sources),
    )
    crashes = [_crash(group, scene) for group in groups]
    weighed = [
        replace(crash, score=round(crash.score * _cause(n, groups, topology), 6)) for n, crash in enumerate(crashes)
    ]
    return tuple(sorted(weighed, key=lambda crash: (-crash.score, crash.key)))


def _failed_traces(sources: CaseSources) -> frozenset[str]:
    """Traces whose root, or whose earliest recorded span, failed."""
    roots: dict[str, Span] = {}
    for span in sources.spans:
        known = roots.get(span.trace_id)
        if known is None or (bool(span.parent_span_id), span.start_ns) < (bool(known.parent_span_id), known.start_ns):
            roots[span.trace_id] = span
    return frozenset(trace_id for trace_id, span in roots.items() if span.failed)


def _crash(group: ErrorGroup, scene: Scene) -> CrashGroup:
    cut = scene.onset.at_ns - SLACK_NS
    ordered = [r for r in group.records if r.time_ns >= cut] + [r for r in reversed(group.records) if r.time_ns < cut]
    typical = _typical(ordered)
    language = next((r.language for r in ordered if r.language), "")
    place = typical.crash
    causes = next((c for r in ordered if (c := causes_of(r))), ())
    before, after = _counts(group, cut)
    novelty = _novelty(before, after, cut, scene.coverage)
    crash = CrashGroup(
        key=":".join(
            (
                error_signature(language, typical.type, typical.message),
                group.service,
                place.id if place else "",
                *causes,
            )
        ),
        service=group.service,
        signature=ErrorSignature(typical.type, typical.message),
        stack_signature=stack_signature(typical.trace) if typical.trace else "",
        count=len(group.times_ns),
        count_before=before,
        first_ns=group.times_ns[0],
        last_ns=group.times_ns[-1],
        novelty=round(novelty, 6),
        crash_path=place.path if place else "",
        crash_function=place.function if place else "",
        crash_line=place.line if place else None,
        causes=causes,
        in_app_frames=tuple(dict.fromkeys(p.id for p in typical.places)),
        logs=_sample_logs(ordered),
        spans=_sample_spans(ordered),
    )
    return replace(crash, score=_score(crash, group, after, scene))


def _typical(ordered: Sequence[Occurrence]) -> Occurrence:
    """The earliest record with the most frequent stack; without stacks the earliest that names a type."""
    placed = [record for record in ordered if record.places]
    if placed:
        stacks = Counter(_functions(record.places) for record in placed)
        most = max(stacks.values())
        return next(record for record in placed if stacks[_functions(record.places)] == most)
    return next((record for record in ordered if record.named), ordered[0])


def _functions(places: Sequence[Place]) -> tuple[str, ...]:
    return tuple(place.id for place in places)


def _counts(group: ErrorGroup, cut: int) -> tuple[int, int]:
    before = sum(t < cut for t in group.times_ns)
    return before, len(group.times_ns) - before


def _novelty(before: int, after: int, cut: int, coverage: Coverage) -> float:
    """The share of the events since the onset that the rate before it does not explain, 0..1.

    A rate that was never seen is not a rate of zero: one standard deviation of the expected number is allowed for.
    """
    if not after:
        return 0.0
    early, late = coverage.minutes(coverage.start_ns, cut), coverage.minutes(cut, coverage.end_ns)
    expected = before / early * late
    return min(1.0, max(0.0, (after - expected - sqrt(expected)) / after))


def _score(crash: CrashGroup, group: ErrorGroup, after: int, scene: Scene) -> float:
    severity = max(record.severity for record in group.records)
    volume = log1p(after) / log1p(scene.most) if scene.most else 0.0
    delay_minutes = max(0.0, (_first_after(group, scene.onset) - scene.onset.at_ns) / 60e9)
    score = crash.novelty
    score *= _where(crash.service, scene)
    score *= 1.0 if crash.in_app_frames else (0.6 if group.typed else 0.4)
    score *= 1.0 if severity >= 17 else 0.5
    score *= 0.4 + 0.6 * min(1.0, volume)
    score *= 0.6 + 0.4 * exp2(-delay_minutes / 5)
    score *= _felt(group, scene)
    return score * (1 + 0.2 * _named(crash, scene.alerts))


def _first_after(group: ErrorGroup, onset: Onset) -> int:
    return next((t for t in group.times_ns if t >= onset.at_ns - SLACK_NS), group.times_ns[-1])


def _where(service: str, scene: Scene) -> float:
    """1 in an alerted service, 0.9 on the failing path, 0.4 elsewhere; all alike when the alert names no service that
    the case knows."""
    alerted = {alert.service for alert in scene.alerts if alert.service}
    if service in alerted:
        return 1.0
    if service in scene.topology.path or not alerted:
        return 0.9
    return 0.4


def _felt(group: ErrorGroup, scene: Scene) -> float:
    """Down to 0.5 when the requests it happened in succeeded all the same; 1 where no request is known."""
    traces = group.trace_ids
    if not traces or not scene.failed_traces:
        return 1.0
    return 0.5 + 0.5 * len(traces & scene.failed_traces) / len(traces)


def _named(crash: CrashGroup, alerts: Sequence[Alert]) -> float:
    """The share of the error's words that occur in the alert's texts."""
    told = _words(
        " ".join(f"{a.name} {a.annotations.get('summary', '')} {a.annotations.get('description', '')}" for a in alerts)
    )
    own = _words(f"{crash.signature.type} {crash.signature.message} {crash.crash_function}")
    return len(own & told) / len(own) if own else 0.0


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_CAMEL.sub(" ", text).lower()))


def _cause(index: int, groups: Sequence[ErrorGroup], topology: Topology) -> float:
    """1, or a third for a group most of whose requests crash in a service further down the call path."""
    group = groups[index]
    traces = group.trace_ids
    if not traces:
        return 1.0
    below = _reachable(group.service, topology)
    for other in groups:
        if other.service in below and other.typed and len(traces & other.trace_ids) * 2 > len(traces):
            return 1 / 3
    return 1.0


def _reachable(service: str, topology: Topology) -> frozenset[str]:
    """Services that `service` calls, directly or not; itself and its own callers in a cycle are left out."""
    seen: set[str] = set()
    todo = [service]
    while todo:
        for callee in topology.edges.get(todo.pop(), ()):
            if callee not in seen:
                seen.add(callee)
                todo.append(callee)
    return frozenset() if service in seen else frozenset(seen)


def _sample_logs(ordered: Sequence[Occurrence]) -> tuple[LogRecord, ...]:
    return tuple([record.log for record in ordered if record.log is not None][:SAMPLES])


def _sample_spans(ordered: Sequence[Occurrence]) -> tuple[Span, ...]:
    return tuple([record.span for record in ordered if record.span is not None][:SAMPLES])


def located(crash: CrashGroup, files: Collection[str], symbols: Collection[Symbol]) -> CrashGroup:
    """The same crash with its frames named as the symbol index of its deployed commit names them."""
    exceptions = [*(log.exception for log in crash.logs), *(span.exception for span in crash.spans)]
    for places in (own_places(e.trace, files) for e in exceptions if e is not None):
        if places and tuple(dict.fromkeys(_functions(places))) == crash.in_app_frames:
            ids = with_symbols(places, symbols)
            return replace(crash, in_app_frames=ids, crash_function=ids[-1].split("::", 1)[1])
    return crash
