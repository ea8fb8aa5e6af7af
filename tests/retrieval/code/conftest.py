"""Real repositories, made by the real git."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


class Work:
    """A work tree to commit into. Times are fixed, so that commit names are."""

    def __init__(self, path: Path, epoch: int = 1_700_000_000) -> None:
        self.path = path
        self._epoch = epoch
        self._minutes = 0
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        at = f"{self._epoch + 60 * self._minutes} +0000"
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.path,
            input=stdin,
            capture_output=True,
            check=True,
            env={
                "PATH": os.defpath,
                "HOME": str(self.path),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_NAME": "Zoë Ångström",
                "GIT_AUTHOR_EMAIL": "zoe@example.com",
                "GIT_COMMITTER_NAME": "Zoë Ångström",
                "GIT_COMMITTER_EMAIL": "zoe@example.com",
                "GIT_AUTHOR_DATE": at,
                "GIT_COMMITTER_DATE": at,
            },
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, path: str, content: str | bytes) -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str, **files: str | bytes) -> str:
        """Commit everything as it lies there, after writing `files`; returns the new commit's name."""
        for path, content in files.items():
            self.write(path, content)
        self._minutes += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    return Work(tmp_path / "work")
