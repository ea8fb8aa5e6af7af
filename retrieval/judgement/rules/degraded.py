"""No error names a place, but one service is unlike its own past: a lead to look there first."""

from retrieval.judgement import cites
from retrieval.judgement.draft import Cite, Draft
from retrieval.judgement.facts import Facts
from retrieval.model import Span
from retrieval.texts import phrase

_TEXT = "hypotheses/degraded.j2"


def apply(facts: Facts) -> Draft | None:
    """None where no service stands out, or nothing recorded of the one that does can be cited."""
    ranked = facts.case.service_scores
    if not ranked or ranked[0].score <= 0:
        return None
    service = ranked[0].id
    records: list[Cite] = [cites.metric(s, facts.onset_ns) for s in facts.shifts if s.series.service == service]
    span = _slowest(facts, service)
    if span is not None:
        records.append(cites.span(span))
    if not records:
        return None
    runner_up = ranked[1].score if len(ranked) > 1 else 0.0
    lead = (ranked[0].score - runner_up) / ranked[0].score
    return Draft(
        rule="degraded",
        failure_mode=phrase(_TEXT, "failure_mode", service=service),
        summary=phrase(_TEXT, "summary", service=service, path=facts.case.topology.path),
        score=0.1 + 0.2 * lead,
        claims=((phrase(_TEXT, "unlike", service=service, onset=facts.onset_ns), tuple(records)),),
        links=("symptom",),
        suspected_service=service,
        would_disprove=phrase(_TEXT, "would_disprove", service=service),
        next_required_data=(phrase(_TEXT, "needed", service=service),),
    )


def _slowest(facts: Facts, service: str) -> Span | None:
    """The failing or slowest span of the service after the onset."""
    window = facts.case.window
    spans = [
        s
        for s in facts.case.sources.spans
        if s.service == service and window is not None and facts.onset_ns <= s.start_ns < window.to_ns
    ]
    return min(spans, key=lambda s: (not s.failed, s.start_ns - s.end_ns, s.span_id), default=None)
