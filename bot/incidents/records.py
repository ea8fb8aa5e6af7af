"""The durable state: deliveries, incidents with their views, jobs. Each method is one transaction.

Revisions: every visible change adds one. `shown` and `delivered` lag behind `revision` and `concluded` until the
channel said that it is done, so that after a crash it is known what still has to be told.
"""

import json
import sqlite3
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bot.incidents import conclusions
from bot.incidents.absorb import Absorbed, Intent, absorb
from bot.incidents.database import Database
from bot.model import BundleRef, IncidentView, Rerun, UnknownIncident
from retrieval.model import Alert, AlertBatch, Case

MAX_ATTEMPTS = 10  # runs of one triage that ended with the death of the process
MAX_ALERTS_SHOWN = 1000
KEEP_DELIVERIES_NS = 7 * 86400 * 10**9
NEXT_STEP = {
    "crashed": "The triage stopped with an internal error. The alert is kept; use Re-run, or look in the server's log.",
    "timeout": "The triage took too long and was stopped. Re-run it with a smaller window.",
    "kill_switch": "Triage is switched off (kill_switch). The alert is kept; switch it on and use Re-run.",
    "unreadable": "What the sender sent could not be read and is shown as it came. Check the sender's template.",
}


class Delivery(Struct, frozen=True, kw_only=True):
    id: str
    source: str
    received_ns: int
    headers: dict[str, str]
    body: bytes


class Job(Struct, frozen=True, kw_only=True):
    """One triage that is due. `attempts` counts this one; `wish` is all that people asked for so far."""

    id: int
    incident_id: str
    wish: Rerun | None
    attempts: int


class Pending(Struct, frozen=True, kw_only=True):
    """What the channel was not told yet. `deliver` is the conclusion whose thread parts are due, 0 for none."""

    view: IncidentView
    show: bool
    deliver: int


class Conclusion(Struct, frozen=True, kw_only=True):
    case: Case
    bundle: BundleRef | None
    seconds: float


