"""What a checked refinement does to hypotheses: words, cited claims, an order within one rung. Pure."""

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from retrieval.model import RUNGS, Claim, Hypothesis, Verdict


class Refinement(Struct, frozen=True, kw_only=True):
    """What stands of a language model's answer. `rule` is that of the hypothesis that it is about; `dropped` is how
    much of it does not stand."""

    rule: str
    summary: str = ""
    claims: tuple[Claim, ...] = ()
    wanted: tuple[str, ...] = ()
    dropped: int = 0


def apply(
    hypotheses: Sequence[Hypothesis], wording: Refinement, rung_of: Callable[[Hypothesis], Verdict]
) -> list[Hypothesis]:
    """The hypotheses, best first. Another one comes first only where both stand on the same rung below `reproduced`;
    words about one that does not come first are left out."""
    if not hypotheses:
        return []
    chosen = next((h for h in hypotheses if h.rule == wording.rule), hypotheses[0])
    if chosen is not hypotheses[0]:
        rung = rung_of(hypotheses[0])
        if rung_of(chosen) is not rung or RUNGS.index(rung) >= RUNGS.index(Verdict.REPRODUCED):
            return list(hypotheses)
    worded = structs.replace(
        chosen,
        summary=wording.summary or chosen.summary,
        claims=(*chosen.claims, *wording.claims),
        next_required_data=tuple(dict.fromkeys((*chosen.next_required_data, *wording.wanted))),
    )
    return [worded, *(h for h in hypotheses if h is not chosen)]
