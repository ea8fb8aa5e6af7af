"""Nothing is said without a citation (row B6), decided here and nowhere else."""

from collections.abc import Collection

from msgspec import structs

from retrieval.model import Claim, Hypothesis


def guard(hypotheses: Collection[Hypothesis], evidence_ids: Collection[str]) -> tuple[list[Hypothesis], int]:
    """Drop citations that resolve to nothing, claims left without one, hypotheses left without a claim.

    Returns what stands and how many claims were dropped.
    """
    known, kept, dropped = set(evidence_ids), [], 0
    for hypothesis in hypotheses:
        claims = []
        for claim in hypothesis.claims:
            cited = tuple(c for c in claim.citations if c in known)
            if cited and claim.text.strip():
                claims.append(Claim(claim.text, cited, claim.by))
            else:
                dropped += 1
        if claims:
            kept.append(structs.replace(hypothesis, claims=tuple(claims)))
    return kept, dropped
