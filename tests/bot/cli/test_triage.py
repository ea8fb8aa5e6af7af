"""What `receipts triage` says when it is given what it cannot use: one line, the thing and the remedy, exit code 2."""

import json
import os
from pathlib import Path

import pytest

from bot.cli import main
from tests import case_folder


@pytest.fixture
def case(tmp_path: Path) -> Path:
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "alert.json").write_text(json.dumps(case_folder.alert()))
    return folder


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["triage", *map(str, arguments)])
    told = capsys.readouterr()
    assert ended.value.code == 2
    assert told.out == ""
    assert told.err.startswith("receipts: ")
    assert told.err.count("\n") == 1
    return told.err


def test_a_folder_that_cannot_be_written_is_said_before_the_work(
    case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert f"--out {tmp_path / 'file'}: File exists (give another folder)" in refused(
        capsys, case, "--out", tmp_path / "file"
    )
    assert "--out /proc/nope: " in refused(capsys, case, "--out", "/proc/nope")


def test_a_pipe_in_place_of_the_alert_is_not_waited_for(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (case / "alert.json").unlink()
    os.mkfifo(case / "alert.json")
    assert "is no file" in refused(capsys, case)


def test_why_no_alert_can_be_read_is_said(case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = case_folder.alert()
    body["alerts"] = [{"labels": {"alertname": "x"}, "status": "firing", "startsAt": "yesterday"}]
    (case / "alert.json").write_text(json.dumps(body))
    assert "startsAt" in refused(capsys, case, "--out", tmp_path / "out")


def test_names_of_files_cannot_act_in_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in refused(capsys, tmp_path / "\x1b[31mred\x1b[0m")


def test_what_could_not_be_used_is_named_and_the_rest_is_used(
    case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (case / "deploys.jsonl").write_text('{"cut": "of\n' * 20)
    (case / "repos").mkdir()
    (case / "repos" / "web").mkdir()
    os.mkfifo(case / "repos" / "shop.bundle")
    main(["triage", str(case), "--json", "--no-sandbox", "--out", str(tmp_path / "out")])
    told = capsys.readouterr()
    answer = json.loads(told.out)
    assert "22 unreadable records" in answer["looked_at"]
    assert len(answer["problems"]) == 22
    assert answer["problems"][0]["source"] == "deploys.jsonl:1"
    assert "deploys.jsonl:10: is no JSON" in told.err
    assert told.err.splitlines()[-1] == "and 12 more; --json lists them"
