"""From facts to the answer: citations, the ladder, what is missing."""

import hashlib
from pathlib import Path

import pytest
from msgspec import structs

from retrieval.judgement.conclude import conclude
from retrieval.judgement.guard import guard
from retrieval.judgement.verdict import decide, fails_at_both, reproduces
from retrieval.model import (
    Case,
    CaseSources,
    Claim,
    Document,
    Hit,
    Hypothesis,
    Proof,
    RankedItem,
    Rollout,
    Verdict,
)
from retrieval.ranking.culprits import is_production_path, rank
from tests import building as b


def test_every_claim_cites_evidence_that_is_there_and_digests_hold() -> None:
    done = conclude(b.a_case(), [])
    known = {e.id for e in done.evidence}
    assert [e.id for e in done.evidence] == [f"E{i}" for i in range(1, len(known) + 1)]
    for hypothesis in done.hypotheses:
        assert hypothesis.claims
        for claim in hypothesis.claims:
            assert claim.citations
            assert set(claim.citations) <= known
    for evidence in done.evidence:
        assert hashlib.sha256(evidence.content.encode()).hexdigest() == evidence.sha256


def test_an_alert_alone_is_insufficient_and_says_what_is_missing() -> None:
    done = conclude(Case(incident_id="i", alerts=(b.an_alert(),)), [])
    assert done.verdict is Verdict.INSUFFICIENT
    assert {m.what.split()[0] for m in done.missing} >= {"traces", "logs", "metric", "deploys"}
    assert done.hypotheses == ()


def test_without_a_repository_it_is_supported_at_most() -> None:
    done = conclude(b.a_case(suspects=()), [])
    assert done.verdict in (Verdict.LEAD, Verdict.SUPPORTED)


def test_a_proof_carries_it_to_the_top_and_leaves_nothing_to_ask() -> None:
    done = conclude(b.a_case(proof=b.a_proof()), [])
    assert done.verdict is Verdict.PROVED
    assert done.missing == ()
    assert done.hypotheses[0].confidence >= 0.9
    assert done.hypotheses[0].minimal_repro_steps
    assert done.rankings.commits[0].id == b.GUILTY
    assert done.rankings.functions[0].id == "price/format.py::format_discount"


def test_it_is_the_same_whatever_the_order_of_hits() -> None:
    documents = [
        Document(id=f"postmortem:{i}", kind="postmortem", text=f"coupon {i}", time_ns=1, source=f"postmortems/{i}.md")
        for i in range(4)
    ]
    hits = [Hit(document=d, score=0.5, parts={"lexical": 0.5}) for d in documents]
    first, again = conclude(b.a_case(), hits), conclude(b.a_case(), hits)
    assert first == again
    assert sum(e.kind == "postmortem" for e in first.evidence) == 2


def test_a_record_that_search_found_keeps_its_score_parts() -> None:
    document = Document(id="log:1", kind="log", text="x", time_ns=1, source="logs/price.jsonl:12")
    done = conclude(b.a_case(), [Hit(document=document, score=0.7, parts={"lexical": 0.6, "symbol": 0.9})])
    row = next(e for e in done.evidence if e.source == "logs/price.jsonl:12")
    assert row.artifact_id == "log:1"
    assert row.score_parts == {"lexical": 0.6, "symbol": 0.9}


def test_the_guard_drops_what_cites_nothing() -> None:
    claims = (Claim("a", ("E1", "E9")), Claim("b", ()), Claim("c", ("E9",)), Claim(" ", ("E1",)))
    kept, dropped = guard([Hypothesis(rule="r", failure_mode="", summary="s", claims=claims)], ["E1"])
    assert [(c.text, c.citations) for c in kept[0].claims] == [("a", ("E1",))]
    assert dropped == 3
    assert guard([Hypothesis(rule="r", failure_mode="", summary="s", claims=(Claim("b", ()),))], ["E1"]) == ([], 1)


