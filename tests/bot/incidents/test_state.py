"""The file that holds the state: what it refuses, what it keeps, what the ledger remembers."""

import math
import sqlite3
from pathlib import Path

import pytest

from bot.incidents import conclusions
from bot.incidents.database import Database
from bot.incidents.desk import Desk
from bot.incidents.ledger import SqliteLedger
from bot.model import BundleRef, Posted
from retrieval.errors import Reason, StoreError
from retrieval.model import (
    Case,
    CaseSources,
    Commit,
    CrashGroup,
    Deploy,
    ErrorSignature,
    Evidence,
    FileChange,
    Hypothesis,
    LogRecord,
    RankedItem,
    Rankings,
    Suspect,
    Symbol,
    Verdict,
)
from tests.bot.incidents.world import alert, world


async def test_a_file_that_is_no_database_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"not a database at all, whatever it is" * 100)

    with pytest.raises(StoreError, match=r"state\.db") as caught:
        await Database.open(tmp_path / "state.db")
    assert caught.value.reason is Reason.CORRUPT
    assert caught.value.remedy


async def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(StoreError, match="newer version"):
        await Database.open(tmp_path / "state.db")


async def test_a_folder_that_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        await Database.open(tmp_path / "absent" / "state.db")


async def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def half(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO feedback VALUES ('i', 'u', 'right', '', 1)")
        raise KeyError("oops")

    database = await Database.open(tmp_path / "state.db")
    with pytest.raises(KeyError):
        await database.run(half)
    rows = await database.run(lambda db: db.execute("SELECT * FROM feedback").fetchall())
    await database.close()

    assert rows == []


async def test_it_is_durable_by_its_pragmas_and_opens_again(tmp_path: Path) -> None:
    for _ in range(2):
        database = await Database.open(tmp_path / "state.db")
        found = await database.run(
            lambda db: (
                db.execute("PRAGMA journal_mode").fetchone()[0],
                db.execute("PRAGMA synchronous").fetchone()[0],
            )
        )
        await database.close()

    assert found == ("wal", 2)


async def test_a_closed_state_says_so(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "state.db")
    await database.close()

    with pytest.raises(RuntimeError):
        await database.run(lambda db: None)


async def test_the_ledger_remembers_what_was_intended_and_what_was_sent(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "state.db")
    ledger = SqliteLedger(database)
    wanted = Posted(incident_id="i", part="root", channel="C1", digest="d", revision=3)

    await ledger.intend(wanted)
    assert await ledger.part("i", "root") == wanted
    assert await ledger.find("C1", "") is None

    sent = Posted(incident_id="i", part="root", channel="C1", ts="1.2", digest="d", revision=3)
    await ledger.sent(sent)
    await ledger.intend(Posted(incident_id="i", part="bundle", channel="C1", digest="x"))

    assert [posted.part for posted in await ledger.parts("i")] == ["bundle", "root"]
    assert await ledger.find("C1", "1.2") == "i"
    assert await ledger.find("C2", "1.2") is None
    assert await ledger.part("i", "patch") is None
    await database.close()


async def test_the_latest_of_a_channel_is_the_one_that_opened_last_there(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        ledger = SqliteLedger(here.database)
        desk = Desk(here.records, here.clock, lambda _: None)
        for name, channel in (("A", "C1"), ("B", "C1"), ("C", "C2")):
            await here.send(alert(name, group=name))
            incident = (await here.incidents())[-1]
            await ledger.sent(Posted(incident_id=incident.incident_id, part="root", channel=channel, ts=name))

        assert await desk.latest("C1") == "inc-2"
        assert await desk.latest("C2") == "inc-3"


def big_case() -> Case:
    commit = Commit(
        repo="r", sha="a" * 40, author="A", author_ns=1, committed_ns=2, subject="s",
        files=(FileChange(path="p", status="modified"),),
    )  # fmt: skip
    signature = ErrorSignature("ValueError", "x")
    deploy = Deploy(service="s", git_sha="a", started_ns=1)
    return Case(
        incident_id="i",
        alerts=(alert(),),
        sources=CaseSources(logs=(LogRecord(time_ns=1, body="b"),), repos={"r": Path("/somewhere")}, present=("logs",)),
        suspects=(Suspect(commit=commit, service="s", deploy=deploy, reached_ns=1),),
        symbols=(Symbol(symbol_id="p::f", language="python", kind="function", path="p", name="f", qualname="f",
                        start_line=1, end_line=2),),
        crashes=(CrashGroup(key="k", service="s", signature=signature, logs=(LogRecord(time_ns=1, body="b"),)),),
        evidence=(Evidence(id="E1", artifact_id="a", kind="log", source="l:1", sha256="0", quote="q\ud800", why="w"),),
        hypotheses=(Hypothesis(rule="r", failure_mode="crash", summary="s", suspected_commit="a" * 40),),
        rankings=Rankings(services=(RankedItem("s", 1.0),)),
        verdict=Verdict.LEAD,
        timings_ms={"read": math.inf},
        options={"path": Path("x")},
    )  # fmt: skip


def test_a_kept_case_has_no_telemetry_and_survives_the_way_to_disk_and_back() -> None:
    slim = conclusions.slim(big_case())
    back = conclusions.decode(conclusions.encode(slim))

    assert (slim.sources.logs, slim.sources.repos, slim.symbols, slim.crashes[0].logs) == ((), {}, (), ())
    assert slim.suspects[0].commit.files == ()
    assert (back.evidence, back.rankings, back.verdict) == (slim.evidence, slim.rankings, Verdict.LEAD)
    assert back.timings_ms == {"read": math.inf}
    assert back.options == {"path": "x"}
    assert conclusions.encode(back) == conclusions.encode(slim)


def test_a_repository_path_of_a_case_survives_too() -> None:
    case = Case(incident_id="i", alerts=(), sources=CaseSources(repos={"r": Path("/x")}))

    assert conclusions.decode(conclusions.encode(case)).sources.repos == {"r": Path("/x")}


def test_a_bundle_moves_with_the_data_folder(tmp_path: Path) -> None:
    inside = BundleRef(path=tmp_path / "old" / "bundles" / "b.zip", sha256="0", size=1)
    outside = BundleRef(path=Path("/elsewhere/b.zip"), sha256="0", size=1)

    kept = conclusions.encode_bundle(inside, tmp_path / "old")

    assert conclusions.decode_bundle(kept, tmp_path / "new").path == tmp_path / "new" / "bundles" / "b.zip"
    away = conclusions.encode_bundle(outside, tmp_path)
    assert conclusions.decode_bundle(away, tmp_path).path == Path("/elsewhere/b.zip")


def test_what_a_second_conclusion_changed_is_one_line() -> None:
    first = Case(incident_id="i", alerts=())
    second = big_case()

    assert conclusions.changed(None, second) == ""
    assert conclusions.changed(second, second) == "same conclusion as before"
    assert conclusions.changed(first, second) == (
        "verdict insufficient_evidence → lead; commit none → aaaaaaaaaa; failure mode none → crash"
    )
