"""A real Alertmanager sends to a real server: credentials, a truncated group, its end."""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from bot.model import IncidentView
from tests.bot.serving import Served, served

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
pytestmark = [
    pytest.mark.alertmanager,
    pytest.mark.skipif(PROGRAM is None, reason="no Alertmanager is installed"),
]
CONFIG = """
route: {{receiver: bot, group_by: [alertname], group_wait: 100ms, group_interval: 1s, repeat_interval: 1h}}
receivers:
- name: bot
  webhook_configs:
  - url: {url}
    max_alerts: 3
    http_config: {{authorization: {{credentials: t1}}}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def alertmanager(folder: Path, port: int, webhook: str) -> AsyncIterator[str]:
    assert PROGRAM
    (folder / "am.yml").write_text(CONFIG.format(url=webhook))
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        f"--config.file={folder / 'am.yml'}",
        f"--storage.path={folder / 'am'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
        stderr=asyncio.subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        async with aiohttp.ClientSession() as session:
            for _ in range(200):
                try:
                    async with session.get(f"{url}/-/ready"):
                        break
                except aiohttp.ClientError:
                    await asyncio.sleep(0.05)
        yield url
    finally:
        process.terminate()
        await process.wait()


async def tell(url: str, pods: range, ends: datetime) -> None:
    now = datetime.now(UTC)
    alerts = [
        {
            "labels": {"alertname": "PodCrashLooping", "pod": f"cart-{pod}", "service": "cart"},
            "startsAt": (now - timedelta(minutes=1)).isoformat(),
            "endsAt": ends.isoformat(),
        }
        for pod in pods
    ]
    async with aiohttp.ClientSession() as session, session.post(f"{url}/api/v2/alerts", json=alerts) as response:
        assert response.status == 200


async def only_incident(here: Served, wanted: tuple[int, int]) -> IncidentView:
    """The only incident, once (firing, resolved) are as wanted or time is up."""
    assert here.parts.records
    for _ in range(400):
        rows = await here.parts.records.database.run(lambda db: db.execute("SELECT id FROM incidents").fetchall())
        if rows:
            view = await here.parts.records.view(rows[0]["id"])
            if (view.firing, view.resolved) == wanted:
                break
        await asyncio.sleep(0.02)
    assert len(rows) == 1
    return view


async def test_a_truncated_group_is_one_whole_incident_until_its_end(tmp_path: Path) -> None:
    port = free_port()
    environ = {"RECEIPTS_ALERTS__TOKENS": '["t1"]', "RECEIPTS_ALERTMANAGER__URL": f"http://127.0.0.1:{port}"}
    async with served(tmp_path, **environ) as here:
        webhook = str(here.client.make_url("/alerts/alertmanager"))
        async with alertmanager(tmp_path, port, webhook) as url:
            now = datetime.now(UTC)
            await tell(url, range(8), now + timedelta(hours=1))
            firing = await only_incident(here, (8, 0))
            await tell(url, range(3), now - timedelta(seconds=1))
            partly = await only_incident(here, (5, 3))

    assert (firing.firing, firing.resolved, firing.truncated) == (8, 0, 0)
    assert (partly.firing, partly.resolved, partly.truncated) == (5, 3, 0)
    assert partly.incident_id == firing.incident_id
