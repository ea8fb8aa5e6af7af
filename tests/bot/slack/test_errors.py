"""Every foreign exception becomes one of ours, with a reason and whether it may be repeated."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
import slack_sdk.errors

from bot.demo.workspace import methods, strictness
from bot.slack import api
from bot.slack.errors import _BY_NAME, SlackError, SlackReason, mapped, of_name, of_status, retry_after

ANSWER = SimpleNamespace(status_code=200, headers={}, data={"ok": False, "error": "is_archived"})


def _made(kind: type[Exception]) -> Exception:
    if kind is slack_sdk.errors.SlackApiError:
        return slack_sdk.errors.SlackApiError("x", ANSWER)
    if kind is slack_sdk.errors.SlackTokenRotationError:
        return slack_sdk.errors.SlackTokenRotationError(slack_sdk.errors.SlackApiError("x", ANSWER))
    return kind("x")


@pytest.mark.parametrize(
    "kind", [k for k in vars(slack_sdk.errors).values() if isinstance(k, type) and issubclass(k, Exception)]
)
def test_every_exception_of_the_sdk_is_mapped_and_caught(kind: type[Exception]) -> None:
    error = mapped(_made(kind), "chat.postMessage")

    assert isinstance(error, SlackError) and error.method == "chat.postMessage"
    assert issubclass(kind, api._FOREIGN)


@pytest.mark.parametrize(
    ("foreign", "reason"),
    [
        (TimeoutError(), SlackReason.TIMEOUT),
        (aiohttp.ServerDisconnectedError(), SlackReason.UNAVAILABLE),
        (ConnectionResetError(), SlackReason.UNAVAILABLE),
        (json.JSONDecodeError("x", "y", 0), SlackReason.UNREADABLE),
        (AttributeError("x"), SlackReason.UNREADABLE),
        (slack_sdk.errors.SlackRequestError("x"), SlackReason.BAD_CALL),
        (SlackError(SlackReason.AUTH, method="m"), SlackReason.AUTH),
    ],
)
def test_each_kind_of_trouble_has_its_reason(foreign: Exception, reason: SlackReason) -> None:
    assert mapped(foreign, "m").reason is reason


def test_what_is_no_trouble_of_slack_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        mapped(KeyError("x"), "m")


@pytest.mark.parametrize(
    ("name", "reason", "retryable", "unsure"),
    [
        ("ratelimited", SlackReason.RATE_LIMITED, True, False),
        ("fatal_error", SlackReason.UNAVAILABLE, True, True),
        ("msg_blocks_too_long", SlackReason.TOO_LONG, False, False),
        ("a_name_of_tomorrow", SlackReason.REJECTED, False, False),
    ],
)
def test_slacks_names_are_sorted(name: str, reason: SlackReason, retryable: bool, unsure: bool) -> None:
    error = of_name(name, "m")

    assert (error.reason, error.retryable, error.unsure) == (reason, retryable, unsure)


def test_every_error_that_the_workspace_can_give_is_known() -> None:
    source = "".join(Path(module.__file__ or "").read_text() for module in (methods, strictness))
    given = set(re.findall(r'ApiFault\(\s*"([a-z_]+)"', source))
    harmless = {"already_reacted", "invalid_name", "invalid_limit", "invalid_cursor"}

    assert given - harmless - set(_BY_NAME) == set()


@pytest.mark.parametrize(
    ("status", "reason"), [(429, "rate_limited"), (503, "unavailable"), (200, "unreadable_answer"), (404, "rejected")]
)
def test_a_status_alone_is_enough(status: int, reason: str) -> None:
    assert of_status(status, "m", {}).reason == reason


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({}, 1.0),
        ({"retry-after": "soon"}, 1.0),
        ({"Retry-After": "9e9"}, 300.0),
        ({"Retry-After": "nan"}, 1.0),
        ({"Retry-After": "-3"}, 0.0),
    ],
)
def test_retry_after_is_read_with_sense(header: dict[str, str], seconds: float) -> None:
    assert retry_after(header) == seconds


@pytest.mark.parametrize(
    ("status", "data", "reason"),
    [
        (429, {"ok": False, "error": "ratelimited"}, SlackReason.RATE_LIMITED),
        (200, {"ok": False, "error": "ratelimited"}, SlackReason.RATE_LIMITED),
        (503, "upstream", SlackReason.UNAVAILABLE),
        (500, {"ok": False, "error": "odd"}, SlackReason.UNAVAILABLE),
        (200, {"ok": False}, SlackReason.UNREADABLE),
        (200, {"ok": False, "error": "not_in_channel"}, SlackReason.NOT_IN_CHANNEL),
    ],
)
def test_an_answer_is_read_by_status_and_name(status: int, data: Any, reason: SlackReason) -> None:
    answer = SimpleNamespace(status_code=status, headers={"Retry-After": "3"}, data=data)

    assert mapped(slack_sdk.errors.SlackApiError("x", answer), "m").reason is reason
