"""Answers that were recorded, and nothing else: the same hypothesis again without network, key or cost (row B11).

The folder is one that another provider's answers were kept in, or one made by hand; `retrieval.models.answers` says
what a file looks like.
"""

import asyncio

from retrieval.errors import ModelUnavailable, Reason
from retrieval.model import ModelOutcome, Question, Reply
from retrieval.models.access import Access
from retrieval.models.answers import Answers, Unusable


class Replay:
    """`retrieval.ports.Model`; made by `open_provider`."""

    provider = "replay"

    def __init__(self, name: str, answers: Answers) -> None:
        self.name = name
        self._answers = answers

    async def ask(self, question: Question) -> Reply:
        try:
            found = await self._answers.find(self.name, question)
        except Unusable:
            return Reply(outcome=ModelOutcome.INVALID, reason="damaged_recording")
        if found is None:
            return Reply(outcome=ModelOutcome.NOT_RECORDED)
        value, tokens = found
        return Reply(outcome=ModelOutcome.ANSWERED, value=value, tokens=tokens)

    async def probe(self) -> Reply:
        return Reply(outcome=ModelOutcome.ANSWERED)

    async def close(self) -> None:
        return None


async def open_provider(access: Access) -> Replay:
    """Raises: ModelUnavailable where the folder is not named or not there."""
    if access.folder is None or not await asyncio.to_thread(access.folder.is_dir):
        raise ModelUnavailable(
            f"model.answers: {access.folder or 'no folder'} holds no recorded answers",
            reason=Reason.NOT_FOUND,
            subject="model.answers",
            remedy="name the folder that answers were kept in",
        )
    return Replay(access.name, Answers(access.folder))
