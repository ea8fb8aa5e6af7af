"""What stands before every model, whoever provides it: recorded answers, a budget, a brake, a queue, a deadline.

In this order: what is recorded costs nothing, so that it is given even where the model is away; a model that failed
several times in a row is left alone for a while; who waits for a place waits inside the deadline (row C7).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from retrieval.model import ModelOutcome, Question, Reply
from retrieval.models.answers import Answers, Unusable
from retrieval.ports import Clock, Model

FAILURES = frozenset({ModelOutcome.TIMEOUT, ModelOutcome.UNREACHABLE, ModelOutcome.ERROR})
PROBE_S = 5.0


@dataclass(frozen=True)
class Limits:
    """`deadline_s` is for one question, waiting for a place included. After `failures` in a row the model is not asked
    for `pause_s`."""

    deadline_s: float = 20.0
    at_once: int = 2
    failures: int = 3
    pause_s: float = 60.0


class Gateway:
    """`retrieval.ports.Model` before another one. `observe` is told every outcome and its tokens."""

    def __init__(
        self,
        model: Model,
        clock: Clock,
        answers: Answers,
        limits: Limits | None = None,
        observe: Callable[[Reply], None] = lambda reply: None,
    ) -> None:
        self.name = model.name
        self.provider = model.provider
        self._model = model
        self._clock = clock
        self._answers = answers
        self._limits = limits or Limits()
        self._observe = observe
        self._places = asyncio.Semaphore(self._limits.at_once)
        self._failed = 0
        self._paused_until_ns = 0

    async def ask(self, question: Question) -> Reply:
        reply = await self._reply(question)
        self._observe(reply)
        return reply

    async def probe(self) -> Reply:
        try:
            async with asyncio.timeout(PROBE_S):
                return await self._model.probe()
        except TimeoutError:
            return Reply(outcome=ModelOutcome.TIMEOUT)

    async def close(self) -> None:
        await self._model.close()

    async def _reply(self, question: Question) -> Reply:
        try:
            if recorded := await self._answers.find(self.name, question):
                return Reply(outcome=ModelOutcome.ANSWERED, value=recorded[0], tokens=recorded[1])
        except Unusable:
            pass  # asked anew, and written over
        if question.estimate > question.budget:
            return Reply(outcome=ModelOutcome.BUDGET)
        if self._clock.now_ns() < self._paused_until_ns:
            return Reply(outcome=ModelOutcome.UNREACHABLE, reason="paused")
        reply = await self._in_time(question)
        self._count(reply)
        if reply.outcome is ModelOutcome.ANSWERED and reply.value is not None:
            await self._answers.keep(self.name, question, (reply.value, reply.tokens))
        return reply

    async def _in_time(self, question: Question) -> Reply:
        try:
            async with asyncio.timeout(self._limits.deadline_s), self._places:
                return await self._model.ask(question)
        except TimeoutError:
            return Reply(outcome=ModelOutcome.TIMEOUT, tokens=question.estimate, reason="deadline")

    def _count(self, reply: Reply) -> None:
        if reply.outcome not in FAILURES:
            self._failed = 0
            return
        self._failed += 1
        if self._failed >= self._limits.failures:
            self._failed = 0
            self._paused_until_ns = self._clock.now_ns() + int(self._limits.pause_s * 1e9)
