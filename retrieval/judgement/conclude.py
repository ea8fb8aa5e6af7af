"""From facts to the answer: drafts, evidence with numbers, guard, verdict, rankings, what is missing. Pure.

Called before anything is run and again with the proof; the second call starts from the same records, so that what was
run can move a hypothesis up, down, or out.
"""

from collections.abc import Sequence

from msgspec import structs

from retrieval.judgement import cites
from retrieval.judgement.confidence import confidence
from retrieval.judgement.draft import Cite, Draft, Numbered, number
from retrieval.judgement.facts import gather_facts
from retrieval.judgement.guard import guard
from retrieval.judgement.missing import missing_data
from retrieval.judgement.rules import hypothesise
from retrieval.judgement.verdict import decide
from retrieval.judgement.wording import Refinement, apply
from retrieval.model import Case, Claim, Hit, Hypothesis, Verdict
from retrieval.ranking.culprits import rank
from retrieval.texts import phrase

EXTRA_EVIDENCE = 6
PLURALS = {
    "metric series": "metric series", "flag switch": "flag switches", "repository": "repositories",
    "document by search": "documents by search",
}  # fmt: skip


def conclude(case: Case, hits: Sequence[Hit], wording: Refinement | None = None) -> Case:
    """The case with evidence, hypotheses (best first), verdict, rankings, missing data and what was looked at.

    `wording` is what a language model may add; the same guard and the same ladder decide on the result.
    """
    facts = gather_facts(case)
    drafts = hypothesise(facts)
    numbered = number(drafts, list(hits), _extra(hits, drafts))
    kept, _ = guard(_hypotheses(drafts, numbered), [e.id for e in numbered.evidence])
    links = {d.rule: frozenset(d.links) for d in drafts}

    def rung_of(hypothesis: Hypothesis) -> Verdict:
        proof = facts.proof if hypothesis.rule == "code_change" else None
        return decide(hypothesis, links[hypothesis.rule], proof)

    if wording is not None:
        kept, _ = guard(apply(kept, wording, rung_of), [e.id for e in numbered.evidence])
    verdict = rung_of(kept[0]) if kept else Verdict.INSUFFICIENT
    sure = confidence(verdict, [h.score for h in kept], facts.proof)
    missing = missing_data(case, verdict, facts.proof)
    kept = [_finish(h, sure if i == 0 else None, case, missing_names(missing)) for i, h in enumerate(kept)]
    return structs.replace(
        case,
        evidence=numbered.evidence,
        hypotheses=tuple(kept),
        verdict=verdict,
        rankings=rank(case),
        missing=missing,
        looked_at=looked_at(case, len(hits)),
    )


def missing_names(missing: Sequence[object]) -> tuple[str, ...]:
    return tuple(getattr(m, "what", "") for m in missing)


def _hypotheses(drafts: Sequence[Draft], numbered: Numbered) -> list[Hypothesis]:
    return [
        Hypothesis(
            rule=draft.rule,
            failure_mode=draft.failure_mode,
            summary=draft.summary,
            suspected_service=draft.suspected_service,
            suspected_file=draft.suspected_file,
            suspected_function=draft.suspected_function,
            suspected_commit=draft.suspected_commit,
            claims=tuple(Claim(text, ids) for text, ids in claims),
            would_disprove=draft.would_disprove,
            next_required_data=draft.next_required_data,
            score=round(draft.score, 6),
        )
        for draft, claims in zip(drafts, numbered.claims, strict=True)
    ]


def _finish(hypothesis: Hypothesis, sure: float | None, case: Case, wanted: tuple[str, ...]) -> Hypothesis:
    """Confidence, the steps to repeat it, and what is needed next, on the hypothesis that is told first."""
    if sure is None:
        return hypothesis
    steps: tuple[str, ...] = ()
    if case.proof and case.proof.test and case.proof.at_deployed:
        steps = (
            phrase("hypotheses/steps.j2", "checkout", repo=case.proof.repo, sha=case.proof.at_deployed.commit),
            phrase("hypotheses/steps.j2", "overlay"),
            phrase("hypotheses/steps.j2", "run", command=" ".join(case.proof.command)),
        )
    needed = tuple(dict.fromkeys((*wanted, *hypothesis.next_required_data)))
    return structs.replace(hypothesis, confidence=sure, minimal_repro_steps=steps, next_required_data=needed)


def _extra(hits: Sequence[Hit], drafts: Sequence[Draft]) -> tuple[Cite, ...]:
    """The best hits that no rule cited, one of a kind first: postmortems, tests, similar logs."""
    cited = {c.source for d in drafts for _, cs in d.claims for c in cs}
    chosen: list[Cite] = []
    kinds: dict[str, int] = {}
    for hit in hits:
        document = hit.document
        if document.source in cited or kinds.get(document.kind, 0) >= 2 or len(chosen) >= EXTRA_EVIDENCE:
            continue
        kinds[document.kind] = kinds.get(document.kind, 0) + 1
        leg = max(sorted(hit.parts), key=lambda p: hit.parts[p]) if hit.parts else "filter"
        chosen.append(cites.found(hit, phrase("hypotheses/why.j2", "retrieved", leg=leg, score=hit.score)))
    return tuple(chosen)


def looked_at(case: Case, hits: int) -> tuple[str, ...]:
    """What was searched, for people; said whole when nothing was found."""
    sources = case.sources
    counts = (
        ("span", len(sources.spans)), ("log record", len(sources.logs)), ("metric series", len(sources.series)),
        ("deploy", len(sources.deploys)), ("flag switch", len(sources.flags)),
        ("configuration change", len(sources.config)), ("test result", len(sources.tests)),
        ("postmortem", len(sources.postmortems)), ("thread dump", len(sources.dumps)),
        ("profile", len(sources.profiles)), ("coverage record", len(sources.coverage)),
        ("environment", len(sources.environments)), ("ticket", len(sources.tickets)),
        ("contract change", len(case.contract_changes)), ("repository", len(sources.repos)),
        ("suspect commit", len(case.suspects)), ("document by search", hits),
        ("unreadable record", len(sources.problems)),
    )  # fmt: skip
    return tuple(f"{n} {name if n == 1 else PLURALS.get(name, name + 's')}" for name, n in counts if n)


def best_hypothesis(case: Case) -> Hypothesis | None:
    return case.hypotheses[0] if case.hypotheses and case.verdict is not Verdict.INSUFFICIENT else None
