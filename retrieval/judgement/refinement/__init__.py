"""What a language model may add to a conclusion (rows B6, F4, F10): ask, check in plain code, conclude again.

It may word the summary anew, add cited claims, name data that is wanted next, and choose between hypotheses of the same
rung below `reproduced`. It can never move a verdict, a ranking, a proof, the evidence, or name what is not there.
"""

from retrieval.judgement.refinement.refine import refine

__all__ = ["refine"]
