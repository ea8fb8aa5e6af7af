"""What stands before a model: recorded answers, a budget, a brake, a deadline."""

import asyncio
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from retrieval.model import ModelOutcome, Question, Reply
from retrieval.models import Answers, Gateway, Limits
from retrieval.models.answers import key_of


class Shape(BaseModel):
    word: Literal["yes", "no"]


def question(user: str = "is it?", budget: int = 9_000) -> Question:
    return Question(system="s", user=user, shape=Shape, max_tokens=10, budget=budget)


class Clock:
    def __init__(self) -> None:
        self.ns = 0

    def now_ns(self) -> int:
        return self.ns


class Counting:
    """Answers with the outcome it is told to, after `delay_s`."""

    provider, name = "counting", "m"

    def __init__(self, outcome: ModelOutcome = ModelOutcome.ANSWERED, delay_s: float = 0.0) -> None:
        self.outcome, self.delay_s, self.calls, self.at_once, self.most = outcome, delay_s, 0, 0, 0

    async def ask(self, asked: Question) -> Reply:
        self.calls += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(self.delay_s)
        self.at_once -= 1
        value = Shape(word="yes") if self.outcome is ModelOutcome.ANSWERED else None
        return Reply(outcome=self.outcome, value=value, tokens=5)

    async def probe(self) -> Reply:
        await asyncio.sleep(self.delay_s)
        return Reply(outcome=self.outcome)

    async def close(self) -> None:
        self.calls = -1


async def test_the_same_question_is_paid_for_once_also_after_a_restart(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    replies = []
    for model in (first, second):
        gateway = Gateway(model, Clock(), Answers(tmp_path))
        replies += [await gateway.ask(question()), await gateway.ask(question())]

    assert len({repr(reply) for reply in replies}) == 1
    assert (first.calls, second.calls) == (1, 0)
    (kept,) = tmp_path.iterdir()
    assert kept.name == f"{key_of('m', question())}.json"
    assert "is it?" not in kept.read_text()


async def test_a_damaged_recording_is_asked_anew_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / f"{key_of('m', question())}.json"
    path.write_text('{"answer": {"word": "maybe"}, "tokens": 1}')
    reply = await Gateway(Counting(), Clock(), Answers(tmp_path)).ask(question())

    assert reply.outcome is ModelOutcome.ANSWERED
    assert "yes" in path.read_text()


async def test_failures_are_never_kept_and_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    model = Counting(ModelOutcome.TRUNCATED)
    gateway = Gateway(model, Clock(), Answers(tmp_path / "file" / "folder"))
    await gateway.ask(question())
    model.outcome = ModelOutcome.ANSWERED

    assert (await gateway.ask(question())).outcome is ModelOutcome.ANSWERED
    assert model.calls == 2


async def test_what_would_cost_too_much_is_not_asked() -> None:
    model = Counting()
    reply = await Gateway(model, Clock(), Answers(None)).ask(question("x" * 300, budget=100))

    assert (reply.outcome, model.calls) == (ModelOutcome.BUDGET, 0)


async def test_a_slow_model_is_left_at_the_deadline() -> None:
    told: list[Reply] = []
    gateway = Gateway(Counting(delay_s=5), Clock(), Answers(None), Limits(deadline_s=0.05), told.append)
    reply = await gateway.ask(question())

    assert (reply.outcome, reply.reason) == (ModelOutcome.TIMEOUT, "deadline")
    assert told == [reply]


async def test_a_model_that_fails_is_left_alone_for_a_while_and_then_tried_again() -> None:
    clock, model = Clock(), Counting(ModelOutcome.ERROR)
    gateway = Gateway(model, clock, Answers(None), Limits(failures=2, pause_s=60))
    outcomes = [(await gateway.ask(question())).reason for _ in range(4)]
    clock.ns, model.outcome = 61 * 10**9, ModelOutcome.ANSWERED

    assert outcomes == ["", "", "paused", "paused"]
    assert model.calls == 2
    assert (await gateway.ask(question())).outcome is ModelOutcome.ANSWERED


async def test_only_so_many_questions_are_asked_at_once() -> None:
    model = Counting(delay_s=0.02)
    gateway = Gateway(model, Clock(), Answers(None), Limits(at_once=2))
    replies = await asyncio.gather(*(gateway.ask(question(str(n))) for n in range(6)))

    assert {reply.outcome for reply in replies} == {ModelOutcome.ANSWERED}
    assert model.most == 2
    assert (await gateway.probe()).outcome is ModelOutcome.ANSWERED
    await gateway.close()
    assert model.calls == -1
