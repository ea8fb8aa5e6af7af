"""A small service with a history, in real git, and this program's own environment as its prepared one."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundles.environment import Environments
from bundles.sandbox import Sandbox, SandboxSettings
from retrieval.code.git import GitRepository, open_repository
from retrieval.model import ServiceInfo


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
    """One for all tests; not below pytest's own folders, which are closed to the user that runs are dropped to."""
    folder = Path(tempfile.mkdtemp(prefix="receipts-cache-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def sandbox(cache: Path) -> Sandbox:
    return Sandbox(SandboxSettings(cache=cache), {})


@pytest.fixture
def environments(cache: Path) -> Environments:
    return Environments(dict(os.environ), cache)


@pytest.fixture
def service() -> ServiceInfo:
    """Its dependencies are those of the program that runs the tests: no network is needed."""
    return ServiceInfo(name="shop", repo="shop", language="python", environment=sys.prefix)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "file").write_text("as it was")
    return folder
