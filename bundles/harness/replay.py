"""Requests around a failure: access-log lines without a trace id, earlier requests that changed state (pure)."""

from bundles.harness.occurrences import Occurrence
from bundles.harness.requests import BODY_METHODS, Request, request_of
from retrieval.model import Case, LogRecord, Span

_NEAR_NS = 2_000_000_000
MAX_EARLIER = 30


def untraced_peers(case: Case, service: str, at_ns: int) -> tuple[LogRecord, ...]:
    """Log records without a trace near a failure without a trace, the service's own and the nearest first."""
    near = [
        r for r in case.sources.logs if not r.trace_id and abs(r.time_ns - at_ns) <= _NEAR_NS and " 5" in f" {r.body}"
    ]
    near.sort(key=lambda r: (r.service != service, abs(r.time_ns - at_ns), str(r.source)))
    return tuple(near[:3])


def earlier_requests(case: Case, service: str, before_ns: int) -> tuple[Request, ...]:
    """The last requests before a failure that succeeded and may have changed something, oldest first; only those whose
    body is known or empty."""
    changed = [
        s
        for s in case.sources.spans
        if s.service == service and s.kind == "server" and s.end_ns < before_ns and not s.failed and _changes(s)
    ]
    changed = sorted(changed, key=lambda s: (s.start_ns, s.span_id))[-MAX_EARLIER:]
    traces = {s.trace_id for s in changed}
    logs: dict[str, list[LogRecord]] = {}
    for log in case.sources.logs:
        if log.trace_id in traces:
            logs.setdefault(log.trace_id, []).append(log)
    out = []
    for span in changed:
        seen = Occurrence(
            time_ns=span.start_ns,
            trace_id=span.trace_id,
            thrown=(),
            own=(span,),
            spans=(span,),
            logs=tuple(logs.get(span.trace_id, ())),
        )
        request = request_of(seen, service)
        if request and (request.body is not None or request.empty or request.method == "DELETE"):
            out.append(request)
    return tuple(out)


def _changes(span: Span) -> bool:
    method = str(span.attributes.get("http.request.method") or span.attributes.get("http.method") or "").upper()
    return method in (*BODY_METHODS, "DELETE") and span.http_status < 400
