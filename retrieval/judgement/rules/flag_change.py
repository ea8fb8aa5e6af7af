"""A flag that was switched just before, and whose name the failing code or its error knows."""

from retrieval.judgement import cites
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.rules import symptom
from retrieval.judgement.rules.config_change import tie
from retrieval.judgement.verdict import reproduces
from retrieval.texts import phrase

_TEXT = "hypotheses/flag_change.j2"


def apply(facts: Facts) -> Draft | None:
    """None without a switch of the crashing service's (or its path's) flags in the window."""
    if not facts.flags_near:
        return None
    flag = min(facts.flags_near, key=lambda f: (-tie(f.flag, facts), f.service != facts.service, -f.at_ns, f.flag))
    tied, own = tie(flag.flag, facts), flag.service == facts.service
    score = symptom.strength(facts) + (0.25 if own else 0.05) * facts.proximity(flag.at_ns) + 0.3 * tied
    if facts.proof and reproduces(facts.proof):
        score -= 0.4
    claims = [*symptom.claims(facts), (phrase(_TEXT, "switched", flag=flag), (cites.flag(flag),))]
    return Draft(
        rule="flag_change",
        failure_mode=phrase(_TEXT, "failure_mode", flag=flag),
        summary=phrase(_TEXT, "summary", facts=facts, flag=flag),
        score=max(score, 0.0),
        claims=tuple(claims),
        links=("symptom", "change") if tied and own and facts.crash else ("symptom",) if facts.crash else (),
        suspected_service=flag.service or facts.service or None,
        would_disprove=phrase(_TEXT, "would_disprove", flag=flag),
    )
