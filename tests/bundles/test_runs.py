"""Trees, environments and the budget of runs; the plug-in that writes what a test did."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bundles.environment import Environments
from bundles.judge import Production
from bundles.runs import Budget, Runs, Test, lay_over, summarise
from bundles.sandbox import RunResult, Sandbox
from retrieval.model import ErrorSignature, ServiceInfo
from tests.bundles.conftest import Work
from tests.bundles.shop import ERROR, FRAMES, History, calling

CHAINED = """
import pytest

def inner():
    raise KeyError("k")

def outer():
    try:
        inner()
    except KeyError as error:
        raise ExceptionGroup("several", [ValueError("one")]) from error

def test_chain():
    outer()

def test_passes():
    assert outer is not None

@pytest.mark.skip
def test_skipped():
    pass

@pytest.fixture
def broken():
    raise OSError("no set-up")

def test_set_up(broken):
    pass
"""


@pytest.fixture
async def runs(
    work: Work, sandbox: Sandbox, environments: Environments, service: ServiceInfo
) -> AsyncIterator[tuple[Runs, History]]:
    history = History(work)
    async with sandbox.workspace() as folder:
        yield (
            Runs(
                await work.repository(),
                service,
                sandbox=sandbox,
                environments=environments,
                folder=folder,
                budget=Budget(),
            ),
            history,
        )


FAILS = calling('handle({"total": 10})')
TEST = Test(files=FAILS.files, command=FAILS.command, production=Production(signature=ERROR, frames=FRAMES))


@pytest.mark.sandbox
async def test_a_patch_is_run_without_touching_the_tree(runs: tuple[Runs, History]) -> None:
    run, history = runs
    mended = {"shop/app.py": "def handle(request):\n    return 42\n"}
    observed = await run.observe(TEST, history.deployed, mended, answers=True)
    assert observed.attempt.outcome == "passed" and observed.answers == (("handle", "42"),)
    plain = await run.observe(TEST, history.deployed)
    assert plain.attempt.matches_production and plain.crash_at == ("shop/price.py", 5) and plain.answers is None
    assert not (await run.tree(history.deployed) / "receipts_repro").exists()


@pytest.mark.sandbox
async def test_the_repositorys_own_tests_are_counted(runs: tuple[Runs, History]) -> None:
    run, history = runs
    own = await run.own_tests(history.deployed)
    assert (own.outcome, own.passed, own.failures) == ("passed", 1, ())
    broken = await run.own_tests(history.deployed, {"shop/app.py": None})
    assert broken.outcome == "failed" and broken.failures == ("tests/test_app.py",)


@pytest.mark.sandbox
async def test_what_cannot_be_run_is_an_attempt_with_the_reason(runs: tuple[Runs, History]) -> None:
    run, _ = runs
    attempt = await run.attempt(TEST, "f" * 40)
    assert attempt.outcome == "not_run" and "cannot be checked out" in attempt.reason


@pytest.mark.sandbox
async def test_the_plug_in_writes_chains_groups_and_set_up(runs: tuple[Runs, History]) -> None:
    run, history = runs
    path = "receipts_repro/test_chain.py"
    production = Production(signature=ErrorSignature("KeyError", "'other'"))
    test = Test(files={path: CHAINED}, command=("python", "-m", "pytest", "-q", path), production=production)
    attempt = await run.attempt(test, history.deployed)
    assert attempt.matches_production and attempt.error_signature == ErrorSignature("KeyError", "'k'")
    member = Test(
        files=test.files, command=test.command, production=Production(signature=ErrorSignature("ValueError", "one"))
    )
    assert (await run.attempt(member, history.deployed)).matches_production


def test_a_suite_in_figures() -> None:
    rows = [
        {"id": f"t{n}", "outcome": o, "exceptions": []} for n, o in enumerate(["passed", "failed", "error", "skipped"])
    ]
    report = {"tests": rows, "collection": [{"id": "tests/x.py", "message": "m"}]}
    own = summarise(RunResult(exit_code=1, files={"report.json": json.dumps(report).encode()}))
    assert (own.outcome, own.passed, own.failures) == ("failed", 1, ("t1", "t2", "tests/x.py"))
    assert summarise(RunResult(exit_code=137, limit="wall", timed_out=True)).outcome == "timeout"
    assert summarise(RunResult(exit_code=137, limit="memory")).outcome == "error"
    assert summarise(RunResult(exit_code=139)).outcome == "error"
    nothing = json.dumps({"tests": [], "collection": []}).encode()
    assert summarise(RunResult(exit_code=5, files={"report.json": nothing})).outcome == "not_run"


def test_laying_over_copies_nothing_out_of_the_tree(tmp_path: Path) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    (base / "kept").mkdir(parents=True)
    outside.mkdir()
    (base / "kept" / "a").write_text("a")
    (base / "gone").write_text("gone")
    (base / "link").symlink_to(outside)
    changes = {
        "kept/a": "changed",
        "gone": None,
        "new/deep/b": "b",
        "/abs": "x",
        "../up": "x",
        "link/through": "x",
        "link": "own",
    }
    laid = lay_over(base, changes, tmp_path / "laid")
    assert (laid / "kept/a").read_text() == "changed" and (base / "kept/a").read_text() == "a"
    assert not (laid / "gone").exists() and (base / "gone").exists()
    assert (laid / "new/deep/b").read_text() == "b"
    assert list(outside.iterdir()) == [] and not (tmp_path / "up").exists()
    assert (laid / "link").read_text() == "own" and (base / "link").is_symlink()
