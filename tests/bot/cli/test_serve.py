"""`receipts serve` as a process: it listens, refuses a second one on the same folder, and ends when told to."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app import Factories, build
from bot.cli.serve import locked, serve
from bot.incidents.engine import Triage
from bot.settings import Settings
from retrieval.errors import BadInput, StoreLocked
from tests.bot.incidents.parts import FileTriage
from tests.bot.serving import settings_of

ROOT = Path(__file__).parents[3]


def receipts(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from bot.cli import main; main()", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )


async def make_triage(settings: Settings) -> Triage:
    return FileTriage(settings.data, 0.01)


async def test_it_says_where_it_listens_writes_to_the_log_without_slack_and_ends_on_sigterm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import aiohttp

    caplog.set_level("INFO")
    said: asyncio.Queue[str] = asyncio.Queue()
    settings = settings_of(tmp_path)
    task = asyncio.create_task(serve(settings, Factories(triage=make_triage, debounce_s=0.01), said.put_nowait))
    address = (await asyncio.wait_for(said.get(), 10)).split()[-1]
    async with aiohttp.ClientSession(address) as session:
        async with session.post("/alerts/generic", json={"title": "checkout down"}) as response:
            assert response.status == 202
        for _ in range(500):
            if "checkout down" in caplog.text:
                break
            await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(task, 10)

    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
    assert "checkout down" in caplog.text


async def test_an_address_that_is_taken_is_refused_by_its_key(tmp_path: Path) -> None:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = settings_of(tmp_path, RECEIPTS_LISTEN=f"127.0.0.1:{port}")

    with pytest.raises(BadInput, match=f"listen: 127.0.0.1:{port} cannot be used"):
        await serve(settings, Factories(triage=make_triage), lambda line: None)
    server.close()
    await server.wait_closed()


def test_a_second_server_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with locked(tmp_path / "data"):
        with pytest.raises(StoreLocked, match=f"process {os.getpid()}"), locked(tmp_path / "data"):
            pass
        refused = receipts("serve", RECEIPTS_DATA=str(tmp_path / "data"), RECEIPTS_LISTEN="127.0.0.1:0")

    assert refused.returncode == 2
    assert f"another server (process {os.getpid()}) uses" in refused.stderr
    assert "Traceback" not in refused.stderr
    with locked(tmp_path / "data"):
        pass


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BadInput, match="data: "), locked(tmp_path / "file" / "data"):
        pass


def test_a_wrong_setting_is_one_line_and_exit_two(tmp_path: Path) -> None:
    config = tmp_path / "receipts.yaml"
    config.write_text("listen: 0.0.0.0:8080\n")

    refused = receipts("serve", "--config", str(config))

    assert refused.returncode == 2
    assert refused.stderr.startswith(f"receipts: {config}: alerts.tokens: none is set")
    assert refused.stderr.count("\n") == 1


def test_a_queue_that_this_version_does_not_have_is_refused(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, RECEIPTS_JOBS__URL="postgresql://db/receipts")

    with pytest.raises(BadInput, match=r"jobs\.url"):
        build(settings, Factories(triage=make_triage))
