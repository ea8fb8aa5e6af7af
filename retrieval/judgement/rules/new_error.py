"""An error that was not there before, and nothing that we know was changed: a lead, said as such."""

from retrieval.judgement import cites
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.rules import symptom
from retrieval.judgement.verdict import fails_at_both
from retrieval.texts import phrase

_TEXT = "hypotheses/new_error.j2"


def apply(facts: Facts) -> Draft | None:
    """None without a crash record to cite."""
    crash = facts.crash
    if crash is None or not (claims := symptom.claims(facts)):
        return None
    proof = facts.proof if facts.proof and facts.proof.service == facts.service else None
    if proof is not None and fails_at_both(proof):
        claims = (*claims, (phrase(_TEXT, "both", proof=proof), (cites.proof(proof),)))
    return Draft(
        rule="new_error",
        failure_mode=phrase(_TEXT, "failure_mode", crash=crash),
        summary=phrase(_TEXT, "summary", crash=crash),
        score=(0.6 if crash.in_app_frames else 0.2) * symptom.strength(facts) + 0.05,
        claims=claims,
        links=("symptom",),
        suspected_service=crash.service or None,
        suspected_file=crash.crash_path or None,
        suspected_function=symptom.function_of(crash),
        would_disprove=phrase(_TEXT, "would_disprove", crash=crash, onset=facts.onset_ns),
        next_required_data=(phrase(_TEXT, "needed", crash=crash),),
    )
