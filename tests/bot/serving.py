"""The whole application on a free port of loopback, with a triage and a channel that the test gives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from bot.app import PARTS, Factories, Parts, Side, build
from bot.incidents.engine import Triage
from bot.live import open_memory
from bot.model import Actions, Channel, Ledger
from bot.settings import Settings, load
from tests.bot.incidents.parts import FileChannel, FileTriage

Client = TestClient[Request, Application]


class Served:
    def __init__(self, client: Client, parts: Parts, log: Path) -> None:
        self.client = client
        self.parts = parts
        self.log = log

    async def concluded(self) -> str:
        """The id of the first incident that is concluded and shown as it stands."""
        assert self.parts.records
        for _ in range(1000):
            rows = await self.parts.records.database.run(
                lambda db: db.execute("SELECT id FROM incidents WHERE status = 'done' AND shown = revision").fetchall()
            )
            if rows:
                return str(rows[0]["id"])
            await asyncio.sleep(0.01)
        raise AssertionError("no incident was concluded")

    async def count(self, table: str) -> int:
        assert self.parts.records
        return await self.parts.records.database.run(
            lambda db: int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        )


def settings_of(folder: Path, **environ: str) -> Settings:
    return load(None, {"RECEIPTS_DATA": str(folder / "data"), "RECEIPTS_LISTEN": "127.0.0.1:0", **environ})


@asynccontextmanager
async def served(
    folder: Path, *, triage: Triage | None = None, channel: Channel | None = None, whole: bool = False, **environ: str
) -> AsyncIterator[Served]:
    """`whole`: with the store and its triage, and what fills the store."""
    settings = settings_of(folder, **environ)

    async def make_triage(settings: Settings) -> Triage:
        return triage or FileTriage(settings.data / "bundles", 0.03)

    async def make_side(settings: Settings, actions: Actions, ledger: Ledger) -> Side:
        return Side(channel=channel or FileChannel(folder / "log.jsonl", ledger))

    factories = Factories(triage=make_triage, side=make_side, debounce_s=0.05)
    if whole:
        factories = Factories(memory=open_memory, side=make_side, debounce_s=0.05)
    app = build(settings, factories)
    server = TestServer(app)
    await server.start_server(auto_decompress=False)
    async with TestClient(server) as client:
        yield Served(client, app[PARTS], folder / "log.jsonl")
