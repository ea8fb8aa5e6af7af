"""The git repositories of a case folder."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from retrieval.ingest.intake import Intake
from retrieval.ingest.repositories import read_repositories

from .folders import reasons


def git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    (tree / "a.py").write_text("x = 1\n")
    git(tree, "add", "a.py")
    git(tree, "commit", "-q", "-m", "One")
    return tree


def read(case: Path, scratch: Path) -> tuple[dict[str, Path], list[str]]:
    intake = Intake()
    return asyncio.run(read_repositories(case, scratch, intake)), reasons(intake.problems())


def test_a_bundle_is_cloned_into_the_scratch(tmp_path: Path, work_tree: Path) -> None:
    (tmp_path / "case" / "repos").mkdir(parents=True)
    git(work_tree, "bundle", "create", "-q", str(tmp_path / "case" / "repos" / "shop.bundle"), "--all")
    found, problems = read(tmp_path / "case", tmp_path / "scratch")
    assert problems == []
    assert found["shop"].is_relative_to(tmp_path / "scratch")
    assert git(found["shop"], "rev-parse", "main") == git(work_tree, "rev-parse", "main")
    assert read(tmp_path / "case", tmp_path / "scratch") == (found, [])
    assert [p.suffix for p in (tmp_path / "scratch" / "repos").iterdir()] == [".git"]


def test_work_trees_and_bare_repositories_stay_where_they_are(tmp_path: Path, work_tree: Path) -> None:
    repos = tmp_path / "case" / "repos"
    repos.mkdir(parents=True)
    work_tree.rename(repos / "shop")
    git(repos, "clone", "-q", "--bare", "shop", "cart.git")
    found, problems = read(tmp_path / "case", tmp_path / "scratch")
    assert problems == []
    assert found == {"shop": repos / "shop", "cart": repos / "cart.git"}


def test_what_is_no_repository_is_reported_and_the_others_are_used(tmp_path: Path, work_tree: Path) -> None:
    repos = tmp_path / "case" / "repos"
    (repos / "empty").mkdir(parents=True)
    (repos / "broken.bundle").write_text("# v2 git bundle\nnonsense")
    (repos / "-option.bundle").write_text("x")
    (repos / "notes.txt").write_text("ignored")
    (repos / ".hidden").mkdir()
    work_tree.rename(repos / "shop")
    git(repos / "shop", "bundle", "create", "-q", str(repos / "shop.bundle"), "--all")
    found, problems = read(tmp_path / "case", tmp_path / "scratch")
    assert list(found) == ["shop"]
    assert len(problems) == 4
    told = "\n".join(problems)
    assert "repos/broken.bundle: is no git bundle that can be cloned" in told
    assert "repos/empty: is no git repository" in told
    assert "repos/-option.bundle: a repository's name may hold" in told
    assert "repos/shop.bundle: shop is there twice; repos/shop was used" in told
    assert str(tmp_path) not in told


def test_a_truncated_bundle_is_reported(tmp_path: Path, work_tree: Path) -> None:
    repos = tmp_path / "case" / "repos"
    repos.mkdir(parents=True)
    git(work_tree, "bundle", "create", "-q", str(repos / "shop.bundle"), "--all")
    data = (repos / "shop.bundle").read_bytes()
    (repos / "shop.bundle").write_bytes(data[: len(data) * 2 // 3])
    found, problems = read(tmp_path / "case", tmp_path / "scratch")
    assert found == {}
    assert "is no git bundle that can be cloned" in problems[0]


def test_a_case_without_repositories(tmp_path: Path) -> None:
    assert read(tmp_path, tmp_path / "scratch") == ({}, [])


def test_a_clone_that_takes_too_long_is_given_up(
    tmp_path: Path, work_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.ingest.repositories._CLONE_LIMIT_S", 0.0)
    (tmp_path / "case" / "repos").mkdir(parents=True)
    git(work_tree, "bundle", "create", "-q", str(tmp_path / "case" / "repos" / "shop.bundle"), "--all")
    found, problems = read(tmp_path / "case", tmp_path / "scratch")
    assert found == {}
    assert "took longer than 0 s" in problems[0]
    assert list((tmp_path / "scratch" / "repos").iterdir()) == []


def test_a_bundle_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "repos").mkdir()
    (tmp_path / "repos" / "shop.bundle").symlink_to(tmp_path / "absent")
    assert "repos/shop.bundle: can't be read" in read(tmp_path, tmp_path / "scratch")[1][0]
