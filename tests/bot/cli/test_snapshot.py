"""`receipts snapshot`: from building to the way back, and what a triage sees of it meanwhile."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.app import SystemClock
from bot.cli import main
from bot.cli.snapshot import built, evaluated
from bot.cli.triage import parse_alert
from bot.live import open_memory
from bot.metrics import Metrics
from bot.model import Rerun
from bot.settings import Settings
from bot.snapshots.book import read_book, write_book
from retrieval.index import open_index
from retrieval.model import Query

FIRING = {
    "status": "firing",
    "labels": {"alertname": "PoolExhausted", "service": "pay"},
    "annotations": {"summary": "connection pool exhausted"},
    "startsAt": "2026-11-01T10:00:00Z",
    "endsAt": "0001-01-01T00:00:00Z",
    "generatorURL": "",
    "fingerprint": "f1",
}
ALERT = json.dumps({"version": "4", "groupKey": "g", "status": "firing", "receiver": "r", "alerts": [FIRING]}).encode()


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECEIPTS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RECEIPTS_EMBEDDING__MODEL", "")
    return tmp_path


def settings(folder: Path) -> Settings:
    return Settings.model_validate(
        {"data": str(folder / "data"), "embedding": {"model": ""}, "sandbox": {"enabled": False}}
    )


def written(folder: Path, name: str, cause: str) -> Path:
    """A folder of knowledge: one postmortem."""
    place = folder / name / "postmortems"
    place.mkdir(parents=True)
    (place / "2026-01-pool.md").write_text(
        f"---\nservice: pay\ndate: 2026-01-02\n---\n# Connection pool exhausted\n\n## Root cause\n\n{cause}\n"
    )
    return folder / name


def run(*arguments: str) -> int:
    try:
        main(["snapshot", *arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def repository(folder: Path, name: str = "pay") -> None:
    """What `receipts ingest repo` keeps."""
    place = folder / "data" / "repos" / name
    place.mkdir(parents=True)
    (place / "pool.py").write_text("def borrow(size):\n    return size\n")
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=Ada", "-c", "user.email=ada@x.io", "commit", "-q", "-m", "Borrow from the pool"],
    ):
        subprocess.run(["git", "-C", str(place), *command], check=True)


def names(folder: Path) -> list[str]:
    return [s.id for s in read_book(folder / "data").snapshots]


def test_from_building_to_the_way_back(environ: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository(environ)
    first = written(environ, "first", "A leak in pool.py")
    assert run("build", str(first)) == 0
    (name,) = names(environ)
    assert "symbol documents" in capsys.readouterr().out
    assert run("publish", name) == 2
    assert "was not evaluated" in capsys.readouterr().err
    assert run("evaluate", name) == 0
    assert "empty hits 0.00, faithfulness 1.00" in capsys.readouterr().out
    assert run("publish", name) == 0
    assert run("list") == 0
    assert f"{name}  in force" in capsys.readouterr().out
    assert run("rollback") == 0
    assert read_book(environ / "data").active == "live"
    assert run("rollback") == 2


def test_the_same_content_is_the_same_snapshot(environ: Path) -> None:
    folder = written(environ, "first", "A leak")
    assert run("build", str(folder)) == 0
    assert run("build", str(folder)) == 0
    assert len(names(environ)) == 1
    assert run("build", str(written(environ, "second", "Another leak"))) == 0
    assert len(names(environ)) == 2


def test_a_probe_that_finds_nothing_keeps_it_out(environ: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("build", str(written(environ, "first", "A leak"))) == 0
    (name,) = names(environ)
    probes = environ / "probes.yaml"
    probes.write_text("- zzz\n- yyy\n")

    assert run("evaluate", name, "--probes", str(probes)) == 1
    assert "found nothing: zzz" in capsys.readouterr().err
    assert run("publish", name) == 2


def test_nothing_to_build_from_is_said(environ: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("build") == 2
    assert "nothing to build" in capsys.readouterr().err


async def documents(folder: Path) -> Mapping[str, int]:
    index = await open_index(folder / "data" / "store")
    try:
        return {n: await index.count(Query(acl=("public",), snapshot=n)) for n in names(folder)}
    finally:
        await index.close()


async def test_what_nobody_can_go_back_to_is_removed(environ: Path) -> None:
    for number in range(6):
        snapshot = await built(settings(environ), [written(environ, f"k{number}", f"Cause number {number}")])
        await evaluated(settings(environ), snapshot.id, None)
        write_book(environ / "data", read_book(environ / "data").published(snapshot.id))

    held = await documents(environ)
    assert len(held) == 5
    assert all(held.values())


async def test_one_triage_sees_one_snapshot_and_the_next_one_the_new(environ: Path) -> None:
    """A running server follows a switch; what has begun ends with what it began with."""
    data = environ / "data"
    made = []
    for name, cause in (("old", "Cause the old one"), ("new", "Cause the new one")):
        snapshot = await built(settings(environ), [written(environ, name, cause)])
        made.append((await evaluated(settings(environ), snapshot.id, None)).id)
    old, new = made
    write_book(data, read_book(data).published(old))
    live = await open_memory(settings(environ), SystemClock(), Metrics())
    assert live.close is not None
    alerts = parse_alert(ALERT, "alertmanager")

    async def said(wish: Rerun | None = None, *, switch: str = "") -> str:
        async def progress(stage: str, known: str) -> None:
            if switch and stage == "context":
                write_book(data, read_book(data).published(switch))

        case, _ = await live.triage.run("inc-1", alerts, wish=wish, progress=progress)
        return " ".join(section for p in case.sources.postmortems for section in str(p).split("\n")) + str(
            [problem.reason for problem in case.sources.problems]
        )

    assert "the old one" in await said(switch=new)
    assert "the new one" in await said()
    assert "the old one" in await said(Rerun(user="U1", snapshot=old))
    assert "no such snapshot" in await said(Rerun(user="U1", snapshot="s-unknown"))
    write_book(data, read_book(data).rolled_back())
    assert "the old one" in await said()
    await live.close()
