"""Ask, check, conclude again. Whatever the model does, the case that comes back is a whole one."""

import asyncio
from collections.abc import Sequence

from msgspec import structs

from retrieval.judgement.conclude import conclude
from retrieval.judgement.refinement.check import check
from retrieval.judgement.refinement.prompt import Asked, ask_about
from retrieval.judgement.wording import Refinement
from retrieval.model import Case, Hit, ModelOutcome, ModelUse, Reply
from retrieval.ports import Model

BUDGET = 12_000  # tokens per alert


async def refine(case: Case, hits: Sequence[Hit], model: Model, *, budget: int = BUDGET) -> Case:
    """The case, concluded, with what the model may add and what became of asking it (`case.model`)."""
    asked = await asyncio.to_thread(ask_about, case, budget)
    use = ModelUse(name=model.name, provider=model.provider, outcome=ModelOutcome.NOT_ASKED)
    if asked is None:
        return structs.replace(case, model=use)
    reply = await model.ask(asked.question)
    use = structs.replace(use, outcome=reply.outcome, tokens=reply.tokens, reason=reply.reason)
    if reply.outcome is not ModelOutcome.ANSWERED or reply.value is None:
        return structs.replace(case, model=use)
    return await asyncio.to_thread(_with, case, hits, asked, (use, reply))


def _with(case: Case, hits: Sequence[Hit], asked: Asked, answered: tuple[ModelUse, Reply]) -> Case:
    use, reply = answered
    said = reply.value.model_dump() if reply.value else {}
    refinement = check(case, asked, said)
    refined = conclude(case, hits, refinement)
    changed = refined.hypotheses != case.hypotheses
    if changed:
        outcome = ModelOutcome.REFINED
    elif said.get("verdict") == "insufficient_evidence":
        outcome = ModelOutcome.INSUFFICIENT
    else:
        outcome = ModelOutcome.REJECTED if _refused(case, refinement) else ModelOutcome.NOTHING_NEW
    return structs.replace(refined if changed else case, model=structs.replace(use, outcome=outcome))


def _refused(case: Case, refinement: Refinement) -> bool:
    return refinement.dropped > 0 or refinement.rule != case.hypotheses[0].rule
