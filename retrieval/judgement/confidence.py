"""How sure, as a number: a band per rung, and a place in the band by how far the best hypothesis is ahead.

The bands are set by hand so that a higher rung is never less sure than a lower one; calibration on an evaluation set
replaces the table, not the function.
"""

from collections.abc import Sequence

from retrieval.model import Proof, Verdict

BANDS: dict[Verdict, tuple[float, float]] = {
    Verdict.INSUFFICIENT: (0.0, 0.0),
    Verdict.LEAD: (0.1, 0.35),
    Verdict.SUPPORTED: (0.4, 0.65),
    Verdict.REPRODUCED: (0.7, 0.8),
    Verdict.PROVED: (0.9, 0.97),
}


def confidence(verdict: Verdict, scores: Sequence[float], proof: Proof | None = None) -> float:
    """0..1, two decimals. `scores` are those of the hypotheses, best first."""
    low, high = BANDS[verdict]
    if verdict is Verdict.PROVED:
        share = 1.0 if proof and proof.patch and proof.patch.outcome == "passed" else 0.4
    elif not scores or scores[0] <= 0:
        share = 0.0
    else:
        runner_up = scores[1] if len(scores) > 1 else 0.0
        share = max(0.0, min(1.0, (scores[0] - runner_up) / scores[0]))
    return round(low + (high - low) * share, 2)
