"""Calls to a service that we have no telemetry of fail: what is broken lies behind it."""

from collections import defaultdict
from collections.abc import Sequence

from retrieval.judgement import cites
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.rules import symptom
from retrieval.model import Span
from retrieval.texts import phrase

_TEXT = "hypotheses/dependency.j2"
_PEERS = ("service.peer.name", "peer.service", "server.address", "net.peer.name")
MIN_FAILING = 3


def apply(facts: Facts) -> Draft | None:
    """None unless at least three client spans fail into one service that sent no spans itself."""
    window = facts.case.window
    if window is None:
        return None
    own = {s.service for s in facts.case.sources.spans}
    failing: dict[str, list[Span]] = defaultdict(list)
    before: dict[str, int] = defaultdict(int)
    for span in facts.case.sources.spans:
        peer = next((str(span.attributes[k]) for k in _PEERS if span.attributes.get(k)), "")
        if span.kind not in ("client", "producer") or not span.failed or not peer or peer in own:
            continue
        if facts.onset_ns <= span.start_ns < window.to_ns:
            failing[peer].append(span)
        elif window.from_ns <= span.start_ns < facts.onset_ns:
            before[peer] += 1
    grown = {p: s for p, s in failing.items() if len(s) >= MIN_FAILING and len(s) > 2 * before[p]}
    if not grown:
        return None
    peer = min(grown, key=lambda p: (-len(grown[p]), p))
    spans = sorted(grown[peer], key=lambda s: (s.start_ns, s.span_id))
    fatal = _fatal(facts, spans)
    claims: list[symptom.ClaimDraft] = [
        (phrase(_TEXT, "failing", peer=peer, count=len(spans), before=before[peer]), (cites.span(spans[0]),))
    ]
    if fatal and facts.crash is not None:
        claims.append((phrase(_TEXT, "fatal", crash=facts.crash, peer=peer), symptom.records_of(facts.crash)))
    return Draft(
        rule="dependency",
        failure_mode=phrase(_TEXT, "failure_mode", peer=peer),
        summary=phrase(_TEXT, "summary", peer=peer, count=len(spans), callers=sorted({s.service for s in spans})),
        score=0.5 if fatal else 0.35 if facts.crash is None or not facts.crash.in_app_frames else 0.2,
        claims=tuple(claims),
        links=("symptom", "change") if fatal else ("symptom",),
        suspected_service=peer,
        would_disprove=phrase(_TEXT, "would_disprove", peer=peer),
        next_required_data=(phrase(_TEXT, "needed", peer=peer),),
    )


def _fatal(facts: Facts, failing: Sequence[Span]) -> bool:
    """Whether most of the requests that crashed made one of the failing calls, and most of the calls crashed."""
    if facts.crash is None:
        return False
    crashed = {r.trace_id for r in facts.crash.logs} | {s.trace_id for s in facts.crash.spans}
    crashed.discard("")
    called = {s.trace_id for s in failing}
    both = len(crashed & called)
    return both >= MIN_FAILING and 2 * both > len(crashed) and facts.crash.count >= len(called) / 2