class Records:
    def __init__(self, database: Database, data: Path, public_url: str = "") -> None:
        self.database = database
        self._data = data
        self._public_url = public_url

    # Deliveries

    async def keep(self, delivery: Delivery) -> None:
        """Durable when it returns."""
        values = (delivery.id, delivery.source, delivery.received_ns, json.dumps(delivery.headers), delivery.body)
        await self.database.run(
            lambda db: db.execute(
                "INSERT INTO deliveries (id, source, received_ns, headers, body) VALUES (?, ?, ?, ?, ?)", values
            )
        )

    async def next_delivery(self) -> Delivery | None:
        """The oldest that was not worked off; it stays so until `absorb`."""
        row = await self.database.run(
            lambda db: db.execute(
                "SELECT id, source, received_ns, headers, body FROM deliveries WHERE state = 'received'"
                " ORDER BY received_ns, id LIMIT 1"
            ).fetchone()
        )
        return Delivery(**{**dict(row), "headers": json.loads(row["headers"])}) if row else None

    async def absorb(self, delivery_id: str, batch: AlertBatch, intent: Intent) -> Absorbed:
        return await self.database.run(lambda db: absorb(db, delivery_id, batch, intent))

    async def bury(self, delivery_id: str, reason: str) -> None:
        """End a delivery that cannot be worked off; its body stays until the sweep."""
        await self.database.run(
            lambda db: db.execute(
                "UPDATE deliveries SET state = 'dead', reason = ? WHERE id = ?", (reason, delivery_id)
            )
        )

    async def sweep(self, now_ns: int) -> int:
        """Forget bodies of deliveries that were worked off a week ago; returns how many."""
        return await self.database.run(
            lambda db: (
                db.execute(
                    "DELETE FROM deliveries WHERE state != 'received' AND received_ns < ?",
                    (now_ns - KEEP_DELIVERIES_NS,),
                ).rowcount
            )
        )

    # Incidents

    async def view(self, incident_id: str) -> IncidentView:
        """Raises: UnknownIncident."""
        return await self.database.run(lambda db: self._view(db, incident_id))

    async def pending(self) -> list[str]:
        """Incidents of which the channel has not been told everything, oldest first."""
        rows = await self.database.run(
            lambda db: db.execute(
                "SELECT id FROM incidents WHERE shown < revision OR delivered < concluded ORDER BY opened_ns, id"
            ).fetchall()
        )
        return [row["id"] for row in rows]

    async def untold(self, incident_id: str) -> Pending | None:
        """What is to be told now of one incident; None when nothing is."""

        def work(db: sqlite3.Connection) -> Pending | None:
            row = _incident(db, incident_id)
            show, deliver = row["shown"] < row["revision"], row["delivered"] < row["concluded"]
            if not (show or deliver):
                return None
            due = row["concluded"] if deliver and row["status"] != "looking" else 0
            return Pending(view=self._view(db, incident_id), show=show, deliver=due) if show or due else None

        return await self.database.run(work)

    async def told(self, incident_id: str, *, revision: int = 0, conclusion: int = 0) -> None:
        await self.database.run(
            lambda db: db.execute(
                "UPDATE incidents SET shown = max(shown, ?), delivered = max(delivered, ?) WHERE id = ?",
                (revision, conclusion, incident_id),
            )
        )

    async def progress(self, incident_id: str, stage: str, known: str, now_ns: int) -> None:
        await self.database.run(
            lambda db: db.execute(
                "UPDATE incidents SET status = 'looking', stage = ?, known = ?, revision = revision + 1, updated_ns = ?"
                " WHERE id = ? AND (status != 'looking' OR stage != ? OR known != ?)",
                (stage, known, now_ns, incident_id, stage, known),
            )
        )

    async def conclude(self, job: Job, found: Conclusion, now_ns: int) -> None:
        """The job ends and its conclusion stands, together."""
        text = conclusions.encode(conclusions.slim(found.case))
        bundle = conclusions.encode_bundle(found.bundle, self._data) if found.bundle else None

        def work(db: sqlite3.Connection) -> None:
            row = _incident(db, job.incident_id)
            before = conclusions.decode(row["result"]) if row["result"] else None
            db.execute(
                "UPDATE incidents SET status = 'done', stage = '', known = '', result = ?, bundle = ?, seconds = ?,"
                " changed = ?, concluded = concluded + 1, revision = revision + 1, updated_ns = ? WHERE id = ?",
                (text, bundle, found.seconds, conclusions.changed(before, found.case), now_ns, job.incident_id),
            )
            db.execute("UPDATE jobs SET state = 'done', lease_ns = 0 WHERE id = ?", (job.id,))

        await self.database.run(work)

    async def fail(self, job: Job, stage: str, error: str, now_ns: int) -> None:
        """The job is given up, and the incident says why (a key of NEXT_STEP)."""
        await self.database.run(lambda db: _fail(db, job.id, job.incident_id, (stage, error[:500]), now_ns))

    # Jobs

    async def claim(self, owner: str, now_ns: int, lease_ns: int) -> Job | None:
        """The job that is due longest, of an incident that no other run is working on."""

        def work(db: sqlite3.Connection) -> Job | None:
            row = db.execute(
                "SELECT id, incident_id, attempts FROM jobs AS job WHERE run_at_ns <= ? AND (state = 'ready'"
                " OR state = 'running' AND lease_ns < ?) AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE"
                " other.incident_id = job.incident_id AND other.id != job.id AND other.state = 'running'"
                " AND other.lease_ns >= ?) ORDER BY run_at_ns, id LIMIT 1",
                (now_ns, now_ns, now_ns),
            ).fetchone()
            if row is None:
                return None
            db.execute(
                "UPDATE jobs SET state = 'running', owner = ?, lease_ns = ?, attempts = attempts + 1 WHERE id = ?",
                (owner, now_ns + lease_ns, row["id"]),
            )
            return Job(
                id=row["id"],
                incident_id=row["incident_id"],
                wish=_wish(db, row["incident_id"]),
                attempts=row["attempts"] + 1,
            )

        return await self.database.run(work)

    async def heartbeat(self, job: Job, lease_until_ns: int) -> None:
        await self.database.run(
            lambda db: db.execute(
                "UPDATE jobs SET lease_ns = ? WHERE id = ? AND state = 'running'", (lease_until_ns, job.id)
            )
        )

    async def release(self, job: Job, run_at_ns: int, error: str, *, counts: bool) -> None:
        """Give the job back, to be run at `run_at_ns`; `counts` says whether the attempt counts."""

        def work(db: sqlite3.Connection) -> None:
            row = db.execute("SELECT dedupe FROM jobs WHERE id = ?", (job.id,)).fetchone()
            twin = db.execute("SELECT 1 FROM jobs WHERE dedupe = ? AND state = 'ready'", (row["dedupe"],)).fetchone()
            db.execute(
                "UPDATE jobs SET state = ?, owner = '', lease_ns = 0, run_at_ns = ?, error = ?, attempts = attempts - ?"
                " WHERE id = ?",
                ("done" if twin else "ready", run_at_ns, error[:500], 0 if counts else 1, job.id),
            )

        await self.database.run(work)

    async def next_run_ns(self) -> int | None:
        """When the next job that waits is due."""
        row = await self.database.run(
            lambda db: db.execute("SELECT min(run_at_ns) AS at FROM jobs WHERE state = 'ready'").fetchone()
        )
        return row["at"] if row else None

    async def recover(self, now_ns: int) -> int:
        """At the start, when the lock on the folder says that nobody else works: what ran when the process died is due
        again, at once at first, later and later when the same job was running at every death. Returns how many."""

        def work(db: sqlite3.Connection) -> int:
            rows = db.execute("SELECT id, incident_id, dedupe, attempts FROM jobs WHERE state = 'running'").fetchall()
            for row in rows:
                if row["attempts"] >= MAX_ATTEMPTS:
                    _fail(db, row["id"], row["incident_id"], ("crashed", "the process died in every attempt"), now_ns)
                    continue
                delay_ns = 0 if row["attempts"] < 3 else 2 ** row["attempts"] * 10**9
                db.execute(
                    "DELETE FROM jobs WHERE dedupe = ? AND state = 'ready' AND id != ?", (row["dedupe"], row["id"])
                )
                db.execute(
                    "UPDATE jobs SET state = 'ready', owner = '', lease_ns = 0, run_at_ns = ? WHERE id = ?",
                    (now_ns + delay_ns, row["id"]),
                )
            return len(rows)

        return await self.database.run(work)

    # Views

    def _view(self, db: sqlite3.Connection, incident_id: str) -> IncidentView:
        row = _incident(db, incident_id)
        alerts = _alerts(db, incident_id)
        counts = db.execute(
            "SELECT count(DISTINCT source || fingerprint) AS every,"
            " count(DISTINCT CASE WHEN status = 'firing' THEN source || fingerprint END) AS firing,"
            " (SELECT coalesce(sum(truncated), 0) FROM groups WHERE incident_id = ?1) AS truncated"
            " FROM episodes WHERE incident_id = ?1",
            (incident_id,),
        ).fetchone()
        return IncidentView(
            incident_id=incident_id,
            status=row["status"],
            alerts=alerts,
            firing=counts["firing"],
            resolved=counts["every"] - counts["firing"],
            started_ns=row["opened_ns"],
            now_ns=row["updated_ns"],
            revision=row["revision"],
            stage=row["stage"],
            known=row["known"] or (NEXT_STEP.get(row["stage"], "") if row["status"] == "failed" else ""),
            case=conclusions.decode(row["result"]) if row["result"] else None,
            bundle=conclusions.decode_bundle(row["bundle"], self._data) if row["bundle"] else None,
            seconds=row["seconds"],
            refired=row["refired"],
            truncated=counts["truncated"],
            changed=row["changed"],
            public_url=self._public_url,
        )


