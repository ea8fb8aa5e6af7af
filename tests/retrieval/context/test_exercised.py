"""Which commits a failing test's coverage comes near."""

import pytest
from msgspec.structs import replace

from retrieval.context.exercised import ELSEWHERE, WHOLE, exercised
from retrieval.model import Case, FileChange, FileCoverage, Hunk, TestResult
from retrieval.ranking.culprits import rank_commits
from tests import building as b

TEST = "tests/test_format.py::test_none"


def case(test_id: str, lines: tuple[tuple[int, int], ...], outcome: str = "failed") -> Case:
    """The guilty commit changed lines 40 to 41 of `price/format.py`."""
    made = b.a_case()
    hunk = Hunk(old_start=40, old_lines=2, new_start=40, new_lines=2, added=("x", "y"))
    changed = tuple(
        replace(
            s, commit=replace(s.commit, files=(FileChange(path="price/format.py", status="modified", hunks=(hunk,)),))
        )
        if s.commit.sha == b.GUILTY
        else s
        for s in made.suspects
    )
    sources = replace(
        made.sources,
        coverage=(FileCoverage(path="price/format.py", test_id=test_id, lines=lines),),
        tests=(TestResult(test_id="tests.test_format::test_none", outcome=outcome),),
    )
    return replace(made, sources=sources, suspects=changed)


def test_a_commit_whose_lines_the_failing_test_ran_counts_whole() -> None:
    assert exercised(case(TEST, ((30, 60),)))[b.GUILTY] == WHOLE


def test_a_commit_in_another_part_of_a_file_that_it_ran_counts_less() -> None:
    assert exercised(case(TEST, ((1, 9),)))[b.GUILTY] == ELSEWHERE


@pytest.mark.parametrize(
    ("test_id", "outcome"), [("", "failed"), (TEST, "passed"), ("tests/test_b.py::test_b", "failed")]
)
def test_only_the_coverage_of_a_test_that_failed_counts(test_id: str, outcome: str) -> None:
    assert exercised(case(test_id, ((30, 60),), outcome)) == {}


def test_the_ranking_puts_what_the_failing_test_ran_higher() -> None:
    near, far = case(TEST, ((30, 60),)), case("", ((30, 60),))
    ranked = [rank_commits(c, None, None, ())[b.GUILTY] for c in (near, far)]
    assert ranked[0] == pytest.approx(ranked[1] + 0.15)
