"""A real Alertmanager fires into a real `receipts serve`, which tells a Slack that plays by Slack's rules."""

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from bot.demo.workspace.state import DEFAULT_CHANNEL
from tests import case_folder
from tests.acceptance.processes import Slack, bot, free_port, receipts, slack, start

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
REQUIRED = os.environ.get("RECEIPTS_TEST_REQUIRE_SERVICES") == "1"
TOKEN = "a-token-of-the-test"

pytestmark = [
    pytest.mark.alertmanager,
    pytest.mark.sandbox,
    pytest.mark.skipif(
        PROGRAM is None and not REQUIRED,
        reason="no prometheus-alertmanager on the path (Debian's package of that name has it)",
    ),
]


@asynccontextmanager
async def alertmanager(folder: Path, receiver: str) -> AsyncIterator[str]:
    """One that waits a second for a group and a second before it tells of a change; gives its address."""
    assert PROGRAM is not None, "RECEIPTS_TEST_REQUIRE_SERVICES is set and there is no prometheus-alertmanager"
    route = {"receiver": "receipts", "group_by": ["alertname"], "repeat_interval": "2s"}
    webhook = {
        "url": f"{receiver}/alerts/alertmanager",
        "send_resolved": True,
        "http_config": {"authorization": {"credentials": TOKEN}},
    }
    config = {
        "route": {**route, "group_wait": "1s", "group_interval": "1s"},
        "receivers": [{"name": "receipts", "webhook_configs": [webhook]}],
    }
    folder.mkdir()
    (folder / "config.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    options = (
        f"--config.file={folder / 'config.yml'}", f"--storage.path={folder}", f"--web.listen-address={address}",
        "--cluster.listen-address=",
    )  # fmt: skip
    process = await start([PROGRAM, *options], r"(Listening|listening)", {})
    try:
        await process.ready()
        yield f"http://{address}"
    finally:
        await process.stop()


async def fire(address: str, name: str, *, region: str, resolved: bool = False) -> None:
    """Tell Alertmanager of an alert, as Prometheus does: it fires until it is not told again, or told that it ended."""
    row: dict[str, Any] = case_folder.alert(name)["alerts"][0]  # type: ignore[index]
    ends = time.time() + (-1 if resolved else 3600)
    told = {
        "labels": {**row["labels"], "region": region},
        "annotations": row["annotations"],
        "startsAt": row["startsAt"],
        "endsAt": datetime.fromtimestamp(ends, UTC).isoformat(),
        "generatorURL": "http://prometheus.example:9090/graph",
    }
    async with aiohttp.ClientSession() as session, session.post(f"{address}/api/v2/alerts", json=[told]) as answer:
        assert answer.status == 200, await answer.text()


async def when(seen: Slack, told: Callable[[list[dict[str, Any]]], bool], seconds: float = 120.0) -> dict[str, Any]:
    """The transcript, once the channel's messages are as wanted."""
    until = time.monotonic() + seconds
    while True:
        transcript = await seen.transcript()
        messages = transcript["channels"][DEFAULT_CHANNEL]["messages"]
        if told(messages):
            return transcript
        assert time.monotonic() < until, json.dumps(messages, indent=1)[-4000:]
        await asyncio.sleep(0.2)


def roots(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message for message in messages if not message.get("thread_ts")]


def files(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [file for message in messages for file in message.get("files", ())]


async def test_an_alert_becomes_one_message_edited_in_place_with_a_thread_and_a_bundle(tmp_path: Path) -> None:
    commits = case_folder.build(tmp_path / "case")
    data, port = tmp_path / "data", free_port()
    await receipts("ingest", "case", tmp_path / "case", RECEIPTS_DATA=str(data), RECEIPTS_EMBEDDING__MODEL="")
    settings = {"RECEIPTS_ALERTS__TOKENS": json.dumps([TOKEN]), "RECEIPTS_EMBEDDING__MODEL": ""}

    async with (
        slack(tmp_path / "slack.json") as seen,
        bot(data, port, {**settings, **seen.settings()}) as server,
        alertmanager(tmp_path / "alertmanager", await server.ready()) as address,
    ):
        await fire(address, "HighErrorRate", region="eu-west-1")
        transcript = await when(seen, lambda messages: bool(files(messages)))
        proved = roots(transcript["channels"][DEFAULT_CHANNEL]["messages"])
        # Repeats come every two seconds; another region joins the group, and it all ends.
        await fire(address, "HighErrorRate", region="us-east-1")
        await when(seen, lambda messages: "2 firing" in json.dumps(roots(messages)))
        await fire(address, "HighErrorRate", region="eu-west-1", resolved=True)
        await fire(address, "HighErrorRate", region="us-east-1", resolved=True)
        transcript = await when(seen, lambda messages: "0 firing, 2 resolved" in json.dumps(roots(messages)))

    messages, calls = transcript["channels"][DEFAULT_CHANNEL]["messages"], transcript["calls"]
    (root,) = roots(messages)
    assert {call["answer"] for call in calls} == {"ok"}
    assert commits["guilty"][:7] in json.dumps(proved)
    assert "proved" in json.dumps(proved)
    posts = [call for call in calls if call["method"] == "chat.postMessage" and not call["arguments"].get("thread_ts")]
    edits = [call for call in calls if call["method"] == "chat.update" and call["arguments"]["ts"] == root["ts"]]
    assert len(posts) == 1
    assert "looking" in posts[0]["arguments"]["text"]
    assert len(edits) >= 2
    assert {message["thread_ts"] for message in messages if message is not root} == {root["ts"]}
    parts = [message["metadata"]["event_payload"]["part"] for message in messages if "metadata" in message]
    assert len(parts) == len(set(parts))
    await check_bundles(tmp_path, files(messages), commits["guilty"])


async def check_bundles(folder: Path, shared: list[dict[str, Any]], guilty: str) -> None:
    """What was uploaded is what `receipts verify` takes."""
    assert shared
    for number, file in enumerate(shared):
        uploaded = folder / "slack.files" / file["id"]
        bundle = folder / f"uploaded-{number}.zip"
        shutil.copyfile(uploaded, bundle)
        printed = await receipts("verify", bundle)
        assert printed.strip().endswith("reproduced")
