"""The only form in which an answer counts: what is named is chosen from closed lists, every text is bounded. Pure."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

MAX_CLAIMS, MAX_WANTED = 3, 3
LEAST_QUOTE = 12
WANTED = (
    "traces",
    "logs",
    "metrics",
    "deploys",
    "repository",
    "stack",
)  # as templates/hypotheses/missing.j2 words them

_FORBID = ConfigDict(extra="forbid")


def _one_of(values: Sequence[str]) -> Any:
    return Literal[tuple(dict.fromkeys(values))]


def shape_of(hypotheses: Sequence[str], evidence: Sequence[str], names: Sequence[str], services: Sequence[str]) -> Any:
    """The answer's model for this one question. `names` are all candidates: services, files, functions, commits."""
    claim = create_model(
        "AddedClaim",
        __config__=_FORBID,
        text=(str, Field(min_length=12, max_length=200)),
        about=(_one_of(names), ...),
        evidence=(_one_of(evidence), ...),
        quote=(str, Field(min_length=LEAST_QUOTE, max_length=200)),
    )
    wanted = create_model("Wanted", __config__=_FORBID, what=(_one_of(WANTED), ...), service=(_one_of(services), ...))
    fields: dict[str, Any] = {
        "verdict": (Literal["supported", "insufficient_evidence"], ...),
        "best": (_one_of(hypotheses), ...),
        "summary": (str, Field(max_length=240)),
        "claims": (list[claim], Field(max_length=MAX_CLAIMS)),  # type: ignore[valid-type]
        "wanted": (list[wanted], Field(max_length=MAX_WANTED)),  # type: ignore[valid-type]
    }
    made: type[BaseModel] = create_model("Answer", __config__=_FORBID, **fields)
    return made
