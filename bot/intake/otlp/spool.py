"""What was acknowledged and is not yet in the store, on disk: a request is answered when its records are here.

Records are redacted before they come. A request is one row, so that nothing of it can be lost or kept twice. Rows leave
by the batch: a batch is marked before it is worked on, and its rows are deleted when the store holds it; after a crash
the same rows are worked on again, which gives the same documents.

Beside them stand three small memories that must not be forgotten with the process: which traces are worth keeping
whole, how far counters were, and which requests came already (exporters send a request again when its answer was lost).
"""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bot.incidents.database import Database
from bot.intake.otlp.encoding import Signal
from bot.intake.otlp.records import Record
from retrieval.ingest.otlp_metrics import Point
from retrieval.ingest.rates import Key, Total
from retrieval.model import LogRecord, Span

_VERSION = 1
_SCHEMA = """
CREATE TABLE requests (
  seq INTEGER PRIMARY KEY, signal TEXT NOT NULL, received_ns INTEGER NOT NULL, size INTEGER NOT NULL,
  batch INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL);
CREATE INDEX requests_batch ON requests (batch, seq);
CREATE TABLE notable (trace_id TEXT PRIMARY KEY, failed INTEGER NOT NULL, at_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE totals (series BLOB PRIMARY KEY, at_ns INTEGER NOT NULL, total BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE came (digest BLOB PRIMARY KEY, at_ns INTEGER NOT NULL) WITHOUT ROWID;
"""
_CHUNK = 500  # variables of one statement
_DECODERS: dict[Signal, msgspec.msgpack.Decoder[Any]] = {
    Signal.TRACES: msgspec.msgpack.Decoder(list[Span]),
    Signal.LOGS: msgspec.msgpack.Decoder(list[LogRecord]),
    Signal.METRICS: msgspec.msgpack.Decoder(list[Point]),
}
_TOTAL = msgspec.msgpack.Decoder(Total)


class Request(Struct, frozen=True):
    """One request's records, ready to be written. `digest` tells it from every other request; `notable` are traces to
    be kept whole: id -> whether it failed (else it was slow)."""

    signal: Signal
    received_ns: int
    digest: bytes
    body: bytes
    notable: dict[str, bool]


class Row(Struct, frozen=True):
    """A request on its way to the store."""

    seq: int
    signal: Signal
    received_ns: int
    body: bytes

    def records(self) -> list[Record]:
        found: list[Record] = _DECODERS[self.signal].decode(zlib.decompress(self.body))
        return found


def packed(records: Sequence[Record]) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(records), 1)


def digest_of(signal: Signal, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16, person=signal.encode()).digest()


