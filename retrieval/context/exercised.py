"""Which suspect commits changed lines that a failing test ran (row A4, coverage overlap). Pure.

Only coverage that is a test's own counts, and only of tests that failed: what a whole run executes is nearly all.
Lines are compared in the suspect's own version of the file, so that a later commit may have moved them by a little.
"""

from collections import defaultdict

from retrieval.model import Case, Commit
from retrieval.model.paths import repo_path

NEARBY = 3  # lines that a later commit may have moved the code by
WHOLE, ELSEWHERE = 1.0, 0.3  # a changed line ran; another line of the changed file did


def exercised(case: Case) -> dict[str, float]:
    """Commit -> 0..1; commits that no failing test came near are not in it."""
    failed = {test.test_id for test in case.sources.tests if test.outcome in ("failed", "error")}
    ran: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for covered in case.sources.coverage:
        if covered.test_id and any(_same_test(covered.test_id, test) for test in failed):
            ran[covered.path] += covered.lines
    if not ran:
        return {}
    found = {suspect.commit.sha: _weight(suspect.commit, ran) for suspect in case.suspects}
    return {sha: weight for sha, weight in found.items() if weight}


def _same_test(covered: str, failed: str) -> bool:
    """`tests/test_a.py::TestB::test_c` of pytest is `tests.test_a.TestB::test_c` of JUnit's XML."""
    return _dotted(covered) == _dotted(failed)


def _dotted(test_id: str) -> str:
    return test_id.replace(".py::", ".").replace("::", ".").replace("/", ".")


def _weight(commit: Commit, ran: dict[str, list[tuple[int, int]]]) -> float:
    best = 0.0
    for change in commit.files:
        path = change.path if change.path in ran else repo_path(change.path, ran)
        if path is None:
            continue
        best = max(best, ELSEWHERE)
        for hunk in change.hunks:
            first, last = hunk.new_start - NEARBY, hunk.new_start + max(len(hunk.added), 1) - 1 + NEARBY
            if any(a <= last and b >= first for a, b in ran[path]):
                best = WHOLE
    return best
