"""Named rules that turn evidence into competing hypotheses; each is a file, pure, and testable alone.

A rule takes the facts and returns a draft, or None where it has nothing to say. The order here is only the order of
evaluation: drafts are ordered by score, ties by the rule's name.
"""

from collections.abc import Callable, Mapping

from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.rules import (
    code_change,
    config_change,
    contention,
    contract_drift,
    deadlock,
    degraded,
    dependency,
    flag_change,
    hot_path,
    leak,
    migration,
    new_error,
)

Rule = Callable[[Facts], Draft | None]

RULES: Mapping[str, Rule] = {
    "code_change": code_change.apply,
    "config_change": config_change.apply,
    "flag_change": flag_change.apply,
    "contract_drift": contract_drift.apply,
    "migration": migration.apply,
    "dependency": dependency.apply,
    "new_error": new_error.apply,
    "degraded": degraded.apply,
    "deadlock": deadlock.apply,
    "contention": contention.apply,
    "leak": leak.apply,
    "hot_path": hot_path.apply,
}


def hypothesise(facts: Facts) -> list[Draft]:
    """Every rule's draft, best first."""
    drafts = [draft for draft in (rule(facts) for rule in RULES.values()) if draft is not None]
    return sorted(drafts, key=lambda d: (-round(d.score, 6), d.rule))
