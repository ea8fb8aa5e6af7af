"""What grew between two profiles: memory that is kept (`leak`), time that is spent (`hot_path`)."""

from retrieval.context.observed import MEMORY, TIME, place_of_row
from retrieval.context.profiles import Comparison, Growth
from retrieval.judgement import cites, seen
from retrieval.judgement.draft import Cite, Draft
from retrieval.judgement.facts import Facts
from retrieval.texts import phrase

_TEXT = "hypotheses/grown.j2"
_TOLD = 3

ClaimDraft = tuple[str, tuple[Cite, ...]]


def draft(rule: str, kind: str, facts: Facts) -> Draft | None:
    """`kind` is heap or cpu; None where no two reports of that kind differ enough."""
    wanted = MEMORY if kind == "heap" else TIME
    found = next((c for c in facts.observed.compared if c.after.kind == kind), None)
    if found is None:
        return None
    service = found.after.service or facts.service
    rows = [(growth, place_of_row(facts.case, growth.row)) for growth in found.grown[:_TOLD]]
    place = next((place for _, place in rows if place), "")
    near = seen.changed(facts, service, [place for _, place in rows if place])
    claims: list[ClaimDraft] = [_claim(found, growth) for growth, _ in rows]
    if near:
        claims.append((phrase(_TEXT, "changed", suspects=near), cites.suspects(tuple(near))))
    asked = facts.observed.symptom == wanted
    return Draft(
        rule=rule,
        failure_mode=phrase(_TEXT, f"{rule}_mode", growth=found.grown[0], service=service),
        summary=phrase(_TEXT, f"{rule}_summary", growth=found.grown[0], service=service, place=place),
        score=0.35 + (0.15 if asked and facts.crash is None else 0.0) + 0.15 * found.grown[0].share + 0.2 * bool(near),
        claims=tuple(claims),
        links=("symptom", "change") if near else ("symptom",),
        suspected_service=service or None,
        suspected_file=place.split("::")[0] or None,
        suspected_function=place or None,
        would_disprove=phrase(_TEXT, f"{rule}_disprove", growth=found.grown[0]),
    )


def _claim(found: Comparison, growth: Growth) -> ClaimDraft:
    site = growth.row.site
    text = phrase(_TEXT, "grew", growth=growth, heap=found.after.kind == "heap", unit=found.after.unit)
    return text, (seen.profile(found.before, site), seen.profile(found.after, site))
