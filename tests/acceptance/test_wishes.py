"""A re-run with what a person asked for or answered (rows B8, E6), over a real case folder."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from bot.app import SystemClock
from bot.cli.triage import parse_alert
from bot.investigation import Investigator, Setting
from bot.material import from_folder
from bot.model import Rerun
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.model import Case
from tests import case_folder


async def run(folder: Path, out: Path, wish: Rerun | None) -> Case:
    alerts = parse_alert((folder / "alert.json").read_bytes(), "alertmanager")
    investigator = Investigator(from_folder(folder, throwaway_redactor()), Setting(clock=SystemClock(), bundles=out))
    told: list[str] = []

    async def progress(stage: str, known: str) -> None:
        told.append(stage)

    case, bundle = await investigator.run("inc-1", alerts, wish=wish, progress=progress)
    assert bundle is not None
    assert bundle.path.exists()
    assert told[0] == "read"
    assert told[-1] == "pack"
    return case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    case_folder.build(tmp_path / "case")
    return tmp_path / "case"


async def test_another_window_is_used(folder: Path, tmp_path: Path) -> None:
    usual = await run(folder, tmp_path, None)
    narrow = await run(folder, tmp_path, Rerun(user="U1", before="10m", after="5m"))
    assert usual.window is not None
    assert narrow.window is not None
    assert narrow.onset is not None
    assert narrow.window.from_ns == narrow.onset.at_ns - 600 * 10**9
    assert usual.window.from_ns < narrow.window.from_ns


async def test_as_of_an_earlier_time_the_onset_lies_no_later(folder: Path, tmp_path: Path) -> None:
    early_ns = (case_folder.ONSET_S - 600) * 10**9
    case = await run(folder, tmp_path, Rerun(user="U1", as_of_ns=early_ns))
    assert case.onset is not None
    assert case.onset.at_ns <= early_ns


async def test_another_service_comes_first(folder: Path, tmp_path: Path) -> None:
    path = folder / "logs" / "cart.jsonl"
    row = json.loads((folder / "logs" / "price.jsonl").read_text().splitlines()[-2])
    lines = []
    for n in range(6):
        at = case_folder.ONSET_S + 60 + n
        lines.append(
            json.dumps({**row, "ts": at, "level": "ERROR", "service": "cart", "message": "ValueError: no cart"})
        )
    path.write_text("\n".join(lines) + "\n")
    case = await run(folder, tmp_path, Rerun(user="U1", service="cart"))
    assert case.crashes[0].service == "cart"
    assert (await run(folder, tmp_path, None)).crashes[0].service == "price"


async def test_answers_reach_the_stages(folder: Path, tmp_path: Path) -> None:
    case = await run(folder, tmp_path, Rerun(user="U1", answers={"the body": "{}"}))
    assert case.options["answers"] == {"the body": "{}"}
    assert structs.asdict(case)["options"] == case.options
