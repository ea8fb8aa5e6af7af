"""From a concluded case to the question. Pure; the same case gives the same question, to the letter."""

from msgspec import Struct

from retrieval.judgement.refinement.shape import shape_of
from retrieval.judgement.refinement.shown import Shown, mark_of, show, visible
from retrieval.model import Case, Hypothesis, Question
from retrieval.texts import environment

MAX_HYPOTHESES, MAX_EVIDENCE, MAX_NAMES = 4, 20, 40
LINES = (30, 12, 5, 2)  # of each piece of evidence; fewer until the budget holds
MAX_TOKENS = 900


class Asked(Struct, frozen=True):
    """The question, and what it showed: only that can be cited."""

    question: Question
    hypotheses: dict[str, Hypothesis]
    shown: dict[str, Shown]


def ask_about(case: Case, budget: int) -> Asked | None:
    """None where there is nothing to word: no hypothesis, or no candidate to name."""
    hypotheses = {f"H{n}": h for n, h in enumerate(case.hypotheses[:MAX_HYPOTHESES], 1)}
    evidence, names = case.evidence[:MAX_EVIDENCE], candidates(case)
    if not hypotheses or not evidence or not names:
        return None
    asked = None
    for most in LINES:
        asked = _asked(case, hypotheses, show(evidence, most), budget)
        if asked.question.estimate <= budget:
            break
    return asked


def candidates(case: Case) -> tuple[str, ...]:
    """Every name that may be spoken of: services, files, functions and commits that the hypotheses or rankings hold."""
    named = [n for h in case.hypotheses for n in (h.suspected_service, h.suspected_file, h.suspected_function)]
    named += [(h.suspected_commit or "")[:7] for h in case.hypotheses]
    ranked = case.rankings
    named += [i.id for items in (ranked.services, ranked.files, ranked.functions) for i in items[:8]]
    named += [i.id[:7] for i in ranked.commits[:8]]
    return tuple(dict.fromkeys(n for n in named if n and n == visible(n) and len(n) <= 160))[:MAX_NAMES]


def services(case: Case) -> tuple[str, ...]:
    found = [h.suspected_service for h in case.hypotheses] + [i.id for i in case.rankings.services[:8]]
    return tuple(dict.fromkeys(s for s in found if s and s == visible(s))) or ("",)


def _asked(case: Case, hypotheses: dict[str, Hypothesis], shown: tuple[Shown, ...], budget: int) -> Asked:
    names, ids = candidates(case), [s.id for s in shown]
    told = [
        {
            "id": key,
            "rule": h.rule,
            "summary": visible(h.summary),
            "claims": [{"text": visible(c.text), "citations": c.citations} for c in h.claims],
        }
        for key, h in hypotheses.items()
    ]
    values = {"hypotheses": told, "shown": shown, "mark": mark_of(shown), "names": names, "ids": ids}
    question = Question(
        system=environment().get_template("prompts/refine_system.j2").render(),
        user=environment().get_template("prompts/refine.j2").render(**values, ids_of_hypotheses=list(hypotheses)),
        shape=shape_of(list(hypotheses), ids, names, services(case)),
        max_tokens=MAX_TOKENS,
        budget=budget,
    )
    return Asked(question, hypotheses, {s.id: s for s in shown})
