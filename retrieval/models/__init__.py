"""Language models behind `retrieval.ports.Model`. Importing this loads none of their packages; opening one does.

`PROVIDERS` is the registry: a name, what opens it, and what it needs. `tests/contract/test_models.py` runs over every
one. What is asked, and how much of the answer counts, stands in `retrieval.judgement.refinement`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from retrieval.errors import BadInput
from retrieval.models import openai_compatible, replay
from retrieval.models.access import Access
from retrieval.models.answers import Answers
from retrieval.models.gateway import Gateway, Limits
from retrieval.ports import Model

__all__ = ["PROVIDERS", "Access", "Answers", "Gateway", "Limits", "Provider", "open_model"]


@dataclass(frozen=True)
class Provider:
    """`needs_key`: without one there is nothing to ask."""

    open: Callable[[Access], Awaitable[Model]]
    needs_key: bool = True


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(openai_compatible.open_provider),
    "replay": Provider(replay.open_provider, needs_key=False),
}


async def open_model(provider: str, access: Access) -> Model:
    """A model by its provider's name; nothing is connected yet.

    Raises: BadInput for an unknown provider; ModelUnavailable where its package is not installed or it lacks something.
    """
    found = PROVIDERS.get(provider)
    if found is None:
        raise BadInput(
            f"model.provider: {provider[:40]!r} is unknown",
            subject="model.provider",
            remedy=f"one of {', '.join(sorted(PROVIDERS))}",
        )
    return await found.open(access)
