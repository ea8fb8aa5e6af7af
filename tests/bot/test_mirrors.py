"""Repositories of services: paths as they are, URLs mirrored, and nobody waits for a host that is away."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from bot.mirrors import Mirrors


def repository(path: Path) -> Path:
    path.mkdir(parents=True)
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments], cwd=path, check=True)
    return path


async def test_a_url_is_mirrored_and_a_path_is_used_where_it_lies(tmp_path: Path) -> None:
    elsewhere, here = repository(tmp_path / "elsewhere"), repository(tmp_path / "here")
    repository(tmp_path / "data" / "ingested")
    repository(tmp_path / "data" / ".half.partial")
    mirrors = Mirrors(tmp_path / "data", {f"file://{elsewhere}": "shop", str(here): "price"}, patience_s=20)

    for _ in range(2):
        found = await mirrors.paths()
        assert found == {
            "shop": tmp_path / "data" / "shop", "price": here, "ingested": tmp_path / "data" / "ingested",
        }  # fmt: skip
    await mirrors.close()


async def test_a_host_that_does_not_answer_costs_the_patience_and_is_asked_by_one_process(tmp_path: Path) -> None:
    asked: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda reader, writer: asked.append(writer), "127.0.0.1", 0)
    address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/shop.git"
    repository(tmp_path / "price")
    mirrors = Mirrors(tmp_path, {address: "shop"}, patience_s=0.3)

    assert await mirrors.paths() == {"price": tmp_path / "price"}
    assert await mirrors.paths() == {"price": tmp_path / "price"}
    assert len(asked) == 1

    await mirrors.close()
    server.close()
    for writer in asked:
        writer.transport.abort()
    await server.wait_closed()


async def test_a_url_that_cannot_be_fetched_is_told_by_its_setting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mirrors = Mirrors(tmp_path, {f"file://{tmp_path}/nothing": "shop"}, patience_s=20)

    assert await mirrors.paths() == {}
    assert "services.shop.repo cannot be fetched" in caplog.text
    await mirrors.close()
