"""Incidents that no error tells of: the thread dump or the heap report in the case folder does, by the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import dump_cases

RECEIPTS = [sys.executable, "-c", "from bot.cli import main; main()"]
SITE = "price/basket.py"


def triage(folder: Path, tmp_path: Path) -> dict[str, Any]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [*RECEIPTS, "triage", str(folder), "--json", "--no-sandbox", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_deadlock_in_a_dump_is_told_with_both_threads_and_the_commit_that_turned_the_locks(tmp_path: Path) -> None:
    commits = dump_cases.deadlock(tmp_path / "case")
    told = triage(tmp_path / "case", tmp_path)

    hypothesis, evidence = told["hypothesis"], {e["id"]: e for e in told["evidence"]}
    assert hypothesis["rule"] == "deadlock" and told["verdict"] == "supported"
    assert hypothesis["suspected_file"] == dump_cases.JAVA
    cited = [evidence[number]["quote"] for number in hypothesis["claims"][0]["citations"]]
    assert ["payer-1" in cited[0], "payer-2" in cited[1]] == [True, True]
    assert told["ranked"]["commits"][0]["id"] == commits["guilty"]
    assert told["ranked"]["functions"][0]["id"] == f"{dump_cases.JAVA}::Pay.checkout"


def test_growth_between_two_heap_reports_is_told_as_a_leak_with_both_reports(tmp_path: Path) -> None:
    commits = dump_cases.leak(tmp_path / "case")
    told = triage(tmp_path / "case", tmp_path)

    hypothesis, evidence = told["hypothesis"], {e["id"]: e for e in told["evidence"]}
    assert hypothesis["rule"] == "leak" and told["verdict"] == "supported"
    assert hypothesis["suspected_function"] == f"{SITE}::render"
    kinds = [evidence[number]["kind"] for number in hypothesis["claims"][0]["citations"]]
    assert kinds == ["profile", "profile"]
    assert told["ranked"]["commits"][0]["id"] == commits["guilty"]


@pytest.mark.parametrize("broken", ["no dump at all\n"])
def test_a_dump_that_cannot_be_read_is_named_and_changes_nothing(tmp_path: Path, broken: str) -> None:
    dump_cases.deadlock(tmp_path / "case")
    (tmp_path / "case" / "dumps" / "price" / "jstack.txt").write_text(broken)
    told = triage(tmp_path / "case", tmp_path)

    assert (told["hypothesis"] or {}).get("rule") != "deadlock"
    assert any("dumps/price/jstack.txt" in str(problem) for problem in told["problems"])
