"""Threads that queue for one lock, and the one that holds it."""

from retrieval.context.observed import LONG_QUEUE, place_of_frame, queue
from retrieval.judgement import cites, seen
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.rules import symptom
from retrieval.texts import phrase

_TEXT = "hypotheses/contention.j2"


def apply(facts: Facts) -> Draft | None:
    """None where no dump shows a queue in front of a lock. Where it does not tell who holds the lock, the place is that
    of the first that waits."""
    found = queue(facts.observed.dumps)
    if found is None:
        return None
    dump, lock = found
    by_name = {thread.name: thread for thread in dump.threads}
    shown = by_name[lock.holder or lock.waiters[0]]
    service = dump.service or facts.service
    places = [place_of_frame(facts.case, f) for f in reversed(shown.frames) if f.in_app and f.file]
    near = seen.changed(facts, service, places)
    waiting = [seen.thread(dump, by_name[name]) for name in lock.waiters[:2]]
    claims: list[symptom.ClaimDraft] = [
        (
            phrase(_TEXT, "queue", lock=lock, at=places[0] if places else ""),
            tuple(dict.fromkeys((seen.thread(dump, shown), *waiting))),
        )
    ]
    if near:
        claims.append((phrase(_TEXT, "changed", suspects=near), cites.suspects(tuple(near))))
    return Draft(
        rule="contention",
        failure_mode=phrase(_TEXT, "failure_mode", lock=lock, service=service),
        summary=phrase(_TEXT, "summary", lock=lock, service=service, at=places[0] if places else ""),
        score=(0.45 if lock.holder and len(lock.waiters) >= LONG_QUEUE else 0.25) + (0.2 if near else 0.0),
        claims=tuple(claims),
        links=("symptom", "change") if near else ("symptom",),
        suspected_service=service or None,
        suspected_file=places[0].split("::")[0] if places else None,
        suspected_function=places[0] if places else None,
        would_disprove=phrase(_TEXT, "would_disprove", lock=lock),
    )
