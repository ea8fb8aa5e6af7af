"""What can go wrong in `retrieval`.

RetrievalError(reason, retryable)
├── BadInput          a file or value that a person gave; names it and the remedy
├── RepositoryError   git could not answer (missing, corrupt, shallow, time-out)
├── StoreError        an index could not answer
│   ├── StoreLocked       another process holds the folder
│   └── StoreUnavailable  an outside store did not answer
├── EmbeddingUnavailable  no model, or its package is not installed
├── ModelUnavailable      a language model's package is not installed, or it is not fully configured
└── SecretSurvived    a document still holds a secret after redaction; it is rejected
"""

from enum import StrEnum


class Reason(StrEnum):
    """Closed set; also the metric label."""

    BAD_INPUT = "bad_input"
    TOO_LARGE = "too_large"
    NOT_FOUND = "not_found"
    CORRUPT = "corrupt"
    SHALLOW = "shallow"
    TIMEOUT = "timeout"
    LOCKED = "locked"
    UNAVAILABLE = "unavailable"
    NOT_INSTALLED = "not_installed"
    SECRET = "secret"


class RetrievalError(Exception):
    """`str()` of it is for logs; what people are shown is made from `reason`, `subject` and `remedy`."""

    retryable = False
    default_reason = Reason.BAD_INPUT

    def __init__(self, message: str, *, reason: Reason | None = None, subject: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.reason = reason or self.default_reason
        self.subject = subject
        self.remedy = remedy

    @property
    def told(self) -> str:
        """The reason in words and the remedy: what people are shown."""
        reason = self.reason.value.replace("_", " ")
        return f"{reason}; {self.remedy}" if self.remedy else reason


class BadInput(RetrievalError):
    default_reason = Reason.BAD_INPUT


class RepositoryError(RetrievalError):
    default_reason = Reason.CORRUPT


class StoreError(RetrievalError):
    default_reason = Reason.CORRUPT


class StoreLocked(StoreError):
    default_reason = Reason.LOCKED


class StoreUnavailable(StoreError):
    retryable = True
    default_reason = Reason.UNAVAILABLE


class EmbeddingUnavailable(RetrievalError):
    default_reason = Reason.NOT_INSTALLED


class ModelUnavailable(RetrievalError):
    default_reason = Reason.NOT_INSTALLED


class SecretSurvived(RetrievalError):
    default_reason = Reason.SECRET
