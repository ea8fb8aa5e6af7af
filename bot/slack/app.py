"""Slack put together: the channel that incidents are told in, and the listeners for what people ask.

HTTP and Socket Mode share one handler set. HTTP is for a public address and several replicas, Socket Mode (set
`slack.app_token`) for a network that lets nothing in.
"""

import asyncio
import logging
import os
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

from aiohttp import web
from msgspec import Struct
from pydantic import SecretStr
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.model import Actions, Ledger
from bot.slack.api import Backoff, Identity, SlackApi, proxy_for
from bot.slack.delivery import SlackChannel
from bot.slack.errors import SlackError
from bot.slack.gate import guarded
from bot.slack.listeners import Listeners
from bot.slack.posting import Posting
from bot.slack.turns import INTERVAL_SECONDS, Turns
from retrieval.errors import BadInput

log = logging.getLogger(__name__)

_IDENTITY_SECONDS = 1.0


class SlackSettings(Protocol):
    """What is read of the settings' section `slack`."""

    @property
    def api_url(self) -> str: ...
    @property
    def bot_token(self) -> SecretStr: ...
    @property
    def signing_secret(self) -> SecretStr: ...
    @property
    def app_token(self) -> SecretStr: ...
    @property
    def channel(self) -> str: ...


class HasSlack(Protocol):
    @property
    def slack(self) -> SlackSettings: ...


class SlackSide(Struct, frozen=True, kw_only=True):
    """`handler` serves `POST /slack/events`; None in Socket Mode. `close` ends what `channel.close` does not."""

    channel: SlackChannel
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]] | None
    close: Callable[[], Awaitable[None]]


class Means(Struct, frozen=True, kw_only=True):
    """What is passed in from outside; tests shorten the waiting."""

    environment: Mapping[str, str]
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    interval: float = INTERVAL_SECONDS
    attempts: int = 6
    socket_retry: float = 10.0


async def build_slack(settings: HasSlack, actions: Actions, ledger: Ledger, means: Means | None = None) -> SlackSide:
    """Everything of Slack for one workspace. Slack itself is not called before it is needed, so that a server starts
    while Slack is away.

    Raises: BadInput, naming the key that is missing.
    """
    slack, means = settings.slack, means or Means(environment=os.environ)
    secret, app_token = slack.signing_secret.get_secret_value(), slack.app_token.get_secret_value()
    _require(slack, secret, app_token)
    proxy = proxy_for(slack.api_url, means.environment)
    backoff = Backoff(sleep=means.sleep, random=means.random, attempts=means.attempts)
    api = SlackApi(slack.bot_token.get_secret_value(), base_url=slack.api_url, proxy=proxy, backoff=backoff)
    turns = Turns(clock=means.monotonic, sleep=means.sleep, interval=means.interval)
    channel = SlackChannel(Posting(api, turns), ledger, slack.channel)
    listeners = Listeners(actions, api, ledger, lambda: int(means.clock() * 1e9))
    app = _bolt(api, secret, slack.api_url)
    listeners.register(app)
    socket = _Socket(app, app_token, api, means.socket_retry) if app_token else None

    async def close() -> None:
        if socket is not None:
            await socket.close()
        await listeners.close()
        await api.close()

    if socket is not None:
        socket.start()
    handler = None if socket else guarded(_dispatch(app), secret=secret, clock=means.clock)
    return SlackSide(channel=channel, handler=handler, close=close)


def _require(slack: SlackSettings, secret: str, app_token: str) -> None:
    wanted = {
        "slack.bot_token": (slack.bot_token.get_secret_value(), "the xoxb- token of the installed app"),
        "slack.channel": (slack.channel, "the id of the channel that incidents are posted to"),
        "slack.signing_secret": (secret or app_token, "it verifies what Slack sends; or set slack.app_token"),
    }
    for key, (value, remedy) in wanted.items():
        if not value:
            raise BadInput(f"{key} is not set", subject=key, remedy=remedy)


def _bolt(api: SlackApi, secret: str, api_url: str) -> AsyncApp:
    """Bolt with its own checks on. It makes no call of its own: who we are comes from `authorize`."""
    quiet = logging.getLogger("bot.slack.bolt")
    quiet.setLevel(logging.WARNING)  # at info level Bolt logs the body of what it refuses

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        identity = await _identity(api)
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_user_id=identity.user_id or None,
            bot_id=identity.bot_id or None,
            bot_token=api.client.token,
        )

    client = AsyncWebClient(None, base_url=api_url.rstrip("/") + "/", retry_handlers=[], logger=quiet)
    return AsyncApp(name="receipts", logger=quiet, signing_secret=secret or "-", client=client, authorize=authorize)


async def _identity(api: SlackApi) -> Identity:
    """Within a second or not at all: an acknowledgement never waits for Slack's own API."""
    try:
        async with asyncio.timeout(_IDENTITY_SECONDS):
            return await api.identity()
    except (SlackError, TimeoutError):
        return Identity()


def _dispatch(app: AsyncApp) -> Callable[[str, web.Request], Awaitable[web.StreamResponse]]:
    async def dispatch(body: str, request: web.Request) -> web.StreamResponse:
        headers: dict[str, Any] = dict(request.headers.items())
        try:
            bolt = AsyncBoltRequest(body=body, query=request.query_string, headers=headers)
            if not isinstance(bolt.body, dict):
                return _unreadable()
            answer = await app.async_dispatch(bolt)
            if answer.status >= 500:  # the same trip, which Bolt has logged
                return _unreadable()
            return await to_aiohttp_response(answer)
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            # Bolt takes what it parses for what Slack documents, and trips over any other shape, here or when it looks
            # for a listener; what the listeners do runs in tasks of their own and is not met here.
            log.warning("a body from Slack is not of a shape that Slack documents: %s", type(error).__name__)
            return _unreadable()

    return dispatch


def _unreadable() -> web.Response:
    return web.json_response({"error": "unreadable body"}, status=400)


class _Socket:
    """Socket Mode, connected in the background; slack_sdk connects again, every `retry` seconds, until it is closed."""

    def __init__(self, app: AsyncApp, app_token: str, api: SlackApi, retry: float) -> None:
        self._handler = AsyncSocketModeHandler(app, app_token, web_client=api.client, ping_interval=retry)
        self._handler.client.proxy = api.proxy
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        connecting: Coroutine[Any, Any, None] = self._handler.connect_async()  # type: ignore[no-untyped-call]
        self._task = asyncio.create_task(connecting, name="slack socket mode")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._handler.close_async()  # type: ignore[no-untyped-call]
