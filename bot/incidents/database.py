"""A SQLite file that holds state: WAL, synchronous=FULL, so that what was acknowledged survives a power cut.

One connection, used by one thread of its own: transactions are serial by construction and the event loop never waits
for the disk.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from retrieval.errors import Reason, StoreError

T = TypeVar("T")
VERSION = 1
SCHEMA = """
CREATE TABLE deliveries (
  id TEXT PRIMARY KEY, source TEXT NOT NULL, received_ns INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL,
  state TEXT NOT NULL DEFAULT 'received', reason TEXT NOT NULL DEFAULT '');
CREATE INDEX deliveries_open ON deliveries (received_ns) WHERE state = 'received';

CREATE TABLE dead_letters (
  id INTEGER PRIMARY KEY, delivery_id TEXT NOT NULL, source TEXT NOT NULL, raw TEXT NOT NULL, reason TEXT NOT NULL,
  received_ns INTEGER NOT NULL);

CREATE TABLE incidents (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, opened_ns INTEGER NOT NULL, closed_ns INTEGER, last_ns INTEGER NOT NULL,
  updated_ns INTEGER NOT NULL, status TEXT NOT NULL, stage TEXT NOT NULL DEFAULT '', known TEXT NOT NULL DEFAULT '',
  revision INTEGER NOT NULL DEFAULT 1, shown INTEGER NOT NULL DEFAULT 0, concluded INTEGER NOT NULL DEFAULT 0,
  delivered INTEGER NOT NULL DEFAULT 0, refired INTEGER NOT NULL DEFAULT 0, seconds REAL NOT NULL DEFAULT 0,
  changed TEXT NOT NULL DEFAULT '', wish TEXT NOT NULL DEFAULT '', result TEXT, bundle TEXT);
CREATE INDEX incidents_unshown ON incidents (opened_ns) WHERE shown < revision OR delivered < concluded;

CREATE TABLE groups (
  key TEXT NOT NULL, incident_id TEXT NOT NULL REFERENCES incidents, truncated INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (key, incident_id));
CREATE INDEX groups_incident ON groups (incident_id);

CREATE TABLE episodes (
  number INTEGER PRIMARY KEY, incident_id TEXT NOT NULL REFERENCES incidents, source TEXT NOT NULL,
  fingerprint TEXT NOT NULL, starts_ns INTEGER NOT NULL, status TEXT NOT NULL, last_ns INTEGER NOT NULL,
  about TEXT NOT NULL, alert TEXT NOT NULL, UNIQUE (source, fingerprint, starts_ns, incident_id));
CREATE INDEX episodes_incident ON episodes (incident_id, about);

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY, incident_id TEXT NOT NULL REFERENCES incidents, dedupe TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'ready', run_at_ns INTEGER NOT NULL, lease_ns INTEGER NOT NULL DEFAULT 0,
  owner TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX jobs_once ON jobs (dedupe) WHERE state = 'ready';
CREATE INDEX jobs_open ON jobs (run_at_ns) WHERE state IN ('ready', 'running');

CREATE TABLE ledger (
  incident_id TEXT NOT NULL, part TEXT NOT NULL, channel TEXT NOT NULL, ts TEXT NOT NULL, digest TEXT NOT NULL,
  revision INTEGER NOT NULL, PRIMARY KEY (incident_id, part));
CREATE INDEX ledger_message ON ledger (channel, ts);

CREATE TABLE feedback (
  incident_id TEXT NOT NULL, user TEXT NOT NULL, verdict TEXT NOT NULL, commit_sha TEXT NOT NULL,
  at_ns INTEGER NOT NULL, PRIMARY KEY (incident_id, user));
CREATE TABLE answers (
  incident_id TEXT NOT NULL, what TEXT NOT NULL, user TEXT NOT NULL, value TEXT NOT NULL, at_ns INTEGER NOT NULL,
  PRIMARY KEY (incident_id, what));
"""


class Database:
    """Use `open`; every method raises StoreError when the file cannot be used."""

    def __init__(self, path: Path, schema: str = SCHEMA, version: int = VERSION) -> None:
        self._path = path
        self._schema = schema
        self._version = version
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="state")
        self._connection: sqlite3.Connection | None = None

    @classmethod
    async def open(cls, path: Path, schema: str = SCHEMA, version: int = VERSION) -> "Database":
        """The file at `path`, created when absent with the tables of `schema`.

        Raises: StoreError (not a database, written by a newer version, not writable).
        """
        database = cls(path, schema, version)
        try:
            await database._call(database._connect)
        except StoreError:
            database._thread.shutdown(wait=False)
            raise
        return database

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """`work` in one write transaction: all of it or nothing, durable when this returns."""
        return await self._call(lambda: self._transaction(work))

    async def close(self) -> None:
        await self._call(self._disconnect)
        self._thread.shutdown(wait=True)

    async def _call(self, work: Callable[[], T]) -> T:
        # Shielded: a cancelled request must not leave a transaction half awaited; the thread finishes it either way.
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, self._mapped, work))

    def _mapped(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.Error as error:
            full = "full" in str(error) or "disk I/O" in str(error)
            raise StoreError(
                f"{self._path}: {error}",
                reason=Reason.UNAVAILABLE if full else Reason.CORRUPT,
                subject=str(self._path),
                remedy="check that the disk has space and that the file was written by this program",
            ) from error

    def _connect(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=30)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA foreign_keys=ON")
            self._migrate(connection)
        except (sqlite3.Error, StoreError):
            connection.close()
            raise
        self._connection = connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found > self._version:
            raise StoreError(f"{self._path}: written by a newer version", subject=str(self._path), remedy="upgrade")
        if found == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {self._schema} PRAGMA user_version = {self._version}; COMMIT;")

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection
        if connection is None:
            raise StoreError(f"{self._path}: closed", subject=str(self._path))
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