@pytest.mark.parametrize(
    ("proof", "verdict"),
    [
        (None, Verdict.SUPPORTED),
        (b.a_proof(), Verdict.PROVED),
        (b.a_proof(bisect=None), Verdict.REPRODUCED),
        (b.a_proof(at_good=None), Verdict.REPRODUCED),
        (b.a_proof(at_good=b.an_attempt(b.GOOD, "error")), Verdict.REPRODUCED),
        (b.a_proof(at_good=b.an_attempt(b.GOOD, "failed", True)), Verdict.SUPPORTED),
        (b.a_proof(at_deployed=b.an_attempt(b.BAD, "failed", False)), Verdict.SUPPORTED),
        (b.a_proof(at_deployed=b.an_attempt(b.BAD, "passed")), Verdict.SUPPORTED),
        (Proof(service="price", repo="shop", not_run_reason="no sandbox"), Verdict.SUPPORTED),
    ],
)
def test_a_rung_needs_its_artifact(proof: Proof | None, verdict: Verdict) -> None:
    best = Hypothesis(rule="code_change", failure_mode="", summary="s", claims=(Claim("a", ("E1",)),))
    assert decide(best, frozenset({"symptom", "change"}), proof) is verdict


def test_a_symptom_alone_is_a_lead_and_nothing_is_insufficient() -> None:
    best = Hypothesis(rule="new_error", failure_mode="", summary="s", claims=(Claim("a", ("E1",)),))
    assert decide(best, frozenset({"symptom"}), None) is Verdict.LEAD
    assert decide(None, frozenset(), b.a_proof()) is Verdict.INSUFFICIENT


def test_failing_at_both_is_not_a_reproduction() -> None:
    both = b.a_proof(at_good=b.an_attempt(b.GOOD, "failed", True))
    assert fails_at_both(both)
    assert not reproduces(both)
    assert not fails_at_both(None)


def test_rankings_are_strict_and_cover_what_there_is() -> None:
    case = b.a_case(service_scores=(RankedItem("cart", 2.0), RankedItem("price", 1.0)))
    ranked = rank(case)
    assert ranked.services[0].id == "price"  # where it crashed, before what is merely unusual
    assert ranked.commits[0].id == b.GUILTY
    for rows in (ranked.services, ranked.commits, ranked.files, ranked.functions):
        keys = [(-r.score, r.id) for r in rows]
        assert keys == sorted(keys)
        assert len({r.id for r in rows}) == len(rows)


def test_an_acquitted_commit_falls_behind() -> None:
    proof = b.a_proof(bisect=structs.replace(b.a_proof().bisect, culprit=None, acquitted=(b.GUILTY,)))
    assert rank(b.a_case(proof=proof)).commits[0].id != b.GUILTY


@pytest.mark.parametrize(
    ("path", "reaches"),
    [("price/format.py", True), ("tests/test_a.py", False), ("a/conftest.py", False), ("README.md", False),
     ("requirements.txt", True), ("docs/x.py", False), ("src/latest.py", True)],
)  # fmt: skip
def test_tests_and_documents_do_not_reach_production(path: str, reaches: bool) -> None:
    assert is_production_path(path) is reaches


def test_what_was_looked_at_is_told() -> None:
    done = conclude(b.a_case(sources=CaseSources(), crashes=(), rollout=Rollout(), suspects=()), [])
    assert done.looked_at == ()
    assert "1 span" in conclude(b.a_case(), []).looked_at


def test_what_kept_the_test_from_running_is_asked_for_once() -> None:
    whole = structs.replace(b.a_case().sources, repos={"shop": Path("shop")})
    asked = (("the body of POST /total", "it was not recorded", "log it"),)
    proof = Proof(service="price", repo="shop", missing=asked, not_run_reason="no input was recorded")
    told = [m.what for m in conclude(b.a_case(proof=proof, sources=whole), []).missing]
    assert told == ["the body of POST /total"]
    bare = Proof(service="price", repo="shop", not_run_reason="the sandbox does not hold")
    rows = conclude(b.a_case(proof=bare, sources=whole), []).missing
    assert [m.why for m in rows] == ["the sandbox does not hold"]


def test_a_service_without_a_stack_or_repository_is_told_what_to_bring() -> None:
    bare = b.a_crash(in_app_frames=(), crash_path="", crash_function="")
    case = b.a_case(crashes=(bare,), sources=CaseSources(), suspects=())
    told = " ".join(m.what for m in conclude(case, []).missing)
    for name in ("traces", "logs", "deploys", "repository", "stack trace"):
        assert name in told
