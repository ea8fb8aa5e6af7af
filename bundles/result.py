"""The answer as JSON, schema `receipts/1`: what `receipts triage --json` prints and a bundle's manifest holds. Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec

from retrieval.model import Attempt, Case, Claim, Evidence, Hypothesis, ModelUse, Patch, Proof, RankedItem, Verdict

SCHEMA = "receipts/1"
MAX_PROBLEMS = 100  # of input that could not be used; `looked_at` has their number


def result(case: Case, *, bundle: str | None = None, timings: bool = True) -> dict[str, Any]:
    """One object that obeys the contract, whatever the case holds. Without `timings` it is a function of the input
    alone, which is what a manifest needs."""
    best = case.hypotheses[0] if case.hypotheses else None
    answer: dict[str, Any] = {
        "schema": SCHEMA,
        "incident_id": case.incident_id,
        "verdict": case.verdict.value,
        "hypothesis": _hypothesis(best, case),
        "ranked": {
            "services": _ranked(case.rankings.services),
            "commits": _ranked(case.rankings.commits),
            "files": _ranked(case.rankings.files),
            "functions": _ranked(case.rankings.functions),
        },
        "evidence": [evidence_row(e) for e in case.evidence],
        "proof": _proof(case.proof) if case.proof else None,
        "missing": [msgspec.to_builtins(m) for m in case.missing],
        "alternatives": [{"rule": h.rule, "summary": h.summary, "score": h.score} for h in case.hypotheses[1:]],
        "looked_at": list(case.looked_at),
        "problems": [{"source": str(p.source), "reason": p.reason} for p in case.sources.problems[:MAX_PROBLEMS]],
        "model": _model(case.model) if case.model else None,
    }
    if timings:
        answer["bundle"] = bundle
        answer["timings_ms"] = {k: round(v, 1) for k, v in case.timings_ms.items()}
    return answer


def _hypothesis(best: Hypothesis | None, case: Case) -> dict[str, Any]:
    named = best is not None and case.verdict is not Verdict.INSUFFICIENT
    return {
        "rule": best.rule if best else None,
        "suspected_service": best.suspected_service if best and named else None,
        "suspected_file": best.suspected_file if best and named else None,
        "suspected_function": best.suspected_function if best and named else None,
        "suspected_commit": best.suspected_commit if best and named else None,
        "failure_mode": best.failure_mode if best else "",
        "summary": best.summary if best else "",
        "claims": [_claim(c) for c in best.claims] if best else [],
        "minimal_repro_steps": list(best.minimal_repro_steps) if best else [],
        "confidence": best.confidence if best else 0.0,
        "would_disprove": best.would_disprove if best else "",
        "next_required_data": list(best.next_required_data) if best else [m.what for m in case.missing],
    }


def _claim(claim: Claim) -> dict[str, Any]:
    """`by` is there only where it was not a rule that worded it."""
    return {"text": claim.text, "citations": list(claim.citations), **({"by": claim.by} if claim.by else {})}


def _model(use: ModelUse) -> dict[str, Any]:
    told = {"name": use.name, "provider": use.provider, "outcome": use.outcome.value, "tokens": use.tokens}
    return {**told, **({"reason": use.reason} if use.reason else {})}


def _ranked(items: Sequence[RankedItem]) -> list[dict[str, Any]]:
    return [{"id": i.id, "score": i.score} for i in items]


def evidence_row(evidence: Evidence) -> dict[str, Any]:
    """An evidence as the contract lists it: without its content, which lies in its own file of the bundle."""
    return {
        "id": evidence.id,
        "artifact_id": evidence.artifact_id,
        "kind": evidence.kind,
        "source": evidence.source,
        "sha256": evidence.sha256,
        "quote": evidence.quote,
        "why": evidence.why,
        "score": evidence.score,
        "score_parts": evidence.score_parts,
    }


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "service": proof.service,
        "repo": proof.repo,
        "test": proof.test or None,
        "command": list(proof.command),
        "input": {"strategy": proof.input.strategy, "summary": proof.input.summary,
                  "citations": list(proof.input.citations)} if proof.input else None,
        "at_deployed": _attempt(proof.at_deployed),
        "at_good": _attempt(proof.at_good),
        "bisect": {
            "culprit": proof.bisect.culprit,
            "tested": [_attempt(a) for a in proof.bisect.tested],
            "acquitted": list(proof.bisect.acquitted),
            "reason": proof.bisect.reason,
        } if proof.bisect else None,
        "patch": _patch(proof.patch),
        "patches_tried": [{"strategy": p.strategy, "outcome": p.outcome} for p in proof.patches_tried],
        "not_run_reason": proof.not_run_reason or None,
    }  # fmt: skip


def _attempt(attempt: Attempt | None) -> dict[str, Any] | None:
    if attempt is None:
        return None
    signature = attempt.error_signature
    return {
        "commit": attempt.commit,
        "outcome": attempt.outcome,
        "error_signature": {"type": signature.type, "message": signature.message} if signature else None,
        "matches_production": attempt.matches_production,
    }


def _patch(patch: Patch | None) -> dict[str, Any] | None:
    if patch is None:
        return None
    return {
        "diff": patch.diff,
        "strategy": patch.strategy,
        "rationale": patch.rationale,
        "outcome": patch.outcome,
        "regression": patch.regression,
    }
