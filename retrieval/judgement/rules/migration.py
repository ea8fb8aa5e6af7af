"""A migration changed a table, and the database's own words, or its slow queries, name what was changed.

A column or table that the code asks for and the migration adds means the other fault: the migration had not run.
"""

from msgspec import Struct

from retrieval.judgement import cites
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.failure import failure_of
from retrieval.judgement.migrations import Broken, broken_by
from retrieval.judgement.rules import symptom
from retrieval.judgement.rules.contract_drift import commit_claims, near, only_commit
from retrieval.judgement.verdict import reproduces
from retrieval.model import ContractChange
from retrieval.texts import phrase

_TEXT = "hypotheses/migration.j2"


class _Met(Struct, frozen=True):
    step: ContractChange
    broken: Broken


def apply(facts: Facts) -> Draft | None:
    """None without a step of a migration that the failure names."""
    met = _met(facts)
    if not met:
        return None
    step, broken = met[0].step, met[0].broken
    score = symptom.strength(facts) + 0.3 * broken.strength + 0.05
    score += 0.25 * facts.proximity(step.reached_ns) if step.reached_ns is not None else 0.0
    if facts.proof and reproduces(facts.proof):
        score -= 0.4
    records = symptom.records_of(facts.crash, 1) if facts.crash else ()
    if broken.span is not None:
        records = (*records, cites.span(broken.span))
    claims = list(symptom.claims(facts))
    claims.append((phrase(_TEXT, "changed", step=step), (cites.contract(step),)))
    claims.append((phrase(_TEXT, "tied", step=step, broken=broken), (cites.contract(step), *records)))
    claims += commit_claims(facts, step)
    return Draft(
        rule="migration",
        failure_mode=phrase(_TEXT, "failure_mode", step=step, broken=broken),
        summary=phrase(_TEXT, "summary", step=step, broken=broken),
        score=max(score, 0.0),
        claims=tuple(claims),
        links=("symptom", "change") if step.reached_ns is not None and records else ("symptom",),
        suspected_service=step.service or facts.service or None,
        suspected_file=step.path if step.repo else None,
        suspected_commit=only_commit([m.step for m in met]),
        would_disprove=phrase(_TEXT, "would_disprove", step=step, broken=broken),
    )


def _met(facts: Facts) -> list[_Met]:
    steps = [c for c in facts.case.contract_changes if c.is_step and near(c, facts)]
    if not steps:
        return []
    failure = failure_of(facts)
    met = [_Met(s, found) for s in steps if (found := broken_by(s, failure, facts.onset_ns)) is not None]
    return sorted(
        met, key=lambda m: (-m.broken.strength, not m.step.breaks, -(m.step.reached_ns or 0), m.step.path, m.step.name)
    )
