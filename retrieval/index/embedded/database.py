"""The durable half of the store: one SQLite file in WAL mode. Blocking; the engine calls it from worker threads.

A document is one row: its filter columns, its packed postings, its record (MessagePack, deflated). Everything in memory
is made from these rows when the store is opened, so that there is nothing to keep in step and nothing to replay: what
was committed is there, what was not never was. `synchronous=NORMAL` keeps every commit when a process dies; a power cut
may take the last ones, never the file.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from retrieval.errors import Reason, StoreError
from retrieval.index.analyzer import VERSION
from retrieval.index.embedded.records import Prepared
from retrieval.index.embedded.table import Row
from retrieval.index.records import opened
from retrieval.model import Document

_T = TypeVar("_T")

SCHEMA = f"1.{VERSION}"  # of the tables, and of the analysis that filled them
_CHUNK = 500  # variables of one statement
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    rid INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL, service TEXT NOT NULL, environment TEXT NOT NULL, language TEXT NOT NULL,
    snapshot TEXT NOT NULL, acl TEXT NOT NULL, time INTEGER NOT NULL, expires INTEGER NOT NULL,
    length INTEGER NOT NULL, items INTEGER NOT NULL, text_key BLOB, postings BLOB NOT NULL, body BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS documents_by_text ON documents (text_key);
CREATE TABLE IF NOT EXISTS vectors (
    vid INTEGER PRIMARY KEY AUTOINCREMENT, text_key BLOB NOT NULL UNIQUE, used_ns INTEGER NOT NULL,
    vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS unembedded (rid INTEGER PRIMARY KEY);
CREATE TRIGGER IF NOT EXISTS document_deleted AFTER DELETE ON documents
    BEGIN DELETE FROM unembedded WHERE rid = OLD.rid; END;
CREATE TABLE IF NOT EXISTS aliases (name TEXT PRIMARY KEY, snapshot TEXT NOT NULL) WITHOUT ROWID;
"""
_COLUMNS = "kind, service, environment, language, snapshot, acl, time, expires, length, items"


