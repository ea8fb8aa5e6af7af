"""One delivery becomes incidents, episodes and jobs, in one transaction together with the delivery's own end.

So a crash leaves either a delivery that was not worked off, or all that followed from it.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from bot.incidents.episodes import STORM_INCIDENTS, STORM_NS, Episode, Head, Place, place
from retrieval.model import Alert, AlertBatch

SHOWN_RAW = 3000  # characters of an unreadable alert that a view carries; all of it is in the delivery


class Absorbed(Struct, frozen=True, kw_only=True):
    """What one delivery changed. `outcomes` counts placements by kind, for the metrics."""

    touched: tuple[str, ...] = ()
    outcomes: dict[str, int] = msgspec.field(default_factory=dict)


class Intent(Struct, frozen=True, kw_only=True):
    """How to absorb: when, under which new ids, and how long to wait for the rest of a group before triage."""

    now_ns: int
    new_id: Callable[[], str]
    debounce_ns: int


def absorb(db: sqlite3.Connection, delivery_id: str, batch: AlertBatch, intent: Intent) -> Absorbed:
    """Place the alerts of `batch`, keep what was rejected as dead letters and open an incident that shows it raw."""
    places = _absorb_alerts(db, batch.alerts, batch.truncated, "alerts", intent)
    if batch.rejected:
        for raw, reason in batch.rejected:
            db.execute(
                "INSERT INTO dead_letters (delivery_id, source, raw, reason, received_ns) VALUES (?, ?, ?, ?, ?)",
                (delivery_id, batch.source, raw, reason, intent.now_ns),
            )
        places += _absorb_alerts(db, _as_alerts(batch), 0, "unreadable", intent)
    state, reason = ("done", "") if not batch.rejected or batch.alerts else ("dead", batch.rejected[0][1])
    db.execute("UPDATE deliveries SET state = ?, reason = ? WHERE id = ?", (state, reason, delivery_id))
    outcomes: dict[str, int] = {}
    for placed in places:
        outcomes[placed.what] = outcomes.get(placed.what, 0) + 1
    touched = {p.incident_id for p in places if p.what not in ("repeat", "ignored")}
    return Absorbed(touched=tuple(sorted(touched)), outcomes=outcomes)


def _as_alerts(batch: AlertBatch) -> list[Alert]:
    """What could not be read, as alerts of a group of their own: one message per sender, counted, not repeated."""
    return [
        Alert(
            source=batch.source,
            fingerprint=hashlib.sha256(raw.encode()).hexdigest()[:16],
            name="unreadable alert",
            status="firing",
            starts_ns=0,
            annotations={"summary": reason, "raw": raw[:SHOWN_RAW]},
            group_key="unreadable",
        )
        for raw, reason in batch.rejected
    ]


def group_key(alert: Alert) -> str:
    """Alertmanager's groupKey is not unique across Alertmanagers, hence the address before it; "" = no group."""
    return f"{alert.source}|{alert.external_url}|{alert.group_key}" if alert.group_key else ""


def _absorb_alerts(
    db: sqlite3.Connection, alerts: Iterable[Alert], truncated: int, kind: str, intent: Intent
) -> list[Place]:
    alerts = list(alerts)
    if not alerts:
        return []
    key = group_key(alerts[0])
    episodes = _episodes(db, alerts)
    heads = _heads(db, {e.incident_id for e in episodes}, key, kind, intent.now_ns)
    before = {head.incident_id for head in heads}
    places = place(alerts, heads, episodes, intent.now_ns, intent.new_id)
    for placed in places:
        if placed.incident_id:
            _write(db, placed, kind, placed.incident_id not in before, intent)
            before.add(placed.incident_id)
    _after(db, places, key, truncated, intent)
    return places


def _episodes(db: sqlite3.Connection, alerts: list[Alert]) -> list[Episode]:
    source = alerts[0].source
    found = []
    for fingerprint in dict.fromkeys(alert.fingerprint for alert in alerts):
        found += db.execute(
            "SELECT incident_id, fingerprint, starts_ns, status FROM episodes WHERE source = ? AND fingerprint = ?"
            " ORDER BY starts_ns DESC, number DESC LIMIT 50",
            (source, fingerprint),
        ).fetchall()
    return [Episode(**dict(row)) for row in found]


def _heads(db: sqlite3.Connection, ids: set[str], key: str, kind: str, now_ns: int) -> list[Head]:
    grouped = {
        row["incident_id"]
        for row in db.execute(
            "SELECT incident_id FROM groups JOIN incidents ON id = incident_id WHERE key = ? AND closed_ns IS NULL",
            (key,),
        )
    }
    storm = _storm(db, kind, now_ns)
    heads = []
    for incident_id in sorted(ids | grouped | {storm} - {""}):
        row = db.execute("SELECT opened_ns, last_ns, closed_ns FROM incidents WHERE id = ?", (incident_id,)).fetchone()
        heads.append(
            Head(incident_id=incident_id, in_group=incident_id in grouped, storm=incident_id == storm, **dict(row))
        )
    return heads


def _storm(db: sqlite3.Connection, kind: str, now_ns: int) -> str:
    recent = db.execute(
        "SELECT id FROM incidents WHERE kind = ? AND opened_ns > ? AND closed_ns IS NULL", (kind, now_ns - STORM_NS)
    ).fetchall()
    if len(recent) < STORM_INCIDENTS:
        return ""
    marks = ",".join("?" * len(recent))
    largest = db.execute(
        f"SELECT incident_id FROM episodes WHERE incident_id IN ({marks})"
        " GROUP BY incident_id ORDER BY count(*) DESC, min(number) LIMIT 1",
        [row["id"] for row in recent],
    ).fetchone()
    return str(largest["incident_id"]) if largest else ""


