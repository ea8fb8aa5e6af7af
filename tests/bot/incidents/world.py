"""A store in a folder, a clock that is set by hand, ids that can be foreseen; real parts otherwise."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.incidents.absorb import Absorbed, Intent
from bot.incidents.database import Database
from bot.incidents.records import Delivery, Records
from bot.intake.sources import registry
from bot.model import IncidentView
from retrieval.model import Alert, AlertBatch

CAPTURED = Path(__file__).parents[2] / "captured" / "alertmanager"
START_NS = 1796078954 * 10**9
S = 10**9


class SetClock:
    def __init__(self) -> None:
        self.ns = START_NS

    def now_ns(self) -> int:
        return self.ns


class World:
    def __init__(self, database: Database, folder: Path) -> None:
        self.clock = SetClock()
        self.records = Records(database, folder)
        self.database = database
        self._ids = itertools.count(1)
        self._deliveries = itertools.count(1)

    def new_id(self) -> str:
        return f"inc-{next(self._ids)}"

    async def send(self, *alerts: Alert, truncated: int = 0, after_s: float = 1.0) -> Absorbed:
        return await self.absorb(AlertBatch(source="test", alerts=alerts, truncated=truncated), after_s)

    async def replay(self, *numbers: str, after_s: float = 1.0) -> list[Absorbed]:
        """Bodies of the capture by their numbers, in this order."""
        found = []
        for number in numbers:
            (path,) = CAPTURED.glob(f"{number}_*.json")
            found.append(await self.absorb(registry()["alertmanager"].parse(path.read_bytes(), {}), after_s))
        return found

    async def absorb(self, batch: AlertBatch, after_s: float = 1.0) -> Absorbed:
        self.clock.ns += int(after_s * S)
        delivery_id = f"d-{next(self._deliveries):05}"
        delivery = Delivery(id=delivery_id, source=batch.source, received_ns=self.clock.ns, headers={}, body=b"")
        await self.records.keep(delivery)
        return await self.records.absorb(
            delivery_id, batch, Intent(now_ns=self.clock.ns, new_id=self.new_id, debounce_ns=2 * S)
        )

    async def incidents(self) -> list[IncidentView]:
        rows = await self.database.run(
            lambda db: db.execute("SELECT id FROM incidents ORDER BY opened_ns, rowid").fetchall()
        )
        return [await self.records.view(row["id"]) for row in rows]

    async def is_over(self, incident_id: str) -> bool:
        row = await self.database.run(
            lambda db: db.execute("SELECT closed_ns FROM incidents WHERE id = ?", (incident_id,)).fetchone()
        )
        return row["closed_ns"] is not None

    async def jobs(self) -> list[str]:
        rows = await self.database.run(
            lambda db: db.execute("SELECT incident_id FROM jobs WHERE state = 'ready' ORDER BY id").fetchall()
        )
        return [row["incident_id"] for row in rows]


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    database = await Database.open(folder / "state.db")
    try:
        yield World(database, folder)
    finally:
        await database.close()


def alert(name: str = "Errors", status: str = "firing", *, starts_s: int = 0, group: str = "g", **labels: str) -> Alert:
    """`starts_s` counts from the world's start."""
    return Alert(
        source="test",
        fingerprint="|".join([name, *(f"{key}={value}" for key, value in sorted(labels.items()))]),
        name=name,
        status=status,
        starts_ns=START_NS + starts_s * S,
        labels={"alertname": name, **labels},
        group_key=group,
        external_url="http://am",
    )
