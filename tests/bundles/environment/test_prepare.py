"""Environments with the real pip. Where the index cannot be reached, only the reason is looked at."""

import asyncio
import os
import sys
import zipfile
from pathlib import Path

import pytest

from bundles.environment import Environments
from bundles.environment.install import install
from retrieval.model import ServiceInfo
from tests.bundles.conftest import Work

PLAIN = ServiceInfo(name="shop", repo="shop")
OFFLINE = {
    **os.environ,
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_RETRIES": "0",
    "PIP_CONFIG_FILE": os.devnull,
}


async def test_a_prepared_environment_is_taken_as_it_is(
    work: Work, environments: Environments, service: ServiceInfo
) -> None:
    sha = work.commit("Start", {"a.py": ""})
    made = await environments.prepare(await work.repository(), sha, service)
    assert made.site is not None and (made.site / "pytest").is_dir() and made.digest and not made.reason


async def test_a_prepared_one_that_cannot_be_used_is_said(
    work: Work, environments: Environments, tmp_path: Path
) -> None:
    repository, sha = await work.repository(), work.commit("Start", {"a.py": ""})
    absent = await environments.prepare(repository, sha, ServiceInfo(name="s", environment=str(tmp_path)))
    assert absent.site is None and "holds no environment" in absent.reason
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (tmp_path / "lib" / python / "site-packages").mkdir(parents=True)
    bare = await environments.prepare(repository, sha, ServiceInfo(name="s", environment=str(tmp_path)))
    assert bare.site is None and "no pytest" in bare.reason


async def test_an_index_that_cannot_be_reached_is_a_reason_and_asked_once(work: Work, tmp_path: Path) -> None:
    sha = work.commit("Start", {"requirements.txt": "no-such-package-of-receipts==1\n"})
    environments = Environments(OFFLINE, tmp_path)
    first = await environments.prepare(await work.repository(), sha, PLAIN)
    assert first.site is None and first.reason == "the package index cannot be reached"
    assert first.declared == "requirements.txt"
    again = await environments.prepare(await work.repository(), sha, PLAIN)
    assert again == first and list((tmp_path / "environments").iterdir()) == []


async def test_the_same_declarations_are_the_same_environment(work: Work, tmp_path: Path) -> None:
    one = work.commit("One", {"requirements.txt": "b\na\n"})
    two = work.commit("Two", {"requirements.txt": "# sorted\na\nb\n", "x.py": ""})
    three = work.commit("Three", {"requirements.txt": "a\n"})
    repository = await work.repository()
    environments = Environments(OFFLINE, tmp_path)
    digests = [(await environments.prepare(repository, sha, PLAIN)).digest for sha in (one, two, three)]
    assert digests[0] == digests[1] != digests[2]
    patched = await environments.prepare(repository, one, PLAIN, {"requirements.txt": "a\n"})
    assert patched.digest == digests[2]


async def test_packages_are_installed_once_for_all_who_ask(work: Work, cache: Path, wheels: Path) -> None:
    sha = work.commit("Start", {"requirements.txt": "tiny==1.0\n-e .\n", "requirements-dev.txt": "not-there==1\n"})
    environ = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    repository = await work.repository()
    environments = Environments(environ, cache)
    made = await asyncio.gather(*(environments.prepare(repository, sha, PLAIN) for _ in range(3)))
    assert made[0] == made[1] == made[2]
    assert made[0].site is not None and (made[0].site / "tiny.py").is_file()
    assert "without what only its tests need (not-there==1 is not on the package index" in made[0].reason
    assert "not followed: -e ." in made[0].reason
    assert made[0].site.stat().st_mode & 0o005 == 0o005


async def test_a_source_distribution_is_not_built(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    (folder / "evil-1.0.tar.gz").write_bytes(b"")
    environ = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}
    reason = await install(["evil==1.0"], [], tmp_path / "site", environ)
    assert reason.startswith("evil==1.0 is not on the package index as a wheel for Python 3")


async def test_versions_that_contradict_each_other_are_said(tmp_path: Path, wheels: Path) -> None:
    environ = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    reason = await install(["tiny==1.0"], ["tiny==2.0"], tmp_path / "site", environ)
    assert reason.startswith(("the declared versions contradict each other", "tiny==1.0 is not"))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that plays the package index: one tiny package, and a pytest that is none (nothing is run here)."""
    folder = tmp_path_factory.mktemp("wheels")
    for name, version in (("tiny", "1.0"), ("pytest", "8.3.4")):
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}.py", "")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
    return folder