def _write(db: sqlite3.Connection, placed: Place, kind: str, is_new: bool, intent: Intent) -> None:
    now_ns, alert = intent.now_ns, placed.alert
    if is_new:
        db.execute(
            "INSERT INTO incidents (id, kind, opened_ns, last_ns, updated_ns, status)"
            " VALUES (?, ?, ?, ?, ?, 'looking')",
            (placed.incident_id, kind, now_ns, now_ns, now_ns),
        )
    db.execute("UPDATE incidents SET last_ns = ? WHERE id = ?", (now_ns, placed.incident_id))
    if placed.what == "repeat":
        return
    db.execute(
        "INSERT INTO episodes (incident_id, source, fingerprint, starts_ns, status, last_ns, about, alert)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, fingerprint, starts_ns, incident_id)"
        " DO UPDATE SET status = excluded.status, last_ns = excluded.last_ns, alert = excluded.alert",
        (
            placed.incident_id,
            alert.source,
            alert.fingerprint,
            alert.starts_ns,
            alert.status,
            now_ns,
            _about(alert),
            msgspec.json.encode(alert).decode(),
        ),
    )
    if placed.what == "refired":
        ended = db.execute(
            "UPDATE episodes SET status = 'resolved' WHERE incident_id = ? AND source = ? AND fingerprint = ?"
            " AND starts_ns < ? AND status = 'firing'",
            (placed.incident_id, alert.source, alert.fingerprint, alert.starts_ns),
        )
        if ended.rowcount:
            _count_refire(db, placed.incident_id)


def _count_refire(db: sqlite3.Connection, incident_id: str) -> None:
    """Once per time that it came back: as a whole, or an alert of which we were not told that it had ended."""
    db.execute("UPDATE incidents SET refired = refired + 1 WHERE id = ?", (incident_id,))


def _after(db: sqlite3.Connection, places: list[Place], key: str, truncated: int, intent: Intent) -> None:
    """Group memberships, closing and reopening, the next revision, and the triage that is due."""
    for incident_id in sorted({p.incident_id for p in places if p.incident_id}):
        of_this = [p for p in places if p.incident_id == incident_id]
        changed = any(p.what != "repeat" for p in of_this)
        if key:
            changed = _note_group(db, key, incident_id, truncated) or changed
        if changed:
            row = db.execute("SELECT closed_ns FROM incidents WHERE id = ?", (incident_id,)).fetchone()
            if row["closed_ns"] is not None and any(p.what == "refired" for p in of_this):
                _count_refire(db, incident_id)
            _settle(db, incident_id, intent.now_ns)
            _schedule(db, incident_id, of_this, intent)


def _note_group(db: sqlite3.Connection, key: str, incident_id: str, truncated: int) -> bool:
    row = db.execute("SELECT truncated FROM groups WHERE key = ? AND incident_id = ?", (key, incident_id)).fetchone()
    db.execute(
        "INSERT INTO groups (key, incident_id, truncated) VALUES (?, ?, ?)"
        " ON CONFLICT (key, incident_id) DO UPDATE SET truncated = excluded.truncated",
        (key, incident_id, truncated),
    )
    return row is not None and row["truncated"] != truncated


def _settle(db: sqlite3.Connection, incident_id: str, now_ns: int) -> None:
    """Over when nothing fires and nothing was left out: a truncated delivery says nothing about the rest."""
    firing = db.execute(
        "SELECT count(*) FROM episodes WHERE incident_id = ? AND status = 'firing'", (incident_id,)
    ).fetchone()[0]
    hidden = db.execute("SELECT coalesce(max(truncated), 0) FROM groups WHERE incident_id = ?", (incident_id,))
    is_over = not firing and not hidden.fetchone()[0]
    db.execute(
        "UPDATE incidents SET closed_ns = CASE WHEN ? THEN coalesce(closed_ns, ?) END,"
        " revision = revision + 1, updated_ns = ? WHERE id = ?",
        (is_over, now_ns, now_ns, incident_id),
    )


def _schedule(db: sqlite3.Connection, incident_id: str, places: list[Place], intent: Intent) -> None:
    """A new incident is triaged once its group had time to arrive; a joined alert leads to another triage only when it
    brings a name or a service that the incident did not have."""
    row = db.execute("SELECT kind, revision FROM incidents WHERE id = ?", (incident_id,)).fetchone()
    if row["kind"] == "unreadable":
        db.execute("UPDATE incidents SET status = 'failed', stage = 'unreadable' WHERE id = ?", (incident_id,))
        return
    news = [p for p in places if p.what in ("opened", "joined") and p.alert.status == "firing"]
    if not news or not (any(p.what == "opened" for p in news) or _brings_news(db, incident_id, news)):
        return
    db.execute(
        "INSERT INTO jobs (incident_id, dedupe, run_at_ns) VALUES (?, ?, ?)"
        " ON CONFLICT (dedupe) WHERE state = 'ready' DO NOTHING",
        (incident_id, f"triage:{incident_id}", intent.now_ns + intent.debounce_ns),
    )


def _brings_news(db: sqlite3.Connection, incident_id: str, news: list[Place]) -> bool:
    new_ones = {(p.alert.source, p.alert.fingerprint) for p in news}
    for subject in sorted({_about(p.alert) for p in news}):
        rows = db.execute(
            "SELECT DISTINCT source, fingerprint FROM episodes WHERE incident_id = ? AND about = ? LIMIT ?",
            (incident_id, subject, len(new_ones) + 1),
        )
        if all((row["source"], row["fingerprint"]) in new_ones for row in rows):
            return True
    return False


def _about(alert: Alert) -> str:
    return f"{alert.name}|{alert.service}"
