"""What people ask of an incident, written down before it is answered (`bot.model.Actions`)."""

import sqlite3
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from bot.access import Access, Reader
from bot.incidents.records import Records
from bot.model import IncidentView, Refused, Rerun, UnknownIncident
from retrieval.ports import Clock

MAX_ANSWER = 10_000


class Desk:
    """`changed(incident_id)` is called after each write that has to be worked on or shown. `access` None: everybody may
    see everything."""

    def __init__(
        self, records: Records, clock: Clock, changed: Callable[[str], None], access: Access | None = None
    ) -> None:
        self._access = access
        self._records = records
        self._clock = clock
        self._changed = changed

    async def latest(self, channel: str) -> str:
        row = await self._records.database.run(
            lambda db: db.execute(
                "SELECT incident_id FROM ledger JOIN incidents ON id = incident_id WHERE channel = ? AND part = 'root'"
                " ORDER BY opened_ns DESC, id LIMIT 1",
                (channel,),
            ).fetchone()
        )
        if row is None:
            raise UnknownIncident(channel)
        return str(row["incident_id"])

    async def view(self, incident_id: str) -> IncidentView:
        return await self._records.view(incident_id)

    async def allow(self, incident_id: str, *, user: str, channel: str) -> None:
        view = await self._records.view(incident_id)
        if self._access is not None and not self._access.allows(view, Reader(user=user, channel=channel)):
            raise Refused(incident_id)

    async def rerun(self, incident_id: str, wish: Rerun) -> None:
        now_ns = self._clock.now_ns()

        def work(db: sqlite3.Connection) -> None:
            _known(db, incident_id)
            before = db.execute("SELECT wish FROM incidents WHERE id = ?", (incident_id,)).fetchone()["wish"]
            merged = _over(msgspec.json.decode(before, type=Rerun), wish) if before else wish
            db.execute(
                "UPDATE incidents SET wish = ? WHERE id = ?", (msgspec.json.encode(merged).decode(), incident_id)
            )
            _again(db, incident_id, now_ns)

        await self._records.database.run(work)
        self._changed(incident_id)

    async def feedback(self, incident_id: str, *, user: str, verdict: str, commit: str = "") -> None:
        """Raises: ValueError for a verdict that is neither right nor wrong."""
        if verdict not in ("right", "wrong"):
            raise ValueError("a verdict is right or wrong")
        values = (incident_id, user, verdict, commit, self._clock.now_ns())

        def work(db: sqlite3.Connection) -> None:
            _known(db, incident_id)
            db.execute("INSERT OR REPLACE INTO feedback VALUES (?, ?, ?, ?, ?)", values)

        await self._records.database.run(work)

    async def answer(self, incident_id: str, *, user: str, what: str, value: str) -> None:
        now_ns = self._clock.now_ns()

        def work(db: sqlite3.Connection) -> None:
            _known(db, incident_id)
            db.execute(
                "INSERT OR REPLACE INTO answers (incident_id, what, user, value, at_ns) VALUES (?, ?, ?, ?, ?)",
                (incident_id, what, user, value[:MAX_ANSWER], now_ns),
            )
            _again(db, incident_id, now_ns)

        await self._records.database.run(work)
        self._changed(incident_id)


def _known(db: sqlite3.Connection, incident_id: str) -> None:
    if db.execute("SELECT 1 FROM incidents WHERE id = ?", (incident_id,)).fetchone() is None:
        raise UnknownIncident(incident_id)


def _over(before: Rerun, wish: Rerun) -> Rerun:
    """Empty fields stay as they were."""
    asked = {name: value for name in wish.__struct_fields__ if (value := getattr(wish, name)) not in ("", None, {})}
    return replace(before, **asked)


def _again(db: sqlite3.Connection, incident_id: str, now_ns: int) -> None:
    """One triage more; a second click while the first still waits changes nothing."""
    db.execute(
        "INSERT INTO jobs (incident_id, dedupe, run_at_ns) VALUES (?, ?, ?)"
        " ON CONFLICT (dedupe) WHERE state = 'ready' DO UPDATE SET run_at_ns = min(run_at_ns, excluded.run_at_ns)",
        (incident_id, f"triage:{incident_id}", now_ns),
    )
    db.execute(
        "UPDATE incidents SET status = 'looking', stage = 'queued', known = '', revision = revision + 1, updated_ns = ?"
        " WHERE id = ? AND status != 'looking'",
        (now_ns, incident_id),
    )
