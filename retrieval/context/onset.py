"""When did it begin? (row B4) The alert says when a rule had fired; the fault is older.

The rule, in order:
1. Errors. Of all error groups, the one whose rate rose most surely before the alert says when: the first event after
   the rise. The alerted service and those that share its traces count fully, the others a third.
2. Metrics. Of the alerted service's series (and those that share its traces), the surest shift of level before the
   alert: the first point after it.
3. The alert's own start.
Errors go first because one record has an exact time, and a point of a series covers everything since the one before.
"""

from collections.abc import Sequence

from retrieval.context.bursts import SIGNIFICANT, Burst, find_burst
from retrieval.context.changes import Shift, find_shift
from retrieval.context.coverage import coverage_of
from retrieval.context.errors import ErrorGroup, group_errors
from retrieval.model import Alert, CaseSources, Onset, Series
from retrieval.model.moments import date_of

_MINUTE_NS = 60_000_000_000
# Alerting rules look back at most this long; what changed earlier is another story (Google SRE workbook, chapter 5:
# the slow burn alert's window is three days, but its short window is six hours).
LOOK_BACK_NS = 6 * 60 * _MINUTE_NS
_AFTER_NS = 15 * _MINUTE_NS
_ELSEWHERE = 1 / 3


def find_onset(alerts: Sequence[Alert], sources: CaseSources, groups: Sequence[ErrorGroup] | None = None) -> Onset:
    """The onset with what each kind of source voted; never later than the earliest alert that fires.

    `groups` are those of `group_errors`, when they are known already. Raises: ValueError without alerts.
    """
    firing = [alert for alert in alerts if alert.status != "resolved"] or list(alerts)
    alert_ns = min(alert.starts_ns for alert in firing)
    alerted = frozenset(alert.service for alert in firing if alert.service)
    near = alerted | _companions(sources, alerted) if alerted & _recorded(sources) else frozenset[str]()
    found = group_errors(sources, lambda service: ()) if groups is None else groups
    log = _error_vote(found, sources, alert_ns, near, of_spans=False)
    trace = _error_vote(found, sources, alert_ns, near, of_spans=True)
    metric = _metric_vote(sources.series, alert_ns, near)
    signals = {"alert": alert_ns}
    if log:
        signals["log"] = log[0]
    if trace:
        signals["trace"] = trace[0]
    if metric:
        signals["metric"] = metric[0]
    errors = sorted((vote for vote in (log, trace) if vote), key=lambda vote: (vote[0], vote[1]))
    if errors:
        at_ns, reason = errors[0]
        return Onset(at_ns=at_ns, source="log" if log and log == errors[0] else "trace", reason=reason, signals=signals)
    if metric:
        return Onset(at_ns=metric[0], source="metric", reason=metric[1], signals=signals)
    return Onset(
        at_ns=alert_ns,
        source="alert",
        reason=f"nothing moved before the alert started at {date_of(alert_ns)}",
        signals=signals,
    )


def _recorded(sources: CaseSources) -> frozenset[str]:
    """Every service that any record names; an alert may name a job, a host or a team instead."""
    names = {span.service for span in sources.spans} | {log.service for log in sources.logs}
    return frozenset(names | {one.service for one in sources.series}) - {""}


def _companions(sources: CaseSources, alerted: frozenset[str]) -> frozenset[str]:
    """The services that share a trace with an alerted one."""
    traces = {span.trace_id for span in sources.spans if span.service in alerted}
    return frozenset(span.service for span in sources.spans if span.trace_id in traces)


def _error_vote(
    groups: Sequence[ErrorGroup], sources: CaseSources, alert_ns: int, near: frozenset[str], *, of_spans: bool
) -> tuple[int, str] | None:
    coverage = coverage_of(sources)
    best: tuple[float, Burst, ErrorGroup] | None = None
    for group in groups:
        told = {r.time_ns for r in group.records if (r.span is not None) == of_spans}
        if not told:
            continue
        start = max(coverage.start_ns, alert_ns - LOOK_BACK_NS)
        times = [t for t in group.times_ns if t >= start]
        burst = find_burst(times, coverage, max(min(coverage.end_ns, alert_ns + _AFTER_NS), alert_ns + 1))
        if burst is None or burst.gain < SIGNIFICANT or burst.at_ns > alert_ns:
            continue
        weight = burst.gain * (1.0 if not near or group.service in near else _ELSEWHERE)
        if best is None or weight > best[0]:
            best = (weight, burst, group)
    if best is None:
        return None
    _, burst, group = best
    named = next((record.type for record in group.records if record.named), "")
    name = named or " ".join(group.records[0].message.split())[:80]
    rise = f"{burst.before} before, {burst.after} since" if burst.before else f"never before, {burst.after} since"
    return burst.at_ns, f"{name} in {group.service or 'an unnamed service'}: {rise} {date_of(burst.at_ns)}"


def _metric_vote(series: Sequence[Series], alert_ns: int, near: frozenset[str]) -> tuple[int, str] | None:
    best: tuple[float, Shift, Series] | None = None
    for one in series:
        if near and one.service and one.service not in near:
            continue
        points = [(t, v) for t, v in one.points if alert_ns - LOOK_BACK_NS <= t <= alert_ns + _AFTER_NS]
        shift = find_shift(points, one.metric)
        if shift is None or shift.at_ns > alert_ns:
            continue
        if best is None or shift.strength > best[0] + 1e-9:
            best = (shift.strength, shift, one)
    if best is None:
        return None
    _, shift, one = best
    level = f"from {shift.before:.4g} to {shift.after:.4g} {one.unit}".rstrip()
    return shift.at_ns, f"{one.metric} of {one.service or 'an unnamed service'} went {level} at {date_of(shift.at_ns)}"
