"""The search for the commit, over histories of every shape."""

from collections.abc import Mapping
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bundles.bisect import bisect
from retrieval.model import Attempt, Bisect, Commit, ErrorSignature


def commit(sha: str, *parents: str) -> Commit:
    return Commit(repo="r", sha=sha, author="a", author_ns=0, committed_ns=0, subject=sha, parents=parents)


def attempt(sha: str, what: str) -> Attempt:
    outcome = {"good": "passed", "bad": "failed", "other": "failed"}.get(what, "error")
    return Attempt(commit=sha, outcome=outcome, matches_production=what == "bad")


async def search(commits: list[Commit], seen: Mapping[str, str], good: str = "g", bad: str = "") -> Bisect:
    async def run(sha: str) -> Attempt:
        return attempt(sha, seen[sha])

    return await bisect(run, commits, good=good, bad=bad or commits[-1].sha)


def line(length: int) -> list[Commit]:
    names = ["g", *(f"c{n:02}" for n in range(length))]
    return [commit(name, before) for before, name in pairwise(names)]


@given(length=st.integers(1, 40), data=st.data())
async def test_the_first_bad_commit_of_a_line_is_found_in_few_runs(length: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, length - 1))
    commits = line(length)
    seen = {"g": "good"} | {c.sha: "bad" if n >= first else "good" for n, c in enumerate(commits)}
    found = await search(commits, seen)
    assert found.culprit == commits[first].sha and not found.reason
    assert set(found.acquitted) == {c.sha for c in commits} - {found.culprit}
    assert len(found.tested) <= 2 + length.bit_length() + 1


@given(length=st.integers(2, 16), data=st.data())
async def test_with_commits_that_cannot_be_judged_nobody_innocent_is_convicted(
    length: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, length - 1))
    broken = data.draw(st.sets(st.integers(0, length - 2)))
    commits = line(length)
    seen = {"g": "good"}
    for n, one in enumerate(commits):
        seen[one.sha] = (
            data.draw(st.sampled_from(["error", "other"])) if n in broken else "bad" if n >= first else "good"
        )
    found = await search(commits, seen)
    assert found.culprit in (None, commits[first].sha)
    if found.culprit is None:
        assert found.reason and not found.acquitted
    else:
        parent = commits[first].parents[0]
        assert {t.commit: t.outcome for t in found.tested}[parent] == "passed"


async def test_neighbours_that_cannot_be_judged_are_counted() -> None:
    found = await search(line(4), {"g": "good", "c00": "good", "c01": "error", "c02": "error", "c03": "bad"})
    assert found.culprit is None and found.reason.endswith("cannot be judged: 2")


async def test_a_merged_branch_is_searched() -> None:
    commits = [
        commit("a", "g"), commit("x", "g"), commit("y", "x"), commit("m", "a", "y"), commit("b", "m"),
    ]  # fmt: skip
    seen = {"g": "good", "a": "good", "x": "good", "y": "bad", "m": "bad", "b": "bad"}
    assert (await search(commits, seen)).culprit == "y"


async def test_a_merge_that_breaks_what_both_sides_keep_is_convicted_itself() -> None:
    commits = [commit("a", "g"), commit("x", "g"), commit("m", "a", "x")]
    assert (await search(commits, {"g": "good", "a": "good", "x": "good", "m": "bad"})).culprit == "m"


async def test_a_test_that_fails_at_the_good_commit_convicts_nobody() -> None:
    found = await search(line(3), {"g": "bad", "c00": "bad", "c01": "bad", "c02": "bad"})
    assert found.culprit is None and "last good" in found.reason


async def test_a_test_that_passes_at_the_deployed_commit_convicts_nobody() -> None:
    found = await search(line(3), {"g": "good", "c00": "good", "c01": "good", "c02": "other"})
    assert found.culprit is None and "as in production" in found.reason


async def test_a_deployed_commit_outside_of_the_range_convicts_nobody() -> None:
    found = await search(line(2), {"g": "good", "z": "bad"}, bad="z")
    assert found.culprit is None and "not after" in found.reason


async def test_the_oldest_commits_base_has_to_pass() -> None:
    found = await search([commit("a", "elsewhere")], {"g": "good", "a": "bad", "elsewhere": "bad"}, bad="a")
    assert found.culprit is None and "before the oldest" in found.reason
    root = await search([commit("a")], {"g": "good", "a": "bad"}, bad="a")
    assert root.culprit is None


async def test_a_message_that_a_later_commit_rewords_does_not_hide_the_culprit() -> None:
    commits = line(6)

    async def run(sha: str) -> Attempt:
        at = 0 if sha == "g" else int(sha[1:]) + 1
        if at < 3:
            return attempt(sha, "good")
        told = ErrorSignature("AssessmentFailed", "not assessed" if at < 5 else "claim 1: not assessed")
        frames = ("claims.py::assess",) if at != 4 else ("claims.py::other",)
        return Attempt(
            commit=sha, outcome="failed", error_signature=told, frames=frames, matches_production=at >= 5
        )  # fmt: skip

    found = await bisect(run, commits, good="g", bad=commits[-1].sha)
    assert found.culprit == commits[2].sha
