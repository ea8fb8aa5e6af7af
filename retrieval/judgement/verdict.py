"""The ladder, decided in code (row F5): insufficient evidence < lead < supported < reproduced < proved.

A rung needs its artifact:

    lead        a hypothesis with a cited claim
    supported   a symptom and a change that is tied to it by more than the clock
    reproduced  the generated test failed at the deployed commit with production's error, and is not known to fail
                without the change too
    proved      ... it passed at the last good commit, and bisection found the one commit between that breaks it
"""

from retrieval.model import Hypothesis, Proof, Verdict
from retrieval.model.signatures import same_type

LINKS_FOR_SUPPORT = frozenset({"symptom", "change"})


def decide(best: Hypothesis | None, links: frozenset[str], proof: Proof | None) -> Verdict:
    """The highest rung whose artifact is there. `links` are those of the draft that `best` came from."""
    if best is None or not best.claims:
        return Verdict.INSUFFICIENT
    if proof is not None and reproduces(proof):
        if proof.at_good is not None and proof.at_good.outcome == "passed" and proof.bisect and proof.bisect.culprit:
            return Verdict.PROVED
        return Verdict.REPRODUCED
    return Verdict.SUPPORTED if links >= LINKS_FOR_SUPPORT else Verdict.LEAD


def reproduces(proof: Proof) -> bool:
    """Whether the failure was seen as in production, and only with the change.

    A test that fails at the last good commit as well, with the same type of error, tells nothing about the change.
    """
    deployed = proof.at_deployed
    if deployed is None or deployed.outcome not in ("failed", "error") or not deployed.matches_production:
        return False
    return not fails_at_both(proof)


def fails_at_both(proof: Proof | None) -> bool:
    """The test fails at both commits by the same type of error: the code between them is acquitted.

    The message may differ: what it says belongs to the code, and the code is what differs.
    """
    if proof is None or proof.at_deployed is None or proof.at_good is None:
        return False
    deployed, good = proof.at_deployed, proof.at_good
    if not deployed.matches_production or good.outcome not in ("failed", "error"):
        return False
    if good.matches_production:
        return True
    said = (deployed.error_signature, good.error_signature)
    return said[0] is not None and said[1] is not None and same_type(said[0].type, said[1].type)
