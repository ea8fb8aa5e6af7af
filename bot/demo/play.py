"""The whole path over HTTP in one process: the bot's web application on one loopback port, Slack's stand-in on another.

A case folder is ingested, as `receipts ingest case` does; its alert is posted, as Alertmanager posts it; what is told
then comes from the same parts as in production.
"""

import asyncio
import contextlib
import hashlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from msgspec import Struct

from bot.app import Factories, Side, build, runner_of
from bot.cli.ingest import ingest
from bot.cli.triage import read_alert
from bot.demo.workspace.server import BOT_TOKEN, SIGNING_SECRET, Workspace
from bot.demo.workspace.state import DEFAULT_CHANNEL
from bot.investigation import incident_id_of
from bot.live import open_memory
from bot.model import Actions, Channel, IncidentView, Ledger
from bot.redaction import KEY_FILE
from bot.settings import Settings
from bot.slack.app import Means, build_slack
from retrieval.errors import StoreUnavailable

LIMIT_S = 600.0
_SLACK_PAUSE_S = 0.05  # the stand-in does not mind being written to often
# Pseudonyms, and with them the bundle's bytes, are the same on every machine. The shop's visitors are made up.
_KEY = hashlib.sha256(b"receipts demo").hexdigest()

Say = Callable[[str], None]


class Stage(Struct, frozen=True, kw_only=True):
    """What the demo is played with. `data` is emptied by whoever made it; `say` gets progress, one line each."""

    case: Path
    data: Path
    say: Say


class Played(Struct, frozen=True, kw_only=True):
    """How it ended. `messages` are those of the channel with the replies in its threads, oldest first."""

    view: IncidentView
    messages: list[dict[str, Any]]
    channel: str
    page: str


@contextlib.asynccontextmanager
async def played(stage: Stage) -> AsyncIterator[Played]:
    """Post the alert, wait until all is told; inside the context the pages can still be read.

    Raises: StoreUnavailable when the bot does not take the alert or does not end in ten minutes; RetrievalError.
    """
    workspace = Workspace()
    await workspace.start()
    body = await asyncio.to_thread(read_alert, stage.case)
    try:
        with _listening() as (sock, address):
            settings = _settings(stage, workspace, address)
            (stage.data / KEY_FILE).write_text(_KEY, encoding="ascii")
            stored = (await ingest(settings, "case", [stage.case])).stored
            stage.say(f"stored {sum(stored.counts.values())} documents of {len(stored.counts)} kinds")
            watched = _Watched(stage.say)
            factories = Factories(
                memory=open_memory, side=watched.side, debounce_s=0.0, new_id=lambda: incident_id_of(body)
            )
            runner = runner_of(build(settings, factories))
            await runner.setup()
            try:
                await web.SockSite(runner, sock).start()
                await _post(address, body)
                view = await watched.end()
                channel = workspace.state.channels[DEFAULT_CHANNEL]
                yield Played(
                    view=view,
                    messages=channel.messages,
                    channel=channel.name,
                    page=f"{address}/incidents/{view.incident_id}",
                )
            finally:
                await runner.cleanup()
    finally:
        await workspace.close()


@contextlib.contextmanager
def _listening() -> Iterator[tuple[socket.socket, str]]:
    """A free port on loopback, known before the server starts: its address is in every citation."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock, f"http://127.0.0.1:{sock.getsockname()[1]}"


def _settings(stage: Stage, workspace: Workspace, address: str) -> Settings:
    values: Mapping[str, Any] = {
        "listen": address.removeprefix("http://"),
        "public_url": address,
        "data": stage.data,
        "embedding": {"model": ""},  # loading one takes longer than the whole demo
        "slack": {
            "api_url": workspace.api_url,
            "bot_token": BOT_TOKEN,
            "signing_secret": SIGNING_SECRET,
            "channel": DEFAULT_CHANNEL,
        },
    }
    return Settings.model_validate(values)


async def _post(address: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "Alertmanager/0.28"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{address}/alerts/alertmanager", data=body, headers=headers) as answer,
    ):
        if answer.status != 202:
            raise StoreUnavailable(f"the bot refused the alert ({answer.status})", subject="demo")


class _Watched:
    """Slack's channel, with someone who looks at it: says each stage and knows when all is told."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._ended = asyncio.Event()
        self._view: IncidentView | None = None
        self._inner: Channel | None = None
        self._stage = ""
        self._began = time.monotonic()

    async def side(self, settings: Settings, actions: Actions, ledger: Ledger) -> Side:
        means = Means(environment={}, interval=_SLACK_PAUSE_S)
        slack = await build_slack(settings, actions, ledger, means)
        self._inner = slack.channel
        return Side(channel=self, handler=slack.handler, close=slack.close)

    async def end(self) -> IncidentView:
        try:
            async with asyncio.timeout(LIMIT_S):
                await self._ended.wait()
        except TimeoutError:
            raise StoreUnavailable(f"the triage did not end in {LIMIT_S:g} s", subject="demo") from None
        assert self._view is not None
        return self._view

    async def show(self, view: IncidentView) -> None:
        assert self._inner is not None
        await self._inner.show(view)
        told = f"{view.stage}: {view.known}" if view.stage else view.status
        if told != self._stage:
            self._stage = told
            self._say(told)
        if view.status == "failed":
            self._view = view
            self._ended.set()

    async def deliver(self, view: IncidentView) -> None:
        assert self._inner is not None
        await self._inner.deliver(view)
        self._view = view
        self._ended.set()

    async def close(self) -> None:
        assert self._inner is not None
        await self._inner.close()
