"""The shop's repository and recording, and a package index made of what is installed."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.demo.case_folder import build_case
from bot.demo.repository import NAME, RELEASES
from retrieval.code.git import GitRepository, open_repository
from tests import wheelhouse


@pytest.fixture
async def case(tmp_path: Path) -> Path:
    """The case folder of the shipped recording."""
    await build_case(tmp_path / "case", fresh=False, environ={})
    return tmp_path / "case"


@pytest.fixture
async def shop(case: Path) -> GitRepository:
    return await open_repository(NAME, case / "repos" / NAME)


@pytest.fixture(scope="session")
def cache() -> Iterator[Path]:
    """Not below pytest's own folders, which are closed to the user that runs are dropped to."""
    folder = Path(tempfile.mkdtemp(prefix="receipts-cache-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
async def offline(shop: GitRepository, cache: Path) -> dict[str, str]:
    """An environment in which the shop's packages can be installed without any network."""
    wheels = cache / "wheels"
    wheels.mkdir(exist_ok=True)
    pins = []
    for path in ("requirements.txt", "requirements-run.txt", "requirements-dev.txt"):
        lines = (await shop.read(RELEASES.price_canary, path)).decode().splitlines()
        pins += [line for line in lines if "==" in line]
    if missing := wheelhouse.fill(wheels, pins):
        pytest.skip(f"not installed here: {', '.join(missing)} (make test installs them)")
    return wheelhouse.environment(wheels, cache)
