"""The bot, Slack's stand-in and Alertmanager as processes of their own, as they run in the field, on free ports of
loopback. Each ends with its context, also when the test fails."""

import asyncio
import os
import re
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import aiohttp

from bot.demo.workspace.server import BOT_TOKEN, SIGNING_SECRET
from bot.demo.workspace.state import DEFAULT_CHANNEL

ROOT = Path(__file__).resolve().parents[2]
RECEIPTS = (sys.executable, "-c", "from bot.cli import main; main()")
READY_S = 60.0
STOP_S = 20.0


def free_port() -> int:
    """A port that was free a moment ago, for a server that has to come back to the same address."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _environ(more: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **more}


class Process:
    """A process that says on its output when it is ready, by a line that `ready` matches."""

    def __init__(self, process: asyncio.subprocess.Process, ready: str) -> None:
        self.output: list[str] = []
        self.pid = process.pid
        self._process = process
        self._pattern = re.compile(ready)
        self._ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            text = line.decode("utf-8", "replace").rstrip("\n")
            self.output.append(text)
            if not self._ready.done() and (found := self._pattern.search(text)):
                self._ready.set_result(found.group(1))
        if not self._ready.done():
            self._ready.set_result("")

    async def ready(self) -> str:
        """The group of the line that says so."""
        found = await asyncio.wait_for(asyncio.shield(self._ready), READY_S)
        assert found, "it ended before it was ready:\n" + "\n".join(self.output[-40:])
        return found

    async def kill(self) -> None:
        """The way power goes: no handler runs."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._reading

    async def stop(self) -> None:
        if self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), STOP_S)
            except TimeoutError:
                await self.kill()
        await self._reading

    def peak_mb(self) -> float:
        """The most memory that it held at once, in MiB. Linux only."""
        return _peak_mb(self.pid)

    def children_peak_mb(self) -> list[float]:
        """The same of each process that it has now."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/children")  # a child is listed with the thread that made it
        return [_peak_mb(int(pid)) for thread in threads for pid in thread.read_text().split()]


def _peak_mb(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found.group(1)) / 1024


async def start(command: Sequence[str | Path], ready: str, environ: Mapping[str, str]) -> Process:
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=ROOT,
        env=_environ(environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=2**22,
        start_new_session=True,
    )
    return Process(process, ready)


class Slack:
    """What the stand-in saw, over HTTP."""

    def __init__(self, api_url: str) -> None:
        self.api_url = api_url

    async def transcript(self) -> dict[str, Any]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(self.api_url.removesuffix("api") + "workspace/transcript") as answer,
        ):
            return cast(dict[str, Any], await answer.json())

    def settings(self) -> dict[str, str]:
        """The environment of a bot that posts there."""
        return {
            "RECEIPTS_SLACK__API_URL": self.api_url,
            "RECEIPTS_SLACK__BOT_TOKEN": BOT_TOKEN,
            "RECEIPTS_SLACK__SIGNING_SECRET": SIGNING_SECRET,
            "RECEIPTS_SLACK__CHANNEL": DEFAULT_CHANNEL,
        }


@asynccontextmanager
async def slack(state: Path) -> AsyncIterator[Slack]:
    process = await start([sys.executable, "-m", "bot.demo.workspace", "--state", state], r"(http://\S+)", {})
    try:
        yield Slack(await process.ready())
    finally:
        await process.stop()


async def start_bot(data: Path, port: int, environ: Mapping[str, str]) -> Process:
    """`receipts serve`; its `ready` gives its address."""
    settings = {"RECEIPTS_DATA": str(data), "RECEIPTS_LISTEN": f"127.0.0.1:{port}", **environ}
    return await start([*RECEIPTS, "serve"], r"listening on (http://\S+)", settings)


@asynccontextmanager
async def bot(data: Path, port: int, environ: Mapping[str, str]) -> AsyncIterator[Process]:
    process = await start_bot(data, port, environ)
    try:
        await process.ready()
        yield process
    finally:
        await process.stop()


async def receipts(*arguments: str | Path, **environ: str) -> str:
    """One command of the command line to its end; what it printed."""
    process = await asyncio.create_subprocess_exec(
        *RECEIPTS,
        *map(str, arguments),
        cwd=ROOT,
        env=_environ(environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()