def _incident(db: sqlite3.Connection, incident_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = db.execute("SELECT * FROM incidents WHERE id = ?", (incident_id,)).fetchone()
    if row is None:
        raise UnknownIncident(incident_id)
    return row


def _wish(db: sqlite3.Connection, incident_id: str) -> Rerun | None:
    """What was asked for last, under it what was asked for before, with every answer that was given."""
    text = _incident(db, incident_id)["wish"]
    rows = db.execute("SELECT what, user, value FROM answers WHERE incident_id = ? ORDER BY what", (incident_id,))
    answers = {row["what"]: row["value"] for row in rows}
    if not text and not answers:
        return None
    return replace(msgspec.json.decode(text, type=Rerun) if text else Rerun(user=""), answers=answers)


def _alerts(db: sqlite3.Connection, incident_id: str) -> tuple[Alert, ...]:
    """Each alert once, in the order in which they were first heard of, as it was last heard of."""
    latest: dict[tuple[str, str], Alert] = {}
    rows = db.execute("SELECT alert FROM episodes WHERE incident_id = ? ORDER BY number", (incident_id,))
    for row in rows:
        alert = msgspec.json.decode(row["alert"], type=Alert)
        latest[alert.source, alert.fingerprint] = alert
        if len(latest) >= MAX_ALERTS_SHOWN:
            break
    return tuple(latest.values())


def _fail(db: sqlite3.Connection, job_id: int, incident_id: str, why: tuple[str, str], now_ns: int) -> None:
    db.execute("UPDATE jobs SET state = 'dead', lease_ns = 0, error = ? WHERE id = ?", (why[1], job_id))
    db.execute(
        "UPDATE incidents SET status = 'failed', stage = ?, known = '', revision = revision + 1, updated_ns = ?"
        " WHERE id = ?",
        (why[0], now_ns, incident_id),
    )
