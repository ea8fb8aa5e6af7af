"""The whole bot beside the whole workspace: an alert comes in, one message is edited to its end, a person answers."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from msgspec.structs import replace

from bot.app import Factories, Side, build
from bot.demo.workspace.people import People
from bot.demo.workspace.server import BOT_TOKEN, SIGNING_SECRET, Workspace
from bot.model import BundleRef
from bot.settings import load
from bot.slack.app import Means, build_slack
from retrieval.model import Verdict
from tests.bot.slack.house import said, until
from tests.bot.slack.views import at

BODY = Path(__file__).parents[2] / "captured" / "alertmanager" / "001_single_firing.json"


class _Triage:
    """A triage that takes a moment and comes to the reference conclusion."""

    def __init__(self, bundle: BundleRef) -> None:
        self.bundle = bundle
        self.runs = 0

    async def run(self, incident_id: str, alerts: Any, *, wish: Any, progress: Any) -> Any:
        self.runs += 1
        await progress("reading", "37 errors")
        await asyncio.sleep(0.05)
        verdict = Verdict.PROVED if self.runs == 1 else Verdict.REPRODUCED
        return replace(at(verdict), incident_id=incident_id), self.bundle


async def test_an_alert_becomes_one_message_with_its_thread_and_a_press_starts_again(tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(b"zip")
    triage = _Triage(BundleRef(path=tmp_path / "b.zip", sha256="ab" * 32, size=3))

    async def make(settings: Any) -> Any:
        return triage

    async def side(settings: Any, actions: Any, ledger: Any) -> Side:
        built = await build_slack(settings, actions, ledger, Means(environment={}, interval=0.01))
        return Side(channel=built.channel, handler=built.handler, close=built.close)

    workspace = Workspace()
    await workspace.start()
    environment = {
        "RECEIPTS_DATA": str(tmp_path / "data"),
        "RECEIPTS_SLACK__API_URL": workspace.api_url,
        "RECEIPTS_SLACK__BOT_TOKEN": BOT_TOKEN,
        "RECEIPTS_SLACK__SIGNING_SECRET": SIGNING_SECRET,
        "RECEIPTS_SLACK__CHANNEL": "C0INCIDENTS",
    }
    runner = web.AppRunner(
        build(load(None, environment), Factories(triage=make, side=side, debounce_s=0.0)), shutdown_timeout=1.0
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with aiohttp.ClientSession() as session:
            headers = {"Content-Type": "application/json"}
            async with session.post(f"{base}/alerts/alertmanager", data=BODY.read_bytes(), headers=headers) as answer:
                assert answer.status == 202
        await until(lambda: any(m.get("files") for m in workspace.state.channels["C0INCIDENTS"].messages), 20)
        (root,) = workspace.messages()
        await People(workspace, f"{base}/slack/events").press(root["ts"], "receipts_rerun")
        await until(lambda: "reproduced" in said(root), 20)
    finally:
        await runner.cleanup()
        await workspace.close()

    assert len(workspace.messages()) == 1
    assert len(workspace.messages(thread_ts=root["ts"])) == 4
    assert not [c for c in workspace.state.calls if c.answer != "ok"]
    assert root["blocks"][-1]["elements"][0]["value"].startswith("inc-") and triage.runs == 2
