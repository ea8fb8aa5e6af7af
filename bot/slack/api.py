"""The wire to Slack's Web API: one call is one attempt, unless it says otherwise.

slack_sdk's own retries are switched off: its default repeats `chat.postMessage` after a lost connection, which posts
twice. It also takes a proxy from the environment without looking at NO_PROXY; here the proxy is decided by
`proxy_for` and given.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from msgspec import Struct
from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.errors import SlackError, mapped, of_status

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 30.0
# AttributeError: slack_sdk takes every body that is not JSON for a dict.
_FOREIGN = (SlackClientError, aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError, AttributeError)
_READS = frozenset({"conversations.history", "conversations.replies", "conversations.info"})
_QUERIES = frozenset({"files.getUploadURLExternal", "files.completeUploadExternal"})

Sleep = Callable[[float], Awaitable[None]]


class Backoff(Struct, frozen=True, kw_only=True):
    """Full jitter (Amazon Architecture Blog, "Exponential Backoff and Jitter"): random() * min(cap, base * 2**attempt),
    unless Slack says how long. `attempts` is the number of tries in all."""

    sleep: Sleep
    random: Callable[[], float]
    attempts: int = 6
    base: float = 0.5
    cap: float = 20.0

    async def wait(self, attempt: int, error: SlackError) -> None:
        """Before try number `attempt` + 1. Raises: the error itself when it was the last try or may not be repeated."""
        if not error.retryable or attempt + 1 >= self.attempts:
            raise error
        drawn = self.random() * min(self.cap, self.base * 2**attempt)
        await self.sleep(error.retry_after + 0.1 * drawn if error.retry_after is not None else drawn)


class Identity(Struct, frozen=True):
    """Who we are in the workspace; all "" while Slack has not told."""

    user_id: str = ""
    bot_id: str = ""
    team_id: str = ""


class SlackApi:
    """One workspace, one bot token. Keeps one HTTP session from its first call until `close`."""

    def __init__(self, token: str, *, base_url: str, proxy: str | None, backoff: Backoff) -> None:
        quiet = logging.getLogger("bot.slack.sdk")
        quiet.setLevel(logging.WARNING)  # at debug level slack_sdk logs whole messages
        self.client = AsyncWebClient(
            token, base_url=base_url.rstrip("/") + "/", retry_handlers=[], trust_env_in_session=False, logger=quiet
        )
        self.client.proxy = proxy
        self.proxy = proxy
        self.backoff = backoff
        self._identity = Identity()

    async def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """One attempt. Raises: SlackError."""
        self._open()
        told = {name: value for name, value in arguments.items() if value not in (None, "")}
        try:
            if method in _READS:
                answer = await self.client.api_call(method, http_verb="GET", params=told)
            elif method in _QUERIES:
                answer = await self.client.api_call(method, params=told)
            else:
                answer = await self.client.api_call(method, json=told)
        except _FOREIGN as error:
            raise mapped(error, method) from error
        return dict(answer.data) if isinstance(answer.data, dict) else {}

    async def repeat(self, method: str, **arguments: Any) -> dict[str, Any]:
        """A call that may be made twice without harm, retried until it works or the tries are used up.

        Raises: SlackError.
        """
        for attempt in range(self.backoff.attempts):
            try:
                return await self.call(method, **arguments)
            except SlackError as error:
                await self.backoff.wait(attempt, error)
        raise AssertionError("wait raises after the last attempt")

    async def send_bytes(self, url: str, content: bytes) -> None:
        """The second step of an upload: raw bytes to the address that Slack gave, without our token.

        Raises: SlackError.
        """
        session = self._open()
        try:
            headers = {"Content-Type": "application/octet-stream"}
            async with session.post(url, data=content, headers=headers, proxy=self.proxy) as answer:
                if answer.status != 200:
                    raise of_status(answer.status, "upload", answer.headers)
        except _FOREIGN as error:
            raise mapped(error, "upload") from error

    async def respond(self, url: str, payload: Mapping[str, Any]) -> None:
        """Answer to a `response_url` (five uses in 30 minutes). Raises: SlackError."""
        session = self._open()
        try:
            async with session.post(url, json=dict(payload), proxy=self.proxy) as answer:
                if answer.status != 200:
                    raise of_status(answer.status, "response_url", answer.headers)
        except _FOREIGN as error:
            raise mapped(error, "response_url") from error

    async def identity(self) -> Identity:
        """Our ids, asked once. Raises: SlackError."""
        if not self._identity.user_id:
            told = await self.call("auth.test")
            self._identity = Identity(
                str(told.get("user_id", "")), str(told.get("bot_id", "")), str(told.get("team_id", ""))
            )
        return self._identity

    async def close(self) -> None:
        session = self.client.session
        if session is not None and not session.closed:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        session = self.client.session
        if session is None or session.closed:
            timeout = aiohttp.ClientTimeout(total=TOTAL_SECONDS, sock_connect=CONNECT_SECONDS)
            session = self.client.session = aiohttp.ClientSession(timeout=timeout, trust_env=False)
        return session


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy for this address by the usual variables; NO_PROXY is honoured, loopback never goes through one."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if host in ("localhost", "::1") or host.startswith("127."):
        return None
    values = {name.lower(): value.strip() for name, value in sorted(environment.items()) if value.strip()}
    for entry in values.get("no_proxy", "").split(","):
        name = entry.strip().lower().lstrip(".")
        if name == "*" or (name and (host == name or host.endswith("." + name))):
            return None
    return values.get(f"{parts.scheme}_proxy") or values.get("all_proxy")
