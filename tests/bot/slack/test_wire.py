"""The wire: who gets the turn, which proxy, how long to wait."""

import asyncio

import pytest

from bot.demo.workspace.server import Workspace
from bot.slack.api import Backoff, Identity, SlackApi, proxy_for
from bot.slack.errors import SlackError, SlackReason
from bot.slack.turns import Turns, Urgency

PROXIED = {"HTTPS_PROXY": "http://proxy:3128", "http_proxy": "http://plain:3128"}


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://slack.com/api", PROXIED, "http://proxy:3128"),
        ("http://slack.internal/api", PROXIED, "http://plain:3128"),
        ("https://slack.com/api", {"ALL_PROXY": "http://all:1"}, "http://all:1"),
        ("https://slack.com/api", {"HTTPS_PROXY": " "}, None),
        ("http://127.0.0.1:9/api", PROXIED, None),
        ("http://localhost:9/api", PROXIED, None),
        ("http://[::1]:9/api", PROXIED, None),
        ("https://slack.com/api", {**PROXIED, "NO_PROXY": "x, .slack.com"}, None),
        ("https://slack.com/api", {**PROXIED, "no_proxy": "*"}, None),
        ("https://notslack.com/api", {**PROXIED, "NO_PROXY": "slack.com"}, "http://proxy:3128"),
        ("https://slack.com/api", {}, None),
    ],
)
def test_the_proxy_is_chosen_as_the_variables_say(url: str, environment: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(url, environment) == proxy


async def test_a_proxy_variable_does_not_come_between_us_and_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    workspace = Workspace()
    await workspace.start()
    api = SlackApi("xoxb-demo", base_url=workspace.api_url, proxy=None, backoff=_backoff([]))

    assert await api.identity() == Identity("U0RECEIPTS", "B0RECEIPTS", "T0DEMO")
    assert await api.identity() and len(workspace.calls("auth.test")) == 1
    await api.close()
    await workspace.close()


def _backoff(waits: list[float], attempts: int = 4) -> Backoff:
    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    return Backoff(sleep=sleep, random=lambda: 1.0, attempts=attempts, base=0.5, cap=3.0)


async def test_waiting_grows_to_a_cap_and_ends_with_the_error() -> None:
    waits: list[float] = []
    backoff = _backoff(waits, attempts=6)
    error = SlackError(SlackReason.UNAVAILABLE, method="m")
    for attempt in range(5):
        await backoff.wait(attempt, error)
    with pytest.raises(SlackError):
        await backoff.wait(5, error)

    assert waits == [0.5, 1.0, 2.0, 3.0, 3.0]


async def test_what_may_not_be_repeated_is_not_waited_for() -> None:
    with pytest.raises(SlackError):
        await _backoff([]).wait(0, SlackError(SlackReason.AUTH, method="m"))


@pytest.mark.parametrize("text", ["auth", "nothing there"])
async def test_calls_to_nowhere_are_mapped(text: str) -> None:
    api = SlackApi("xoxb-demo", base_url="http://127.0.0.1:1/api", proxy=None, backoff=_backoff([]))
    for call in (
        api.repeat("auth.test"),
        api.send_bytes("http://127.0.0.1:1/", b"x"),
        api.respond("http://127.0.0.1:1/", {}),
    ):
        with pytest.raises(SlackError) as raised:
            await call
        assert raised.value.reason is SlackReason.UNAVAILABLE
    await api.close()


class _Time:
    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


async def test_turns_are_apart_and_the_urgent_go_first_and_a_result_goes_one_interval_early() -> None:
    time = _Time()
    turns = Turns(clock=lambda: time.now, sleep=time.sleep, interval=1.2)
    order: list[tuple[str, float]] = []
    first = asyncio.Event()

    async def write(name: str, urgency: Urgency) -> None:
        async with turns.turn("C1", urgency):
            if name == "a":
                await first.wait()
            order.append((name, round(time.now, 1)))

    tasks = [asyncio.create_task(write("a", Urgency.PROGRESS))]
    await asyncio.sleep(0)
    for name, urgency in (
        ("thread", Urgency.THREAD), ("progress", Urgency.PROGRESS), ("result", Urgency.RESULT), ("new", Urgency.NEW),
    ):  # fmt: skip
        tasks.append(asyncio.create_task(write(name, urgency)))
    await asyncio.sleep(0)
    first.set()
    await asyncio.gather(*tasks)

    assert order == [("a", 0.0), ("new", 1.2), ("result", 1.2), ("progress", 3.6), ("thread", 4.8)]


async def test_channels_do_not_wait_for_each_other_and_a_hold_is_kept() -> None:
    time = _Time()
    turns = Turns(clock=lambda: time.now, sleep=time.sleep, interval=1.0)
    turns.hold("C1", 30)
    async with turns.turn("C2", Urgency.NEW):
        assert time.now == 0
    async with turns.turn("C1", Urgency.NEW):
        assert time.now == 30


async def test_a_turn_that_is_given_up_goes_to_the_next() -> None:
    time = _Time()
    turns = Turns(clock=lambda: time.now, sleep=time.sleep, interval=0.0)
    held = turns.turn("C1", Urgency.NEW)
    await held.__aenter__()

    async def wait() -> None:
        async with turns.turn("C1", Urgency.NEW):
            pass

    given_up, next_one = asyncio.create_task(wait()), asyncio.create_task(wait())
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.sleep(0)
    granted_and_cancelled = asyncio.create_task(wait())
    await asyncio.sleep(0)
    await held.__aexit__(None, None, None)
    granted_and_cancelled.cancel()
    await asyncio.wait_for(next_one, 1)
    await asyncio.wait_for(wait(), 1)
