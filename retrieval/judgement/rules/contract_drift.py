"""A contract was changed in a way that breaks those who use it, and the failure names what was changed.

The tie is the changed element's own name in the failure's words, or a call of an operation that is gone; a change that
nothing in the failure names is never told as a cause.
"""

from msgspec import Struct

from retrieval.judgement import cites
from retrieval.judgement.draft import Cite, Draft
from retrieval.judgement.facts import SETTLE_NS, Facts
from retrieval.judgement.failure import Tie, failure_of, tie
from retrieval.judgement.rules import symptom
from retrieval.judgement.verdict import reproduces
from retrieval.model import ContractChange
from retrieval.texts import phrase

_TEXT = "hypotheses/contract_drift.j2"
TOLD = 3  # changes that are cited


class Met(Struct, frozen=True):
    """A change that the failure meets."""

    change: ContractChange
    tie: Tie


def apply(facts: Facts) -> Draft | None:
    """None without a breaking change on the failing path that the failure names."""
    met = _met(facts)
    if not met:
        return None
    change, tied = met[0].change, met[0].tie
    elsewhere = bool(facts.service) and change.service != facts.service
    known = change.reached_ns is not None
    score = symptom.strength(facts) + 0.2 * tied.strength + (0.15 if elsewhere else 0.05)
    score += 0.25 * facts.proximity(change.reached_ns) if change.reached_ns is not None else 0.0
    if facts.proof and reproduces(facts.proof):
        score -= 0.4
    records = symptom.records_of(facts.crash, 1) if facts.crash else ()
    if tied.span is not None:
        records = (*records, cites.span(tied.span))
    told = tuple(cites.contract(m.change) for m in met[:TOLD])
    claims = list(symptom.claims(facts))
    claims.append((phrase(_TEXT, "changed", change=change, others=[m.change.told for m in met[1:TOLD]]), told))
    claims.append((phrase(_TEXT, "tied", change=change, tie=tied, consumer=facts.service), (told[0], *records)))
    claims += commit_claims(facts, change)
    return Draft(
        rule="contract_drift",
        failure_mode=phrase(_TEXT, "failure_mode", change=change),
        summary=phrase(_TEXT, "summary", change=change, consumer=facts.service if elsewhere else ""),
        score=max(score, 0.0),
        claims=tuple(claims),
        links=("symptom", "change") if known and records else ("symptom",),
        suspected_service=change.service or facts.service or None,
        suspected_file=change.path if change.repo else None,
        suspected_commit=only_commit([m.change for m in met]),
        would_disprove=phrase(_TEXT, "would_disprove", change=change),
    )


def commit_claims(facts: Facts, change: ContractChange) -> list[tuple[str, tuple[Cite, ...]]]:
    """Who made the change, where a commit did."""
    suspect = next((s for s in facts.case.suspects if s.commit.sha == change.commit_sha), None)
    if suspect is None:
        return []
    made = cites.commit(suspect.commit, suspect.service, frozenset({change.path}))
    return [(phrase(_TEXT, "made", commit=suspect.commit, change=change), (made,))]


def only_commit(changes: list[ContractChange]) -> str | None:
    """The commit that made all of them, None where there are several or none: a commit is named only for its own."""
    commits = {c.commit_sha for c in changes}
    return commits.pop() or None if len(commits) == 1 else None


def near(change: ContractChange, facts: Facts) -> bool:
    """Whether a change is of a service on the failing path, or next to it, and not from after the onset."""
    case = facts.case
    if change.reached_ns is not None:
        reach = case.window.diffs_from_ns if case.window else 0
        if not reach <= change.reached_ns <= facts.onset_ns + SETTLE_NS:
            return False
    path = {facts.service, *case.topology.path, *(a.service for a in case.alerts)} - {""}
    beside = {callee for service in path for callee in case.topology.edges.get(service, {})}
    return not path or not change.service or change.service in path | beside


def _met(facts: Facts) -> list[Met]:
    chosen = [c for c in facts.case.contract_changes if not c.is_step and c.breaks and near(c, facts)]
    if not chosen:
        return []
    failure = failure_of(facts)
    met = [Met(c, found) for c in chosen if (found := tie(c, failure)) is not None]
    return sorted(
        met, key=lambda m: (-m.tie.strength, -(m.change.reached_ns or 0), m.change.path, m.change.what, m.change.name)
    )
