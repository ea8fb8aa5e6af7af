"""A configuration value that was changed just before, and that the failing code reads.

The tie between the two is the key's own name in the recorded stack, source line or message (`limits.max_pixels` and
`settings.max_pixels`); time alone makes a lead, not support.
"""

import re

from retrieval.judgement import cites
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.rules import symptom
from retrieval.judgement.verdict import fails_at_both, reproduces
from retrieval.model import CrashGroup
from retrieval.texts import phrase

_TEXT = "hypotheses/config_change.j2"


def apply(facts: Facts) -> Draft | None:
    """None without a change of the crashing service's (or its path's) configuration in the window."""
    if not facts.config_near:
        return None
    ranked = sorted(
        facts.config_near,
        key=lambda c: (-tie(c.key, facts), -facts.proximity(c.at_ns), c.service != facts.service, c.key),
    )
    change = ranked[0]
    tied, own = tie(change.key, facts), change.service == facts.service
    before = facts.config_before.get(f"{change.service}/{change.key}")
    score = symptom.strength(facts) + (0.3 if own else 0.1) * facts.proximity(change.at_ns) + 0.3 * tied
    if facts.proof and reproduces(facts.proof):
        score -= 0.4
    elif fails_at_both(facts.proof) and tied:
        score += 0.2
    claims = list(symptom.claims(facts))
    claims.append((phrase(_TEXT, "changed", change=change, before=before), (cites.config(change, before),)))
    if tied and facts.crash is not None:
        records = (cites.config(change, before), *symptom.records_of(facts.crash, 1))
        claims.append((phrase(_TEXT, "tied", change=change, crash=facts.crash), records))
    if fails_at_both(facts.proof) and facts.proof is not None:
        claims.append((phrase(_TEXT, "both", proof=facts.proof), (cites.proof(facts.proof),)))
    return Draft(
        rule="config_change",
        failure_mode=phrase(_TEXT, "failure_mode", change=change, before=before),
        summary=phrase(_TEXT, "summary", facts=facts, change=change, before=before),
        score=max(score, 0.0),
        claims=tuple(claims),
        links=("symptom", "change") if tied and facts.crash and own else ("symptom",) if facts.crash else (),
        suspected_service=change.service or facts.service or None,
        suspected_file=facts.crash.crash_path or None if facts.crash and tied else None,
        suspected_function=symptom.function_of(facts.crash) if tied else None,
        would_disprove=phrase(_TEXT, "would_disprove", facts=facts, change=change, before=before),
    )


def tie(key: str, facts: Facts) -> float:
    """1 where the key's last part is read by the failing code, 0.5 where a spelling of it is in the message only."""
    return _tie(key, facts.crash, _function_source(facts)) if facts.crash else 0.0


def _tie(key: str, crash: CrashGroup, source: str) -> float:
    leaf = re.split(r"[./:]", key)[-1]
    if len(leaf) < 4:
        return 0.0
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(leaf)}(?![A-Za-z0-9])", re.IGNORECASE)
    exceptions = [r.exception for r in crash.logs] + [s.exception for s in crash.spans]
    raw = [e.raw for e in exceptions if e]
    if any(word.search(text) for text in [*raw, source]):
        return 1.0
    spoken = re.compile(r"[\s_-]?".join(map(re.escape, re.split(r"[_-]", leaf))), re.IGNORECASE)
    return 0.5 if spoken.search(crash.signature.message) else 0.0


def _function_source(facts: Facts) -> str:
    """Signatures and calls of the functions on the stack: what they read by name."""
    frames = set(facts.crash.in_app_frames) if facts.crash else set()
    own = [s for s in facts.case.symbols if s.symbol_id in frames]
    return "\n".join(" ".join((s.signature, *s.calls)) for s in own)
