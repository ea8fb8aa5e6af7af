"""What is cited, and what is claimed."""

from typing import Any

from msgspec import Struct, field


class Evidence(Struct, frozen=True, kw_only=True):
    """One cited artifact. `sha256` is the digest of `content`, the whole artifact as canonical JSON text; `quote` is a
    verbatim part of it, short enough for a message."""

    id: str  # E1, E2, ...
    artifact_id: str
    kind: str
    source: str
    sha256: str
    quote: str
    why: str
    score: float = 0.0
    score_parts: dict[str, float] = field(default_factory=dict)
    content: str = ""
    time_ns: int | None = None
    service: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)


class Claim(Struct, frozen=True):
    """One sentence and the ids of the evidence that carries it; without citations it is dropped by the guard. `by` is
    `model` where a language model worded it, "" where a rule did."""

    text: str
    citations: tuple[str, ...] = ()
    by: str = ""


class Hypothesis(Struct, frozen=True, kw_only=True):
    """One explanation. `rule` names the rule that made it; `suspected_*` are None where nothing earns them."""

    rule: str
    failure_mode: str
    summary: str
    suspected_service: str | None = None
    suspected_file: str | None = None
    suspected_function: str | None = None
    suspected_commit: str | None = None
    claims: tuple[Claim, ...] = ()
    minimal_repro_steps: tuple[str, ...] = ()
    confidence: float = 0.0
    next_required_data: tuple[str, ...] = ()
    would_disprove: str = ""
    score: float = 0.0
