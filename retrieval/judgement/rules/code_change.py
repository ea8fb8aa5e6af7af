"""A new error in a service whose code was replaced before it began.

Names a commit only where a bisection convicted it, or where the deploy holds a single commit that can reach
production: commits that merely touch the same file are suspects, not culprits.
"""

from retrieval.judgement import cites
from retrieval.judgement.draft import Cite, Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.rules import symptom
from retrieval.judgement.verdict import fails_at_both, reproduces
from retrieval.model import Commit, Proof, Suspect
from retrieval.ranking.culprits import is_production_path, rank_commits
from retrieval.texts import phrase

_TEXT = "hypotheses/code_change.j2"


def apply(facts: Facts) -> Draft | None:
    """None without a crash, or without a deploy of its service before the onset."""
    crash, deploy = facts.crash, facts.deploy
    if crash is None or deploy is None or facts.proximity(deploy.started_ns) < 0.01:
        return None
    proof = facts.proof if facts.proof and facts.proof.service == facts.service else None
    culprit = _commit(facts, proof)
    overlap = _overlap(facts)
    score = symptom.strength(facts) + 0.3 * facts.proximity(deploy.started_ns) + 0.2 * overlap
    if proof and reproduces(proof):
        score += 1.0
    acquitted = fails_at_both(proof)
    if acquitted:
        score *= 0.2  # without the deploy it fails all the same
    claims = list(symptom.claims(facts))
    claims.append((phrase(_TEXT, "deployed", facts=facts, deploy=deploy), (cites.deploy(deploy),)))
    if culprit is not None:
        paths = frozenset({crash.crash_path})
        claims.append((phrase(_TEXT, "culprit", commit=culprit, proof=proof), (_cite(culprit, facts, paths),)))
    elif facts.suspects and not acquitted:
        claims.append((phrase(_TEXT, "suspects", suspects=facts.suspects), cites.suspects(_ordered(facts))))
    if proof and proof.at_deployed:
        claims.append((phrase(_TEXT, "run", proof=proof), (cites.proof(proof),)))
    linked = overlap > 0 and bool(facts.suspects) and not acquitted
    return Draft(
        rule="code_change",
        failure_mode=phrase(_TEXT, "failure_mode", crash=crash),
        summary=phrase(_TEXT, "summary", facts=facts, crash=crash, deploy=deploy, culprit=culprit),
        score=max(score, 0.0),
        claims=tuple(claims),
        links=("symptom", "change") if linked else ("symptom",),
        suspected_service=facts.service or None,
        suspected_file=crash.crash_path or None,
        suspected_function=symptom.function_of(crash),
        suspected_commit=culprit.sha if culprit else None,
        would_disprove=phrase(_TEXT, "would_disprove", facts=facts, crash=crash, previous=facts.previous),
    )


def _ordered(facts: Facts) -> tuple[Suspect, ...]:
    scores = rank_commits(facts.case, facts.crash, None, ())
    return tuple(sorted(facts.suspects, key=lambda s: (-scores[s.commit.sha], s.commit.sha)))


def _overlap(facts: Facts) -> float:
    """0..1: how near the best suspect is to the stack of the crash, by the commit ranking without its time part."""
    scores = rank_commits(facts.case, facts.crash, None, ())
    best = max((scores[s.commit.sha] for s in facts.suspects), default=0.0)
    return max(0.0, min(1.0, (best - 0.1) / 0.7))


def _commit(facts: Facts, proof: Proof | None) -> Commit | None:
    if fails_at_both(proof):
        return None
    by_sha = {s.commit.sha: s.commit for s in facts.suspects}
    if proof and proof.bisect and proof.bisect.culprit:
        return by_sha.get(proof.bisect.culprit)
    reaching = [s.commit for s in facts.suspects if any(is_production_path(f.path) for f in s.commit.files)]
    return reaching[0] if len(reaching) == 1 else None


def _cite(commit: Commit, facts: Facts, paths: frozenset[str]) -> Cite:
    touched = {f.path for f in commit.files}
    return cites.commit(commit, facts.service, paths & touched or frozenset())
