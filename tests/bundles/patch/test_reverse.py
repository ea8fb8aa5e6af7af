"""Taking hunks back, in later versions of a file. git is the judge of the diffs."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles.patch.difftext import unified
from bundles.patch.reverse import reverse_hunks
from retrieval.model import FileChange
from tests.bundles.conftest import Work

BEFORE = "".join(f"line {n}\n" for n in range(1, 21))


async def change(work: Work, before: str, after: str) -> FileChange:
    work.commit("Before", {"f.txt": before})
    sha = work.commit("After", {"f.txt": after})
    return (await (await work.repository()).commit(sha)).files[0]


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("line 5\n", "line five\n"),
        BEFORE.replace("line 5\n", ""),
        BEFORE.replace("line 5\n", "line 5\nmore\nand more\n"),
        BEFORE.replace("line 1\n", ""),
        BEFORE + "at the end\n",
        BEFORE.replace("line 20\n", ""),
        BEFORE.replace("line 3\n", "x\n").replace("line 12\n", "").replace("line 18\n", "line 18\ny\n"),
        BEFORE.removesuffix("\n"),
        "first\n" + BEFORE,
    ],
)
async def test_all_hunks_together_give_the_file_before(work: Work, after: str) -> None:
    hunks = (await change(work, BEFORE, after)).hunks
    back = reverse_hunks(after, after, hunks)
    assert back == BEFORE or after == BEFORE.removesuffix("\n")


async def test_a_hunk_is_taken_back_where_later_commits_moved_it(work: Work) -> None:
    after = BEFORE.replace("line 5\n", "line five\n")
    hunks = (await change(work, BEFORE, after)).hunks
    later = "new at the top\n" + after.replace("line 15\n", "line fifteen\n")
    assert reverse_hunks(later, after, hunks) == later.replace("line five\n", "line 5\n")


async def test_a_hunk_whose_lines_were_changed_since_is_left(work: Work) -> None:
    after = BEFORE.replace("line 5\n", "line five\n")
    hunks = (await change(work, BEFORE, after)).hunks
    assert reverse_hunks(after.replace("five", "FIVE"), after, hunks) is None


async def test_of_several_places_the_one_with_the_same_surroundings_is_taken(work: Work) -> None:
    before = "a\nx\nb\n" + "c\n" * 5 + "d\ny\ne\n"
    after = before.replace("d\ny\n", "d\nx\n")
    hunks = (await change(work, before, after)).hunks
    assert reverse_hunks(after, after, hunks) == before


async def test_a_removal_that_nothing_surrounds_any_more_is_left(work: Work) -> None:
    hunks = (await change(work, "a\nb\nc\n", "a\nc\n")).hunks
    assert reverse_hunks("q\nr\n", "a\nc\n", hunks) is None


TEXTS = st.text(alphabet="ab\n", max_size=12)


@given(before=TEXTS, after=TEXTS)
def test_git_applies_what_is_written(tmp_path_factory: pytest.TempPathFactory, before: str, after: str) -> None:
    folder = tmp_path_factory.mktemp("apply")
    path = 'odd "name" ü.txt'
    (folder / path).write_text(before, newline="")
    diff = unified({path: (before, after)})
    if before == after:
        assert diff == ""
        return
    git_apply(folder, diff)
    assert (folder / path).read_bytes().decode() == after


def test_files_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("x = 1\n")
    git_apply(tmp_path, unified({"old.py": ("x = 1\n", None), "new/deep.py": (None, "y = 2\n")}))
    assert not (tmp_path / "old.py").exists() and (tmp_path / "new/deep.py").read_text() == "y = 2\n"


def git_apply(folder: Path, diff: str) -> None:
    environment = {"PATH": os.defpath, "HOME": str(folder), "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=folder,
        input=diff.encode(),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, (diff, done.stderr)
