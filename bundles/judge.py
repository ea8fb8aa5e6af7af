"""What a run shows: did the generated test fail, and as production did? Pure: a run's result in, an `Attempt` out.

A failure *matches production* when one exception of the chain that reached the test runner
  1. is the same error (`retrieval.model.signatures.same_error`: type, and message without its values), and
  2. began with what it began with in production, where that was wrapped in it, and
  3. has a compatible stack: its innermost frame in the application's own code is the function in which production
     crashed, or at least half of the shorter of both stacks (own frames, as path and function) is shared.
Where production recorded no frame of the application, 3 cannot be asked and 1 and 2 decide. A commit that cannot even
load the test is no failure but an `error`: it says nothing about the fault.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from bundles.sandbox import RunResult
from bundles.tidy import ROOT
from retrieval.model import Attempt, ErrorSignature
from retrieval.model.signatures import same_error, same_type

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")


class Raised(Struct, frozen=True, kw_only=True):
    """One exception of a run. `frames` are (file, function, line) of all code, outermost first."""

    type: str
    message: str
    frames: tuple[tuple[str, str, int], ...] = ()

    @property
    def signature(self) -> ErrorSignature:
        return ErrorSignature(self.type, self.message)


class Outcome(Struct, frozen=True, kw_only=True):
    """One test of a run; `outcome` is passed|failed|error|skipped. `answers`: what the functions returned that it
    called, as (name, repr), where that was asked for."""

    id: str
    outcome: str
    raised: tuple[Raised, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """What the runner's plugin wrote; `broken` are the files that could not be loaded, with the end of the reason."""

    tests: tuple[Outcome, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()


class Production(Struct, frozen=True, kw_only=True):
    """How it failed in production; `frames` are `path::function` of the application's own code, outermost first,
    `causes` the types that it wrapped at the bottom of its chain."""

    signature: ErrorSignature
    frames: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()


def read_report(files: Mapping[str, bytes]) -> Report | None:
    """The report in a run's files, those of several workers joined; None when there is none that can be read. It was
    written next to foreign code, so it is checked like any other input."""
    tests: list[Outcome] = []
    broken: list[tuple[str, str]] = []
    names = sorted(name for name in files if re.fullmatch(r"report(-\w+)?\.json", name))
    try:
        for name in names:
            data = json.loads(files[name])
            tests += [_outcome(row) for row in data["tests"]]
            broken += [(str(row["id"]), str(row["message"])) for row in data["collection"]]
    except (ValueError, KeyError, TypeError):
        return None
    if not names:
        return None
    return Report(tests=tuple(sorted(tests, key=lambda t: t.id)), broken=tuple(sorted(set(broken))))


def _outcome(row: Mapping[str, Any]) -> Outcome:
    raised = [
        Raised(
            type=str(error["type"]),
            message=str(error["message"]),
            frames=tuple((str(file), str(function), int(line)) for file, function, line in error["frames"]),
        )
        for error in row["exceptions"]
    ]
    answers = tuple((str(name), str(value)) for name, value in row.get("answers", []))
    return Outcome(id=str(row["id"]), outcome=str(row["outcome"]), raised=tuple(raised), answers=answers)


def judge(
    result: RunResult, *, commit: str, production: Production, overlay: Collection[str], log: str = ""
) -> Attempt:
    """One run of the generated test. `overlay` are the test's own files, whose frames are not the application's."""
    outcome, reason, test = _what_happened(result)
    if test is None or not test.raised:
        return Attempt(commit=commit, outcome=outcome, reason=reason, log=log)
    matching = _matching(test, production, overlay) if outcome == "failed" else []
    shown = (matching or list(test.raised))[0]
    return Attempt(
        commit=commit,
        outcome=outcome,
        error_signature=shown.signature,
        matches_production=bool(matching),
        frames=tuple(f"{path}::{function}" for path, function, _ in own_frames(shown, overlay)),
        causes=production.causes if matching else (),
        log=log,
        reason=reason,
    )


def _what_happened(result: RunResult) -> tuple[str, str, Outcome | None]:
    """(outcome, reason, the test that decides)."""
    if result.timed_out or result.limit == "cpu":
        return "timeout", "the run took longer than it may", None
    if result.limit:
        return "error", f"the run was stopped: it used more {result.limit} than it may", None
    report = read_report(result.files)
    if report is None:
        return "error", f"the test runner ended early (exit code {result.exit_code})", None
    failed = [test for test in report.tests if test.outcome == "failed"]
    if failed:
        return "failed", "", failed[0]
    if report.broken:
        return "error", f"the test cannot be loaded: {_last_line(report.broken[0][1])}", None
    errors = [test for test in report.tests if test.outcome == "error"]
    if errors:
        return "error", "the test could not be set up", errors[0]
    if any(test.outcome == "passed" for test in report.tests):
        return "passed", "", None
    return "error", "no test was run", None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    own = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    return _ADDRESS.sub("0x…", (own or lines or [""])[-1])[:200]


def _matching(test: Outcome, production: Production, overlay: Collection[str]) -> list[Raised]:
    if production.causes and not any(same_type(r.type, c) for r in test.raised for c in production.causes):
        return []
    return [raised for raised in test.raised if _matches(raised, production, overlay)]


def _matches(raised: Raised, production: Production, overlay: Collection[str]) -> bool:
    if not same_error(raised.signature, production.signature):
        return False
    theirs = [_place(frame) for frame in production.frames]
    ours = [(path, function) for path, function, _ in own_frames(raised, overlay)]
    if not theirs:
        return True
    if not ours:
        return False
    if ours[-1] == theirs[-1]:
        return True
    return 2 * len(set(ours) & set(theirs)) >= min(len(set(ours)), len(set(theirs)))


def _place(frame: str) -> tuple[str, str]:
    path, _, function = frame.partition("::")
    return path, function.rpartition(".")[2]


def own_frames(raised: Raised, overlay: Collection[str]) -> list[tuple[str, str, int]]:
    """(path, function, line) of the application's own code: below the root, not of the test, not of a library."""
    frames = []
    for file, function, line in raised.frames:
        path = file.removeprefix(ROOT)
        if file.startswith(ROOT) and path not in overlay and "/site-packages/" not in file:
            frames.append((path, function, line))
    return frames


def crash_line(result: RunResult, production: Production, overlay: Collection[str]) -> tuple[str, int] | None:
    """Path and line at which a matching failure was raised in the application's code."""
    _, _, test = _what_happened(result)
    for raised in _matching(test, production, overlay) if test else ():
        own = own_frames(raised, overlay)
        if own:
            return own[-1][0], own[-1][2]
    return None


def answers_of(result: RunResult) -> tuple[tuple[str, str], ...] | None:
    """What the calls of a test that passed gave back; None where it did not pass or nothing was recorded."""
    report = read_report(result.files)
    if report is None or report.broken or any(test.outcome != "passed" for test in report.tests):
        return None
    return tuple(answer for test in report.tests for answer in test.answers) or None
