"""What was told, and where: the durable side of `bot.model.Ledger`."""

import sqlite3

from bot.incidents.database import Database
from bot.model import Posted

_COLUMNS = "incident_id, part, channel, ts, digest, revision"


class SqliteLedger:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def intend(self, posted: Posted) -> None:
        """Stands as given: a part that is to be posted anew has no `ts` until it is sent."""
        await self._write(posted)

    async def sent(self, posted: Posted) -> None:
        await self._write(posted)

    async def part(self, incident_id: str, part: str) -> Posted | None:
        rows = await self._select("WHERE incident_id = ? AND part = ?", (incident_id, part))
        return rows[0] if rows else None

    async def parts(self, incident_id: str) -> list[Posted]:
        return await self._select("WHERE incident_id = ? ORDER BY part", (incident_id,))

    async def find(self, channel: str, ts: str) -> str | None:
        rows = await self._select("WHERE channel = ? AND ts = ? AND part = 'root'", (channel, ts)) if ts else []
        return rows[0].incident_id if rows else None

    async def _write(self, posted: Posted) -> None:
        values = (posted.incident_id, posted.part, posted.channel, posted.ts, posted.digest, posted.revision)
        await self._database.run(
            lambda db: db.execute(f"INSERT OR REPLACE INTO ledger ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", values)
        )

    async def _select(self, where: str, values: tuple[str, ...]) -> list[Posted]:
        def work(db: sqlite3.Connection) -> list[Posted]:
            rows = db.execute(f"SELECT {_COLUMNS} FROM ledger {where}", values).fetchall()
            return [Posted(**dict(row)) for row in rows]

        return await self._database.run(work)
