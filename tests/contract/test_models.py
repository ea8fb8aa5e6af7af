"""What every provider of `retrieval.models.PROVIDERS` promises (see `retrieval.ports.Model`)."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from retrieval.errors import BadInput, ModelUnavailable
from retrieval.model import ModelOutcome, Question
from retrieval.models import PROVIDERS, Access, open_model
from retrieval.models.answers import Answers, key_of
from retrieval.ports import Model
from tests.contract import model_server
from tests.contract.model_server import CAPTURED, KEY, ModelServer, Step


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Literal["price", "shop"]
    text: str = Field(max_length=80)


ANSWER = Shape(name="price", text="it fails since the deploy")


def question(user: str = "what broke?", budget: int = 9_000) -> Question:
    return Question(system="word it", user=user, shape=Shape, max_tokens=60, budget=budget)


@asynccontextmanager
async def openai_rig(folder: Path, good: bool) -> AsyncIterator[Model]:
    async with ModelServer() as server:
        server.steps = ["valid" if good else "outside_the_list"] * 4
        model = await open_model("openai", Access("m", server.base_url, KEY, 5.0))
        yield model
        await model.close()


@asynccontextmanager
async def replay_rig(folder: Path, good: bool) -> AsyncIterator[Model]:
    await Answers(folder).keep("m", question(), (ANSWER, 50))
    if not good:
        path = folder / f"{key_of('m', question())}.json"
        path.write_text(path.read_text().replace("price", "payments"))
    model = await open_model("replay", Access("m", folder=folder))
    yield model
    await model.close()


# A new provider brings a rig here: what makes it give one good answer to `question()`, or one of the wrong shape.
RIGS = {"openai": openai_rig, "replay": replay_rig}
each_provider = pytest.mark.parametrize("provider", sorted(PROVIDERS))


def test_every_provider_has_a_rig() -> None:
    assert set(RIGS) == set(PROVIDERS)
    assert len(list(CAPTURED.glob("*.json"))) > 15


@each_provider
async def test_an_answer_comes_in_the_shape_that_was_asked_for(provider: str, tmp_path: Path) -> None:
    async with RIGS[provider](tmp_path, True) as model:
        first, second = await model.ask(question()), await model.ask(question())

    assert (model.provider, model.name) == (provider, "m")
    assert first == second
    assert (first.outcome, first.value, first.tokens) == (ModelOutcome.ANSWERED, ANSWER, 50)
    assert type(first.value) is Shape


@each_provider
async def test_what_is_not_in_the_closed_list_is_no_answer(provider: str, tmp_path: Path) -> None:
    async with RIGS[provider](tmp_path, False) as model:
        reply = await model.ask(question())

    assert (reply.outcome, reply.value) == (ModelOutcome.INVALID, None)


@each_provider
async def test_a_key_is_in_no_repr_and_closing_twice_does_no_harm(provider: str, tmp_path: Path) -> None:
    async with RIGS[provider](tmp_path, True) as model:
        assert KEY not in repr(Access("m", api_key=KEY)) + repr(model)
        await model.close()


async def test_what_cannot_be_opened_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as unknown:
        await open_model("oracle", Access("m"))
    with pytest.raises(ModelUnavailable) as keyless:
        await open_model("openai", Access("m"))
    with pytest.raises(ModelUnavailable) as nothing:
        await open_model("replay", Access("m", folder=tmp_path / "absent"))

    assert "openai" in unknown.value.remedy
    assert "RECEIPTS_MODEL__API_KEY" in keyless.value.remedy
    assert nothing.value.remedy


# The endpoint's own failures

SCRIPTS: list[tuple[list[Step], ModelOutcome, str, int]] = [
    (["valid"], ModelOutcome.ANSWERED, "", 1),
    (["outside_the_list", "valid"], ModelOutcome.ANSWERED, "", 2),
    (["extra_key", "valid"], ModelOutcome.ANSWERED, "", 2),
    (["rate_limited", "valid"], ModelOutcome.ANSWERED, "", 2),
    (["broken", "valid"], ModelOutcome.ANSWERED, "", 2),
    ([model_server.drop, "valid"], ModelOutcome.ANSWERED, "", 2),
    (["no_schema", "no_schema", "fenced"], ModelOutcome.ANSWERED, "", 3),
    (["no_max_tokens", "valid"], ModelOutcome.ANSWERED, "", 2),
    (["no_temperature", "valid"], ModelOutcome.ANSWERED, "", 2),
    (["extra_key", "extra_key"], ModelOutcome.INVALID, "", 2),
    (["prose", "prose"], ModelOutcome.INVALID, "", 2),
    (["no_content", "no_content"], ModelOutcome.INVALID, "", 2),
    (["no_choices"], ModelOutcome.INVALID, "", 1),
    (["error_in_200"], ModelOutcome.INVALID, "", 1),
    ([model_server.html], ModelOutcome.INVALID, "", 1),
    ([model_server.empty, model_server.empty], ModelOutcome.INVALID, "", 2),
    ([model_server.cut_off, model_server.cut_off], ModelOutcome.INVALID, "", 2),
    (["truncated"], ModelOutcome.TRUNCATED, "", 1),
    (["refusal"], ModelOutcome.REFUSED, "", 1),
    (["content_filter"], ModelOutcome.REFUSED, "", 1),
    (["rate_limited", "rate_limited"], ModelOutcome.ERROR, "rate_limited", 2),
    (["no_quota", "no_quota"], ModelOutcome.ERROR, "quota", 2),
    (["broken", "broken"], ModelOutcome.ERROR, "status_500", 2),
    (["unknown_key"], ModelOutcome.ERROR, "key_refused", 1),
    (["context_length"], ModelOutcome.ERROR, "prompt_too_long", 1),
    ([model_server.drop, model_server.drop], ModelOutcome.UNREACHABLE, "", 2),
    ([model_server.hang, model_server.hang], ModelOutcome.TIMEOUT, "", 2),
]


def _named(script: object) -> str:
    steps = script if isinstance(script, list) else []
    return "-".join(s if isinstance(s, str) else s.__name__ for s in steps)


@pytest.mark.parametrize(("script", "outcome", "reason", "calls"), SCRIPTS, ids=[_named(s[0]) for s in SCRIPTS])
async def test_whatever_an_endpoint_does_is_an_outcome(
    script: list[Step], outcome: ModelOutcome, reason: str, calls: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with ModelServer() as server:
        server.steps = list(script)
        timeout_s = 0.2 if model_server.hang in script else 5.0
        model = await open_model("openai", Access("m", server.base_url, KEY, timeout_s))
        reply = await model.ask(question("a log says {{ 7 * 7 }} {% raw %}"))
        await model.close()

    assert (reply.outcome, reply.reason, len(server.asked)) == (outcome, reason, calls)
    assert (reply.value == ANSWER) is (outcome is ModelOutcome.ANSWERED)
    assert server.keys == {f"Bearer {KEY}"}
    assert "{{ 7 * 7 }} {% raw %}" in server.asked[0]["messages"][1]["content"]
    assert KEY not in caplog.text + repr(reply)
    assert "fails since the deploy" not in caplog.text


async def test_a_question_is_asked_cold_bounded_and_with_its_schema() -> None:
    async with ModelServer() as server:
        server.steps = ["valid"]
        model = await open_model("openai", Access("m", server.base_url, KEY))
        await model.ask(question())
        await model.close()

    (asked,) = server.asked
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("m", 0, 60)
    assert asked["response_format"]["json_schema"]["strict"] is True
    assert asked["response_format"]["json_schema"]["schema"]["properties"]["name"]["enum"] == ["price", "shop"]
    assert "stream" not in asked and "tools" not in asked


async def test_what_an_endpoint_does_not_take_is_remembered() -> None:
    async with ModelServer() as server:
        server.steps = ["no_max_tokens", "no_temperature", "valid", "valid"]
        model = await open_model("openai", Access("m", server.base_url, KEY))
        await model.ask(question())
        await model.ask(question("again"))
        await model.close()

    assert len(server.asked) == 4
    assert {"max_tokens", "temperature"} & set(server.asked[-1]) == set()
    assert server.asked[-1]["max_completion_tokens"] == 60


async def test_no_second_try_is_paid_for_beyond_the_budget() -> None:
    async with ModelServer() as server:
        server.steps = ["prose", "valid"]
        model = await open_model("openai", Access("m", server.base_url, KEY))
        reply = await model.ask(question(budget=100))
        await model.close()

    assert (reply.outcome, len(server.asked)) == (ModelOutcome.INVALID, 1)


async def test_nobody_listening_is_unreachable() -> None:
    model = await open_model("openai", Access("m", "http://127.0.0.1:9/v1", KEY))
    reply = await model.ask(question())
    probe = await model.probe()
    await model.close()

    assert (reply.outcome, reply.tokens) == (ModelOutcome.UNREACHABLE, 0)
    assert probe.outcome is ModelOutcome.UNREACHABLE


async def test_who_stops_waiting_ends_the_request() -> None:
    async with ModelServer() as server:
        server.steps = [model_server.hang]
        model = await open_model("openai", Access("m", server.base_url, KEY, 30.0))
        task = asyncio.create_task(model.ask(question()))
        await server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()

    assert len(server.asked) == 1


async def test_what_was_never_recorded_is_not_made_up(tmp_path: Path) -> None:
    async with replay_rig(tmp_path, True) as model:
        reply = await model.ask(question("something else"))

    assert (reply.outcome, reply.value) == (ModelOutcome.NOT_RECORDED, None)
