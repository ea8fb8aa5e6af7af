"""A small service with a history in real git, and a prepared environment that needs no network."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundles.environment import Environments
from bundles.sandbox import Sandbox, SandboxSettings
from retrieval.code.git import GitRepository, open_repository
from retrieval.model import ServiceInfo
from tests.prepared import prepare_environment, world_readable_folder


class Work:
    """A work tree to commit into; times are fixed, so that commit names are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._minutes = 0
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        at = f"{1_700_000_000 + 60 * self._minutes} +0000"
        person = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
                  for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.com"), ("DATE", at))}  # fmt: skip
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            capture_output=True,
            check=True,
            env={"PATH": os.defpath, "HOME": str(self.path), "GIT_CONFIG_NOSYSTEM": "1", **person},
        )
        return done.stdout.decode().strip()

    def commit(self, message: str, files: dict[str, str | None]) -> str:
        for name, text in files.items():
            target = self.path / name
            if text is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self._minutes += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    async def repository(self) -> GitRepository:
        return await open_repository(self.path.name, self.path)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "shop")


@pytest.fixture(scope="session")
def cache() -> Iterator[Path]:
    """One for all tests."""
    folder = world_readable_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def sandbox(cache: Path) -> Sandbox:
    return Sandbox(SandboxSettings(cache=cache), {})


@pytest.fixture
def environments(cache: Path) -> Environments:
    return Environments(dict(os.environ), cache)


@pytest.fixture(scope="session")
def prepared(cache: Path) -> Path:
    return prepare_environment(cache)


@pytest.fixture
def service(prepared: Path) -> ServiceInfo:
    return ServiceInfo(name="shop", repo="shop", language="python", environment=str(prepared))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "file").write_text("as it was")
    return folder
