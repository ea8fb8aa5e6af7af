"""Threads that wait for each other's locks: no request that needs one of them will ever end."""

from retrieval.context.locks import deadlocks, place_of
from retrieval.context.observed import place_of_frame
from retrieval.judgement import cites, seen
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.rules import symptom
from retrieval.model import Case, DumpedThread
from retrieval.texts import phrase

_TEXT = "hypotheses/deadlock.j2"
_CITED = 6  # threads of a ring


def apply(facts: Facts) -> Draft | None:
    """None where no dump of the incident holds a deadlock. The first dump's first one is told."""
    dump, ring = next(((d, ring) for d in facts.observed.dumps for ring in deadlocks(d)), (None, ()))
    if dump is None:
        return None
    service = dump.service or facts.service
    places = [place for thread in ring for place in _places(facts.case, thread)]
    near = seen.changed(facts, service, places)
    claims: list[symptom.ClaimDraft] = [
        (phrase(_TEXT, "ring", ring=ring), tuple(seen.thread(dump, t) for t in ring[:_CITED]))
    ]
    if near:
        claims.append((phrase(_TEXT, "changed", suspects=near), cites.suspects(tuple(near))))
    first = places[0] if places else ""
    return Draft(
        rule="deadlock",
        failure_mode=phrase(_TEXT, "failure_mode", ring=ring, service=service),
        summary=phrase(_TEXT, "summary", ring=ring, service=service, standing=[_standing(t) for t in ring]),
        score=0.85 + (0.2 if near else 0.0),
        claims=tuple(claims),
        links=("symptom", "change") if near else ("symptom",),
        suspected_service=service or None,
        suspected_file=first.split("::")[0] or None,
        suspected_function=first or None,
        would_disprove=phrase(_TEXT, "would_disprove", service=service),
        next_required_data=(phrase(_TEXT, "needed", service=service),),
    )


def _places(case: Case, thread: DumpedThread) -> list[str]:
    """The application's functions of a thread, innermost first."""
    return [place_of_frame(case, f) for f in reversed(thread.frames) if f.in_app and f.file]


def _standing(thread: DumpedThread) -> str:
    at = place_of(thread)
    return at.function if at else ""
