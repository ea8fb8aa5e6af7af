"""What went wrong at an endpoint, as an outcome of ours. Pure: exceptions in, words of ours out, never their text."""

from typing import Any

from retrieval.model import ModelOutcome, Question, Reply

ADAPTABLE = ("response_format", "max_tokens", "temperature")
ABSURD_TOKENS = 10_000_000


class Refusal(Exception):
    """The model declined, or a filter did."""


class Foreign:
    """The exception classes of openai and of instructor, which are only there when they are installed."""

    def __init__(self, openai: Any, exceptions: Any) -> None:
        self.status = openai.APIStatusError
        self.timeout = openai.APITimeoutError
        self.connection = openai.APIConnectionError
        self.incomplete = exceptions.IncompleteOutputException
        self.retry = exceptions.InstructorRetryException
        # The last four are what the packages let through when a body is not what it claims to be.
        self.all = (
            openai.OpenAIError, exceptions.InstructorError, Refusal,
            ValueError, TypeError, LookupError, AttributeError,
        )  # fmt: skip


def cause_of(error: BaseException, foreign: Foreign) -> BaseException:
    return error.__cause__ if isinstance(error, foreign.retry) and error.__cause__ is not None else error


def refused_parameter(error: BaseException, foreign: Foreign) -> str:
    """The parameter that the server would not take; "" when it is not about one that can be left out."""
    cause = cause_of(error, foreign)
    if not isinstance(cause, foreign.status) or cause.status_code not in (400, 404, 422, 500, 501):
        return ""
    told = f"{cause.param or ''} {cause.message}"
    if "context" in told.lower():
        return ""
    aliases = {"json_schema": "response_format", "structured output": "response_format"}
    for word in (*ADAPTABLE, *aliases):
        if word in told and not (word == "max_tokens" and "max_completion_tokens" not in told and cause.param != word):
            return aliases.get(word, word)
    return ""


def outcome_of(error: BaseException, foreign: Foreign, question: Question | None) -> Reply:
    """The outcome, the reason in a word, and what it cost."""
    cause = cause_of(error, foreign)
    usage = getattr(error, "total_usage", None) or getattr(getattr(error, "last_completion", None), "usage", None)
    tokens = charged(usage, question) if question is not None and not isinstance(cause, foreign.connection) else 0
    if isinstance(cause, foreign.timeout):
        return Reply(outcome=ModelOutcome.TIMEOUT, tokens=question.estimate if question else 0)
    if isinstance(cause, foreign.connection):
        return Reply(outcome=ModelOutcome.UNREACHABLE)
    if isinstance(cause, foreign.status):
        return Reply(outcome=ModelOutcome.ERROR, reason=_status(cause))
    if isinstance(cause, Refusal):
        return Reply(outcome=ModelOutcome.REFUSED, tokens=tokens)
    if isinstance(cause, foreign.incomplete):
        return Reply(outcome=ModelOutcome.TRUNCATED, tokens=tokens)
    return Reply(outcome=ModelOutcome.INVALID, tokens=tokens)


def _status(error: Any) -> str:
    if error.status_code in (401, 403):
        return "key_refused"
    if error.status_code == 429:
        return "quota" if error.code == "insufficient_quota" else "rate_limited"
    if error.status_code == 400 and "context" in str(error.code or error.message).lower():
        return "prompt_too_long"
    return f"status_{error.status_code}"


def charged(usage: Any, question: Question) -> int:
    """The server's own count; the estimate where it gives none, or an absurd one."""
    total = getattr(usage, "total_tokens", None)
    if isinstance(total, int) and not isinstance(total, bool) and 0 < total < ABSURD_TOKENS:
        return total
    return question.estimate
