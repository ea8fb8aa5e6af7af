"""Which patches are made of a convicted commit, in which order."""

from bundles.patch.agreement import agreement, mean_agreement
from bundles.patch.candidates import MOST, Candidate, Versions, candidates, is_test
from retrieval.model import Commit, ErrorSignature
from tests.bundles.conftest import Work

ERROR = ErrorSignature("ZeroDivisionError", "division by zero")
A = "import os\n\n\ndef f(x, n):\n    return x / n\n\n\ndef g():\n    return 1\n"
TEST = "def test_f():\n    pass\n"


async def versions(work: Work, before: dict[str, str], after: dict[str, str | None]) -> tuple[Commit, Versions]:
    old = work.commit("Before", dict(before))
    new = work.commit("A culprit\n\nWith a body", after)
    repository = await work.repository()

    async def texts(sha: str) -> dict[str, str]:
        return {path: (await repository.read(sha, path)).decode() for path in await repository.files(sha)}

    now = await texts(new)
    return await repository.commit(new), Versions(at_commit=now, deployed=now, before=await texts(old))


def strategies(found: list[Candidate]) -> list[str]:
    return [candidate.strategy for candidate in found]


async def test_parts_come_before_the_whole_and_repairs_after_it(work: Work) -> None:
    after = {
        "a.py": A.replace("import os", "import sys").replace("x / n", "x / (n - 1)").replace("return 1", "return 2"),
        "b.py": "y = 2\n",
        "tests/test_a.py": TEST.replace("pass", "assert True"),
        "README.md": "new\n",
    }
    before = {"a.py": A, "b.py": "y = 1\n", "tests/test_a.py": TEST, "README.md": "old\n"}
    commit, known = await versions(work, before, dict(after))
    found = candidates(commit, known, crash_at=("a.py", 5), error=ERROR, crash_source=known.deployed["a.py"].encode())
    assert strategies(found) == [
        "revert_hunk", "revert_hunk", "revert_hunk", "restore_function", "revert_file", "revert_file",
        "revert_commit", "revert_commit", "guard", "guard",
    ]  # fmt: skip
    assert found[0].changes == {"a.py": after["a.py"].replace("n - 1", "n")} or "x / n" in str(found[0].changes["a.py"])
    assert set(found[6].changes) == {"a.py", "b.py"} and set(found[7].changes) == {"a.py", "b.py", "tests/test_a.py"}
    assert found[8].guess and not found[9].guess
    assert commit.sha[:12] in found[0].rationale and '"A culprit"' in found[0].rationale


async def test_files_come_back_go_and_get_their_old_names(work: Work) -> None:
    values = "".join(f"x{n} = {n}\n" for n in range(20))
    before = {"gone.py": "a = 1\n", "old.py": values, "kept.py": "k = 1\n"}
    moved = values.replace("x19 = 19", "x19 = 0")
    commit, known = await versions(
        work, before, {"gone.py": None, "old.py": None, "new.py": moved, "added.py": "b = 1\n"}
    )
    whole = candidates(commit, known, crash_at=None, error=None)[-1]
    assert whole.strategy == "revert_commit"
    assert whole.changes == {
        "added.py": None,
        "gone.py": "a = 1\n",
        "new.py": None,
        "old.py": known.before["old.py"],
    }


async def test_what_was_changed_again_since_is_not_guessed(work: Work) -> None:
    commit, known = await versions(
        work, {"a.py": "x = 1\n", "n.py": ""}, {"a.py": "x = 2\n", "n.py": None, "m.py": "m = 1\n"}
    )
    later = Versions(at_commit=known.at_commit, deployed={"a.py": "x = 3\n", "m.py": "m = 2\n"}, before=known.before)
    assert [c.changes for c in candidates(commit, later, crash_at=None, error=None)] == [{"n.py": ""}]


async def test_what_is_no_program_any_more_is_not_tried(work: Work) -> None:
    commit, known = await versions(work, {"a.py": "if x:\n    y = 1\nz = 1\n"}, {"a.py": "y = 1\nz = 1\n"})
    deployed = Versions(at_commit=known.at_commit, deployed={"a.py": "y = 1\nz = 1\n"}, before=known.before)
    found = candidates(commit, deployed, crash_at=None, error=None)
    assert all(compile(str(c.changes["a.py"]), "a.py", "exec") for c in found) and len(found) == 1


async def test_there_are_never_too_many(work: Work) -> None:
    before = "\n\n".join(f"def f{n}(x):\n    return x / {n}\n" for n in range(1, 60))
    commit, known = await versions(work, {"a.py": before}, {"a.py": before.replace("x /", "x //")})
    found = candidates(commit, known, crash_at=("a.py", 2), error=ERROR, crash_source=before.encode())
    assert 0 < len(found) <= MOST


def test_without_a_culprit_only_the_crash_is_mended() -> None:
    empty = Versions(at_commit={}, deployed={}, before={})
    assert strategies(candidates(None, empty, crash_at=("a.py", 5), error=ERROR, crash_source=A.encode())) == ["guard"]
    assert candidates(None, empty, crash_at=None, error=None) == []


def test_tests_are_known_by_where_they_lie_and_what_they_are_called() -> None:
    assert all(map(is_test, ("tests/x.py", "a/test_b.py", "a/b_test.py", "conftest.py", "src/test/java/A.java")))
    assert not any(map(is_test, ("a/contest.py", "latest.py", "testing.py")))


def test_answers_agree_by_their_values() -> None:
    before = [("ask", '(200, b\'{"price": 4230, "days": 9, "fuel": 173}\')')]
    now = [("ask", '(200, b\'{"price": 4230, "days": 9, "fuel": 161, "form": "CN22"}\')')]
    worse = [("ask", '(200, b\'{"price": 2150, "days": 9, "fuel": 161}\')')]
    assert agreement(before, before) == 1
    assert 0 < (agreement(before, worse) or 0) < (agreement(before, now) or 0) < 1
    assert agreement(None, now) is None and agreement(before, None) is None and agreement([], now) is None
    assert mean_agreement([before, before, None], [before, None, now]) == 0.5
    assert mean_agreement([None], [now]) is None