class Database:
    """One connection that writes and one that reads; each is used by one thread at a time."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path = path
        self._reading = threading.Lock()
        with self._mapped():
            self._writer = self._connect(durable)
            try:
                self._writer.executescript(_TABLES)
                self._check_schema()
                self._reader = self._connect(durable)
            except (sqlite3.Error, StoreError):
                self._writer.close()
                raise

    def _connect(self, durable: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA busy_timeout=30000")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'NORMAL' if durable else 'OFF'}")
        return connection

    def _check_schema(self) -> None:
        self._writer.execute("INSERT OR IGNORE INTO meta VALUES ('schema', ?)", (SCHEMA,))
        (found,) = self._writer.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        if found != SCHEMA:
            raise StoreError(
                f"The store in {self._path.parent} has schema {found}; this version reads {SCHEMA}.",
                subject=str(self._path),
                remedy="Move the folder away and ingest again.",
            )

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """The one place where SQLite's errors become ours."""
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise StoreError("The store was closed meanwhile.", reason=Reason.UNAVAILABLE) from error
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"The store in {self._path.parent} cannot be used: {error}.",
                reason=Reason.UNAVAILABLE,
                subject=str(self._path),
                remedy="Check that the disk is local, writable and not full.",
            ) from error
        except sqlite3.Error as error:
            raise StoreError(
                f"The store in {self._path.parent} is damaged: {error}.",
                subject=str(self._path),
                remedy="Restore the folder from a backup, or move it away and ingest again.",
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._mapped():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise

    def use_model(self, model_id: str) -> None:
        """Forget the vectors of every other embedding model: cosines across models mean nothing."""
        with self._transaction() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = 'model'").fetchone()
            if row != (model_id,):
                connection.execute("DELETE FROM vectors")
                connection.execute(
                    "INSERT OR IGNORE INTO unembedded SELECT rid FROM documents WHERE text_key IS NOT NULL"
                )
                connection.execute("INSERT OR REPLACE INTO meta VALUES ('model', ?)", (model_id,))

    def put(self, prepared: Sequence[Prepared]) -> tuple[list[Row], list[int]]:
        """Write documents in one transaction; an unchanged one is left as it is. Returns the new rows and the row
        numbers that they replace."""
        rows: list[Row] = []
        replaced: list[int] = []
        with self._transaction() as connection:
            known = _by_id(connection, [p.document.id for p in prepared])
            for p in prepared:
                rid, body = known.get(p.document.id, (0, b""))
                if body == p.body:
                    continue
                if rid:
                    connection.execute("DELETE FROM documents WHERE rid = ?", (rid,))
                    replaced.append(rid)
                rows.append(_insert(connection, p))
        return rows, replaced

    def delete(self, rids: Iterable[int]) -> None:
        with self._transaction() as connection:
            connection.executemany("DELETE FROM documents WHERE rid = ?", ((rid,) for rid in rids))

    def forget_vectors(self, before_ns: int) -> int:
        """Delete vectors that no document refers to and that were last used before a time."""
        with self._transaction() as connection:
            return connection.execute(
                "DELETE FROM vectors WHERE used_ns < ? AND NOT EXISTS"
                " (SELECT 1 FROM documents WHERE documents.text_key = vectors.text_key)",
                (before_ns,),
            ).rowcount

    def alias(self, name: str, snapshot: str) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO aliases VALUES (?, ?)", (name, snapshot))

    def pending(self, limit: int) -> dict[bytes, Document]:
        """Texts without a vector, by key, each with a document that has it; those written last come first."""
        with self._mapped(), self._reading:
            rows = self._reader.execute(
                "SELECT text_key, body FROM unembedded JOIN documents USING (rid) ORDER BY rid DESC LIMIT ?", (limit,)
            ).fetchall()
        return {key: opened(body) for key, body in rows}

    def add_vectors(self, vectors: Sequence[tuple[bytes, int, bytes]]) -> list[tuple[int, int, bytes]]:
        """Write (text key, time, vector) triples; returns (rid, vid, vector) of every document that has such a text."""
        found: list[tuple[int, int, bytes]] = []
        with self._transaction() as connection:
            for key, used_ns, vector in vectors:
                statement = "INSERT INTO vectors (text_key, used_ns, vector) VALUES (?, ?, ?) RETURNING vid"
                (vid,) = connection.execute(statement, (key, used_ns, vector)).fetchone()
                rids = connection.execute("SELECT rid FROM documents WHERE text_key = ?", (key,)).fetchall()
                found.extend((rid, vid, vector) for (rid,) in rids)
            connection.executemany("DELETE FROM unembedded WHERE rid = ?", ((rid,) for rid, _, _ in found))
        return found

    def bodies(self, rids: Sequence[int]) -> dict[int, Document]:
        """The documents of some rows; rows that were deleted meanwhile are left out."""
        with self._mapped(), self._reading:
            return {
                rid: opened(body)
                for chunk in _chunks(rids)
                for rid, body in self._reader.execute(
                    f"SELECT rid, body FROM documents WHERE rid IN ({_marks(chunk)})", chunk
                ).fetchall()
            }

    def rids(self, ids: Sequence[str]) -> dict[str, int]:
        """Row numbers by document id."""
        with self._mapped(), self._reading:
            return {
                found: rid
                for chunk in _chunks(ids)
                for found, rid in self._reader.execute(
                    f"SELECT id, rid FROM documents WHERE id IN ({_marks(chunk)})", chunk
                ).fetchall()
            }

    def rows(self, size: int) -> Iterator[list[tuple[Row, bytes]]]:
        """Every document's columns and postings, in blocks of at most `size`, in the order of writing."""
        with self._mapped(), self._reading:
            cursor = self._reader.execute(
                f"SELECT rid, id, {_COLUMNS}, COALESCE(vid, -1), postings FROM documents"
                " LEFT JOIN vectors USING (text_key) ORDER BY rid"
            )
            while found := cursor.fetchmany(size):
                yield [(_row(values[:-1]), values[-1]) for values in found]

    def vectors(self, size: int) -> Iterator[list[tuple[int, bytes]]]:
        with self._mapped(), self._reading:
            cursor = self._reader.execute("SELECT vid, vector FROM vectors ORDER BY vid")
            while found := cursor.fetchmany(size):
                yield found

    def aliases(self) -> dict[str, str]:
        with self._mapped(), self._reading:
            return dict(self._reader.execute("SELECT name, snapshot FROM aliases").fetchall())

    def close(self) -> None:
        with self._reading:
            self._reader.close()
        self._writer.close()


def _insert(connection: sqlite3.Connection, p: Prepared) -> Row:
    document = p.document
    vid = -1
    if p.text_key is not None:
        used = "UPDATE vectors SET used_ns = MAX(used_ns, ?) WHERE text_key = ? RETURNING vid"
        vid = next(iter(connection.execute(used, (p.time, p.text_key)).fetchall()), (-1,))[0]
    columns = (
        document.id,
        document.kind,
        document.service,
        document.environment,
        document.language,
        document.snapshot,
        json.dumps(p.acl, ensure_ascii=False),
        p.time,
        p.expires,
        p.length,
        p.items,
    )
    (rid,) = connection.execute(
        f"INSERT INTO documents (id, {_COLUMNS}, text_key, postings, body)"
        f" VALUES ({_marks(columns)}, ?, ?, ?) RETURNING rid",
        (*columns, p.text_key, p.postings, p.body),
    ).fetchone()
    if p.text_key is not None and vid < 0:
        connection.execute("INSERT INTO unembedded VALUES (?)", (rid,))
    return _row((rid, *columns, vid))


def _row(values: Sequence[object]) -> Row:
    rid, found, kind, service, environment, language, snapshot, acl, *numbers = values
    texts = (found, kind, service, environment, language, snapshot)
    return Row(rid, *texts, _tags(str(acl)), *numbers)  # type: ignore[arg-type]


@lru_cache(maxsize=4_096)
def _tags(acl: str) -> tuple[str, ...]:
    return tuple(json.loads(acl))


def _by_id(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, tuple[int, bytes]]:
    return {
        found: (rid, body)
        for chunk in _chunks(ids)
        for found, rid, body in connection.execute(
            f"SELECT id, rid, body FROM documents WHERE id IN ({_marks(chunk)})", chunk
        ).fetchall()
    }


def _chunks(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for at in range(0, len(values), _CHUNK):
        yield values[at : at + _CHUNK]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
