"""What several rules say alike: the symptom, as cited claims."""

from retrieval.judgement import cites
from retrieval.judgement.draft import Cite
from retrieval.judgement.facts import Facts
from retrieval.model import CrashGroup
from retrieval.texts import phrase

_TEXT = "hypotheses/symptom.j2"

ClaimDraft = tuple[str, tuple[Cite, ...]]


def records_of(crash: CrashGroup, limit: int = 2) -> tuple[Cite, ...]:
    """The first log record and the first failing request, whichever exist; records with a stack first."""
    logs = sorted(crash.logs, key=lambda r: (r.exception is None or r.exception.trace is None, r.time_ns))
    spans = sorted(crash.spans, key=lambda s: (not s.attributes, s.start_ns))
    return tuple([cites.log(r) for r in logs[:1]] + [cites.span(s) for s in spans[:1]])[:limit]


def claims(facts: Facts) -> tuple[ClaimDraft, ...]:
    """What broke, since when, and which metric says so too; empty where nothing was recorded."""
    said: list[ClaimDraft] = []
    crash = facts.crash
    if crash is not None and (records := records_of(crash)):
        said.append((phrase(_TEXT, "crash", crash=crash), records))
    if facts.shifts:
        text = phrase(_TEXT, "moved", shifts=facts.shifts, onset=facts.onset_ns)
        said.append((text, tuple(cites.metric(s, facts.onset_ns) for s in facts.shifts)))
    return tuple(said)


def function_of(crash: CrashGroup | None) -> str | None:
    if crash is None or not crash.crash_path or not crash.crash_function:
        return None
    return f"{crash.crash_path}::{crash.crash_function}"


def strength(facts: Facts) -> float:
    """How much the symptom is worth in a draft's score: 0..0.5, by novelty."""
    return 0.5 * facts.crash.novelty if facts.crash else 0.0
