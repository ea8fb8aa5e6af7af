"""When is a failing test production's failure?"""

import json

import pytest

from bundles.judge import Production, answers_of, crash_line, judge, read_report
from bundles.sandbox import RunResult
from retrieval.model import Attempt, ErrorSignature

TEST = "receipts_repro/test_x.py"
FRAMES = [
    [f"/repo/{TEST}", "test_x", 9],
    ["/usr/local/lib/python3.11/dist-packages/flask/app.py", "dispatch", 800],
    ["/repo/shop/app.py", "total", 20],
    ["/repo/shop/price.py", "discount", 7],
]
PRODUCTION = Production(
    signature=ErrorSignature("AttributeError", "'NoneType' object has no attribute 'upper'"),
    frames=("shop/app.py::total", "shop/price.py::Price.discount"),
)


def error(**changes: object) -> dict[str, object]:
    return {
        "type": "AttributeError",
        "message": "'NoneType' object has no attribute 'upper'",
        "frames": FRAMES,
        **changes,
    }


def run(*exceptions: dict[str, object], outcome: str = "failed", **more: object) -> RunResult:
    report = {
        "tests": [{"id": f"{TEST}::test_x", "outcome": outcome, "exceptions": list(exceptions)}],
        "collection": [],
    }
    return RunResult(exit_code=1, files={"report.json": json.dumps({**report, **more}).encode()})


def judged(result: RunResult, production: Production = PRODUCTION) -> Attempt:
    return judge(result, commit="c", production=production, overlay={TEST})


def test_the_same_error_on_the_same_stack_is_productions() -> None:
    attempt = judged(run(error()))
    assert attempt.outcome == "failed" and attempt.matches_production
    assert attempt.error_signature == PRODUCTION.signature
    assert attempt.frames == ("shop/app.py::total", "shop/price.py::discount")
    assert crash_line(run(error()), PRODUCTION, {TEST}) == ("shop/price.py", 7)


@pytest.mark.parametrize(
    "other",
    [
        error(type="TypeError"),
        error(message="'NoneType' object has no attribute 'lower'"),
        error(frames=[FRAMES[0]]),
        error(frames=[["/repo/other/place.py", "f", 1], ["/repo/other/thing.py", "g", 2]]),
    ],
)
def test_another_type_message_or_stack_is_not(other: dict[str, object]) -> None:
    attempt = judged(run(other))
    assert attempt.outcome == "failed" and not attempt.matches_production
    assert crash_line(run(other), PRODUCTION, {TEST}) is None


def test_a_cause_that_is_productions_counts() -> None:
    attempt = judged(run(error(type="shop.errors.Unavailable", message="sorry"), error()))
    assert attempt.matches_production and attempt.error_signature == PRODUCTION.signature


def test_half_of_the_stack_is_enough_when_the_innermost_function_was_renamed() -> None:
    renamed = error(frames=[*FRAMES[:3], ["/repo/shop/price.py", "rebate", 7]])
    assert judged(run(renamed)).matches_production


def test_values_in_the_message_do_not_matter() -> None:
    production = Production(signature=ErrorSignature("KeyError", "'order-17'"), frames=())
    assert judged(run(error(type="KeyError", message="'order-99'")), production).matches_production


@pytest.mark.parametrize(
    ("result", "outcome", "reason"),
    [
        (RunResult(exit_code=137, timed_out=True, limit="wall"), "timeout", "longer than it may"),
        (RunResult(exit_code=152, limit="cpu"), "timeout", "longer than it may"),
        (RunResult(exit_code=137, limit="memory"), "error", "memory"),
        (RunResult(exit_code=139), "error", "ended early (exit code 139)"),
        (RunResult(exit_code=0, files={"report.json": b"[]"}), "error", "ended early"),
        (RunResult(exit_code=0, files={"report.json": b"\xff"}), "error", "ended early"),
        (run(outcome="passed"), "passed", ""),
        (run(outcome="skipped"), "error", "no test was run"),
        (run(error(), outcome="error"), "error", "could not be set up"),
    ],
)
def test_other_ends_are_told_apart(result: RunResult, outcome: str, reason: str) -> None:
    attempt = judged(result)
    assert attempt.outcome == outcome and reason in attempt.reason and not attempt.matches_production


def test_a_test_that_cannot_be_loaded_is_an_error_with_its_last_line() -> None:
    broken = [
        {"id": TEST, "message": "x.py:1: in <module>\n    import y\nE   ModuleNotFoundError: No module named 'y'\n"}
    ]
    result = RunResult(exit_code=2, files={"report.json": json.dumps({"tests": [], "collection": broken}).encode()})
    assert judged(result).reason.endswith("ModuleNotFoundError: No module named 'y'")


def test_reports_of_several_workers_are_joined() -> None:
    rows = [json.dumps({"tests": [{"id": i, "outcome": "passed", "exceptions": []}], "collection": []}) for i in "ba"]
    report = read_report({"report-gw0.json": rows[0].encode(), "report-gw1.json": rows[1].encode(), "other": b""})
    assert report is not None and [test.id for test in report.tests] == ["a", "b"]


def test_answers_are_those_of_a_test_that_passed() -> None:
    rows = [{"id": "t", "outcome": "passed", "exceptions": [], "answers": [["ask", "(200, b'ok')"]]}]
    files = {"report.json": json.dumps({"tests": rows, "collection": []}).encode()}
    assert answers_of(RunResult(exit_code=0, files=files)) == (("ask", "(200, b'ok')"),)
    assert answers_of(run(error())) is None and answers_of(RunResult(exit_code=1)) is None


def test_a_wrapped_error_has_to_begin_with_what_it_began_with_in_production() -> None:
    wrapped = Production(signature=PRODUCTION.signature, frames=PRODUCTION.frames, causes=("ZeroDivisionError",))
    same = run(error(), error(type="builtins.ZeroDivisionError", message="division by zero"))
    other = run(error(), error(type="ValueError", message="abc"))
    assert judged(same, wrapped).matches_production
    assert judged(same, wrapped).causes == ("ZeroDivisionError",)
    assert not judged(other, wrapped).matches_production
    assert judged(other, wrapped).causes == ()
    assert crash_line(same, wrapped, {TEST}) == ("shop/price.py", 7)
    assert crash_line(other, wrapped, {TEST}) is None
