"""kill -9 at any moment: nothing that was acknowledged is lost, nothing is told twice, one bundle per incident."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp

from bot.demo.workspace.server import Workspace
from tests.bot.incidents.parts import PAUSE_S, read

ROOT = Path(__file__).parents[3]
LIVES = 20
DELAYS = [round(random.Random(7).uniform(0, 0.7), 3) for _ in range(LIVES)]
FINISH_S = 60


def body(number: int) -> bytes:
    labels = {"alertname": f"Crash{number}", "service": f"s{number}"}
    alert = {"status": "firing", "labels": labels, "startsAt": "2026-11-30T22:48:14Z", "fingerprint": f"f{number}"}
    return json.dumps({"alerts": [alert], "groupKey": f"g{number}"}).encode()


class Lives:
    """The process that forks servers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def begin(self) -> tuple[int, str]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(b"\n")
        await self._process.stdin.drain()
        pid, address = (await self._process.stdout.readline()).decode().split()
        return int(pid), address

    async def end(self, pid: int, number: int) -> None:
        assert self._process.stdout
        os.kill(pid, number)
        assert await self._process.stdout.readline() == b"ended\n"


async def post(session: aiohttp.ClientSession, address: str, number: int) -> bool:
    """Whether the delivery was acknowledged before the server died."""
    with suppress(aiohttp.ClientError):
        async with session.post(f"{address}/alerts/alertmanager", data=body(number)) as response:
            return response.status == 202
    return False


def unfinished(data: Path) -> int:
    database = sqlite3.connect(data / "state.db")
    try:
        return int(
            database.execute(
                "SELECT (SELECT count(*) FROM deliveries WHERE state = 'received') + (SELECT count(*) FROM incidents"
                " WHERE status != 'done' OR shown < revision OR delivered < concluded)"
            ).fetchone()[0]
        )
    finally:
        database.close()


@asynccontextmanager
async def lives_of(data: Path, log: Path, slack: str = "", pause_s: float = PAUSE_S) -> AsyncIterator[Lives]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bot.incidents.crashing_server", str(data), str(log), slack, str(pause_s),
        cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    yield Lives(process)
    assert process.stdin
    process.stdin.close()
    assert await process.wait() == 0


async def finish(lives: Lives, data: Path) -> None:
    """One life more, to its end."""
    pid, _ = await lives.begin()
    for _ in range(FINISH_S * 10):
        if not unfinished(data):
            break
        await asyncio.sleep(0.1)
    await lives.end(pid, signal.SIGTERM)


async def live_and_die(lives: Lives, data: Path, delays: list[float]) -> set[int]:
    """A server per delay, each killed that long after an alert was sent; a last one may finish. Returns the numbers of
    the alerts that were acknowledged."""
    acknowledged = set()
    async with aiohttp.ClientSession() as session:
        for number, delay in enumerate(delays):
            pid, address = await lives.begin()
            sending = asyncio.create_task(post(session, address, number))
            await asyncio.sleep(delay)
            await lives.end(pid, signal.SIGKILL)
            acknowledged |= {number} if await sending else set()
    await finish(lives, data)
    return acknowledged


def known(data: Path) -> dict[str, str]:
    """Fingerprint -> incident, of all that the server knows."""
    database = sqlite3.connect(data / "state.db")
    try:
        return dict(database.execute("SELECT fingerprint, incident_id FROM episodes").fetchall())
    finally:
        database.close()


async def test_nothing_is_lost_and_nothing_told_twice_over_twenty_deaths(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "log.jsonl"

    async with lives_of(data, log) as lives:
        acknowledged = await live_and_die(lives, data, DELAYS)

    calls, told = read(log), known(data)
    posts = Counter((line["part"], line["incident"]) for line in calls if line["call"] == "post")
    assert set(posts.values()) == {1}
    assert {incident for part, incident in posts if part == "root"} == set(told.values())
    assert {incident for part, incident in posts if part == "bundle"} == set(told.values())
    assert {f"f{number}" for number in acknowledged} <= set(told)
    assert len(acknowledged) >= LIVES // 2
    last = {line["incident"]: line["status"] for line in calls if line["part"] == "root"}
    assert set(last.values()) == {"done"}


async def test_slack_holds_one_message_and_one_bundle_per_incident_whenever_the_server_died(tmp_path: Path) -> None:
    data = tmp_path / "data"
    workspace = Workspace()
    await workspace.start()

    async with lives_of(data, tmp_path / "unused", workspace.api_url) as lives:
        acknowledged = await live_and_die(lives, data, DELAYS[:10])

    await workspace.close()
    told, roots = known(data), workspace.messages()
    names = Counter(message["metadata"]["event_payload"]["incident_id"] for message in roots)
    bundles = Counter(
        root["ts"] for root in roots for message in workspace.messages(thread_ts=root["ts"]) if message.get("files")
    )
    assert names == dict.fromkeys(told.values(), 1)
    assert bundles == {root["ts"]: 1 for root in roots}
    assert {f"f{number}" for number in acknowledged} <= set(told)


async def test_a_death_right_after_a_post_does_not_post_again(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "log.jsonl"
    async with lives_of(data, log, pause_s=0.4) as lives, aiohttp.ClientSession() as session:
        for part in ("root", "bundle"):
            pid, address = await lives.begin()
            if part == "root":
                assert await post(session, address, 1)
            for _ in range(3000):
                if any(line["part"] == part for line in read(log)):
                    break
                await asyncio.sleep(0.005)
            await lives.end(pid, signal.SIGKILL)
        await finish(lives, data)

    posts = [line["part"] for line in read(log) if line["call"] == "post"]
    assert posts == ["root", "bundle"]
