"""What is over is forgotten: bodies of deliveries after a week, incidents and their bundles as the settings say."""

import asyncio
import logging
import sqlite3
from pathlib import Path

from bot.incidents import conclusions
from bot.incidents.presenter import end
from bot.incidents.records import Records
from retrieval.errors import StoreError
from retrieval.ports import Clock

log = logging.getLogger(__name__)
EVERY_S = 3600.0
_AT_ONCE = 200
_OF_AN_INCIDENT = ("jobs", "episodes", "groups", "ledger", "feedback", "answers")


class Forgetting:
    """`start`, then every hour; `keep_ns` None keeps incidents for ever."""

    def __init__(self, records: Records, data: Path, clock: Clock, keep_ns: int | None) -> None:
        self._records = records
        self._data = data
        self._clock = clock
        self._keep_ns = keep_ns
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="forgetting")

    async def stop(self) -> None:
        if self._task is not None:
            await end([self._task])

    async def step(self) -> int:
        """Forget what is due now; returns how many incidents went.

        Raises: StoreError.
        """
        now_ns = self._clock.now_ns()
        await self._records.sweep(now_ns)
        gone = 0
        while self._keep_ns is not None:
            found = await self._forget(now_ns - self._keep_ns)
            gone += found
            if found < _AT_ONCE:
                break
        return gone

    async def _run(self) -> None:
        while True:
            try:
                await self.step()
            except StoreError:
                log.exception("what is over cannot be forgotten; it is tried again")
            await asyncio.sleep(EVERY_S)

    async def _forget(self, before_ns: int) -> int:
        """The rows go first: a file that a crash leaves behind is met by nobody, while an incident without its bundle
        would promise one."""

        def work(db: sqlite3.Connection) -> list[sqlite3.Row]:
            rows = db.execute(
                "SELECT id, bundle FROM incidents WHERE status != 'looking' AND max(updated_ns, last_ns) < ?"
                " AND shown >= revision AND delivered >= concluded AND NOT EXISTS (SELECT 1 FROM jobs WHERE"
                " incident_id = incidents.id AND state IN ('ready', 'running')) ORDER BY opened_ns, id LIMIT ?",
                (before_ns, _AT_ONCE),
            ).fetchall()
            for row in rows:
                for table in _OF_AN_INCIDENT:
                    db.execute(f"DELETE FROM {table} WHERE incident_id = ?", (row["id"],))
                db.execute("DELETE FROM incidents WHERE id = ?", (row["id"],))
            return rows

        rows = await self._records.database.run(work)
        for row in rows:
            if row["bundle"]:
                bundle = conclusions.decode_bundle(row["bundle"], self._data)
                await asyncio.to_thread(bundle.path.unlink, missing_ok=True)
        return len(rows)