class Spool:
    """Every method raises StoreError when the file cannot be used."""

    def __init__(self, database: Database, held: int) -> None:
        self._database = database
        self.held = held  # bytes on disk that wait

    @classmethod
    async def open(cls, path: Path) -> "Spool":
        database = await Database.open(path, _SCHEMA, _VERSION)
        held = await database.run(lambda db: int(db.execute("SELECT total(size) FROM requests").fetchone()[0]))
        return cls(database, held)

    async def put(self, request: Request) -> bool:
        """Durable when this returns; False when the same request came before."""

        def work(db: sqlite3.Connection) -> bool:
            at = request.received_ns
            if not db.execute("INSERT OR IGNORE INTO came VALUES (?, ?)", (request.digest, at)).rowcount:
                return False
            db.execute(
                "INSERT INTO requests (signal, received_ns, size, body) VALUES (?, ?, ?, ?)",
                (request.signal, at, len(request.body), request.body),
            )
            db.executemany(
                "INSERT INTO notable VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET failed = max(failed, excluded.failed)",
                ((trace_id, failed, at) for trace_id, failed in request.notable.items()),
            )
            return True

        new = await self._database.run(work)
        self.held += len(request.body) if new else 0
        return new

    async def oldest_ns(self) -> int | None:
        """When the oldest request came that no batch holds."""
        found = await self._database.run(
            lambda db: db.execute("SELECT received_ns FROM requests WHERE batch = 0 ORDER BY seq LIMIT 1").fetchone()
        )
        return None if found is None else int(found[0])

    async def last(self) -> int:
        """The number of the newest request."""
        return int(
            await self._database.run(lambda db: db.execute("SELECT coalesce(max(seq), 0) FROM requests").fetchone()[0])
        )

    async def take(self, *, received_before_ns: int, size: int, after: int = 0, until: int = 2**62) -> list[Row]:
        """The unfinished batch if there is one; else a new one: requests in the order of their coming that came before
        that moment and have a number beyond `after` and up to `until`, about `size` bytes of them."""

        def work(db: sqlite3.Connection) -> list[Row]:
            if held := _rows(db, "WHERE batch = 1 ORDER BY seq", ()):
                return held
            found, taken = [], 0
            for seq, weight in db.execute(
                "SELECT seq, size FROM requests WHERE batch = 0 AND received_ns < ? AND seq > ? AND seq <= ?"
                " ORDER BY seq",
                (received_before_ns, after, until),
            ):
                found.append(seq)
                taken += weight
                if taken >= size:
                    break
            db.executemany("UPDATE requests SET batch = 1 WHERE seq = ?", ((seq,) for seq in found))
            return _rows(db, "WHERE batch = 1 ORDER BY seq", ())

        return await self._database.run(work)

    async def notable(self, trace_ids: Iterable[str]) -> dict[str, bool]:
        """Of these traces the ones to be kept whole, and whether each failed."""
        wanted = sorted(set(trace_ids) - {""})

        def work(db: sqlite3.Connection) -> dict[str, bool]:
            found: dict[str, bool] = {}
            for at in range(0, len(wanted), _CHUNK):
                part = wanted[at : at + _CHUNK]
                marks = ", ".join("?" * len(part))
                rows = db.execute(f"SELECT trace_id, failed FROM notable WHERE trace_id IN ({marks})", part)
                found.update((trace_id, bool(failed)) for trace_id, failed in rows)
            return found

        return await self._database.run(work)

    async def totals(self, keys: Iterable[Key]) -> dict[Key, Total]:
        """How far these counters were."""
        wanted = {_series(key): key for key in keys}

        def work(db: sqlite3.Connection) -> dict[Key, Total]:
            found: dict[Key, Total] = {}
            for series, key in wanted.items():
                row = db.execute("SELECT total FROM totals WHERE series = ?", (series,)).fetchone()
                if row is not None:
                    found[key] = _TOTAL.decode(row[0])
            return found

        return await self._database.run(work)

    async def done(self, rows: Sequence[Row], back: Sequence[Row], totals: Mapping[Key, Total]) -> None:
        """The store holds the batch. `back` is what of it is not decided yet, under the numbers it had."""

        def work(db: sqlite3.Connection) -> int:
            db.executemany("DELETE FROM requests WHERE seq = ?", ((row.seq,) for row in rows))
            db.executemany(
                "INSERT INTO requests (seq, signal, received_ns, size, body) VALUES (?, ?, ?, ?, ?)",
                ((row.seq, row.signal, row.received_ns, len(row.body), row.body) for row in back),
            )
            db.executemany(
                "INSERT OR REPLACE INTO totals VALUES (?, ?, ?)",
                ((_series(key), total.time_ns, msgspec.msgpack.encode(total)) for key, total in totals.items()),
            )
            return int(db.execute("SELECT total(size) FROM requests").fetchone()[0])

        self.held = await self._database.run(work)

    async def set_aside(self, rows: Sequence[Row]) -> None:
        """A batch that cannot be worked on stays on disk and is not tried again."""

        def work(db: sqlite3.Connection) -> None:
            db.executemany("UPDATE requests SET batch = 2 WHERE seq = ?", ((row.seq,) for row in rows))

        await self._database.run(work)

    async def forget(self, before_ns: int, aside_before_ns: int) -> None:
        """The memories of what is long past, and what was set aside long ago."""

        def work(db: sqlite3.Connection) -> None:
            for table in ("notable", "totals", "came"):
                db.execute(f"DELETE FROM {table} WHERE at_ns < ?", (before_ns,))
            db.execute("DELETE FROM requests WHERE batch = 2 AND received_ns < ?", (aside_before_ns,))

        await self._database.run(work)

    async def close(self) -> None:
        await self._database.close()


def _rows(db: sqlite3.Connection, where: str, values: Sequence[object]) -> list[Row]:
    found = db.execute(f"SELECT seq, signal, received_ns, body FROM requests {where}", values).fetchall()
    return [Row(seq, Signal(signal), received_ns, body) for seq, signal, received_ns, body in found]


def _series(key: Key) -> bytes:
    return hashlib.blake2b(msgspec.msgpack.encode(key), digest_size=16).digest()
