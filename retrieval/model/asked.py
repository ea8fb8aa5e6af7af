"""What a language model is asked, what it answers, and what became of it (row F4)."""

from enum import StrEnum

from msgspec import Struct
from pydantic import BaseModel


class ModelOutcome(StrEnum):
    """Closed set; also the metric label. Only with `refined` anything of the model's is in the answer."""

    REFINED = "refined"  # it answered, and what the guard let through stands in the answer
    NOTHING_NEW = "nothing_new"  # it answered, and says nothing that is not said already
    REJECTED = "rejected"  # it answered, and the guard let nothing through
    INSUFFICIENT = "insufficient_evidence"  # it answered that the evidence carries no more than is said already
    TRUNCATED = "truncated"
    REFUSED = "refused"
    INVALID = "invalid_output"
    TIMEOUT = "llm_timeout"
    UNREACHABLE = "llm_unreachable"
    ERROR = "llm_error"
    BUDGET = "budget_exhausted"
    NOT_RECORDED = "not_recorded"  # it only repeats what was recorded, and this never was
    NOT_ASKED = "not_asked"  # there was nothing to ask about
    ANSWERED = "answered"  # of a `Reply`: in the shape that was asked for, not yet checked


class Question(Struct, frozen=True, kw_only=True):
    """One question. `shape` is the only form in which an answer counts; `budget` is how many tokens question and answer
    may cost together, re-asking included."""

    system: str
    user: str
    shape: type[BaseModel]
    max_tokens: int
    budget: int

    @property
    def estimate(self) -> int:
        """Tokens that asking once will cost at most, at three characters a token (English takes about four)."""
        return (len(self.system) + len(self.user)) // 3 + self.max_tokens


class Reply(Struct, frozen=True, kw_only=True):
    """`value` is there exactly when `outcome` is `answered`. `reason` is a word of ours for what went wrong, never the
    server's text. `tokens` are those charged, estimated where the server does not count."""

    outcome: ModelOutcome
    value: BaseModel | None = None
    tokens: int = 0
    reason: str = ""


class ModelUse(Struct, frozen=True, kw_only=True):
    """What a case says of the model that was asked."""

    name: str
    provider: str
    outcome: ModelOutcome
    tokens: int = 0
    reason: str = ""
