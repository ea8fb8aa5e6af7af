"""The bot's Slack side on a real port beside a real workspace."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from msgspec import Struct
from pydantic import SecretStr

from bot.demo.workspace.people import People
from bot.demo.workspace.server import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, Workspace
from bot.demo.workspace.state import DEFAULT_CHANNEL
from bot.slack.app import Means, SlackSide, build_slack
from tests.bot.slack.fakes import Desk, MemoryLedger


class Section(Struct, kw_only=True):
    api_url: str
    bot_token: SecretStr = SecretStr(BOT_TOKEN)
    signing_secret: SecretStr = SecretStr(SIGNING_SECRET)
    app_token: SecretStr = SecretStr("")
    channel: str = DEFAULT_CHANNEL


class Settings(Struct, kw_only=True):
    slack: Section


class House(Struct, kw_only=True):
    workspace: Workspace
    side: SlackSide
    ledger: MemoryLedger
    desk: Desk
    people: People
    url: str = ""
    waits: list[float]

    async def whispered(self, count: int = 1) -> list[dict[str, Any]]:
        """The ephemeral answers, once there are so many; they come after the acknowledgement."""
        found = self.workspace.state.channels[DEFAULT_CHANNEL].ephemeral
        await until(lambda: len(found) >= count)
        return found

    def root(self) -> dict[str, Any]:
        """The one root message. More or fewer is an error."""
        (only,) = self.workspace.messages()
        return only


async def until(condition: Any, seconds: float = 5.0) -> None:
    """Wait for something that another task does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        await asyncio.sleep(0.005)


def said(message: dict[str, Any]) -> str:
    """All words of a message, a line per block."""
    return "\n".join(_words(block) for block in message.get("blocks", [])) or message.get("text", "")


def _words(value: Any) -> str:
    if isinstance(value, dict):
        own = value["text"] if isinstance(value.get("text"), str) else ""
        return own + "".join(_words(v) for v in value.values() if isinstance(v, dict | list))
    return "".join(_words(v) for v in value) if isinstance(value, list) else ""


@asynccontextmanager
async def house(
    desk: Desk, *, socket: bool = False, ledger: MemoryLedger | None = None, **changes: Any
) -> AsyncIterator[House]:
    """Workspace, bot and people; waiting is written down instead of waited."""
    workspace = changes.pop("workspace", None) or Workspace()
    if not workspace.base_url:
        await workspace.start()
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    means = Means(environment={}, sleep=sleep, random=lambda: 0.5, interval=0.0, socket_retry=0.2)
    section = Section(api_url=workspace.api_url, app_token=SecretStr(APP_TOKEN if socket else ""), **changes)
    kept = ledger or MemoryLedger()
    side = await build_slack(Settings(slack=section), desk, kept, means)
    runner = None
    url = ""
    if side.handler is not None:
        app = web.Application()
        app.router.add_post("/slack/events", side.handler)
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    built = House(
        workspace=workspace,
        side=side,
        ledger=kept,
        desk=desk,
        people=People(workspace, url),
        url=url,
        waits=waits,
    )
    try:
        yield built
    finally:
        await side.channel.close()
        await side.close()
        if runner is not None:
            await runner.cleanup()
        await workspace.close()
