"""Killed at any moment, the server goes on where it was: one message and one bundle for each incident, never two."""

import asyncio
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.demo.workspace.state import DEFAULT_CHANNEL
from tests import case_folder
from tests.acceptance.processes import Process, Slack, free_port, receipts, slack, start_bot

INCIDENTS, KILLS = 8, 20
LONGEST_S = 6.0  # what is left of a run then is done, and killed, while the next ones run
PATIENCE_S = 150.0
SEED = 20


def alert_of(number: int) -> dict[str, Any]:
    return case_folder.alert(f"HighErrorRate{number}", hashlib.sha256(b"%d" % number).hexdigest()[:16])


async def send(address: str, alert: dict[str, Any]) -> bool:
    """Whether the server took it; a sender that got no answer sends again later, as Alertmanager does."""
    try:
        async with aiohttp.ClientSession(address) as session, session.post("/alerts/alertmanager", json=alert) as told:
            return told.status == 202
    except aiohttp.ClientError:
        return False


async def messages_of(seen: Slack) -> list[dict[str, Any]]:
    transcript = await seen.transcript()
    found: list[dict[str, Any]] = transcript["channels"][DEFAULT_CHANNEL]["messages"]
    return found


async def finished(seen: Slack, incidents: int) -> float:
    """Seconds until so many bundles are in threads."""
    began = time.monotonic()
    while time.monotonic() < began + PATIENCE_S:
        messages = await messages_of(seen)
        if len([m for m in messages if m.get("files")]) >= incidents:
            return time.monotonic() - began
        await asyncio.sleep(0.2)
    raise AssertionError(json.dumps([m["text"] for m in await messages_of(seen)], indent=1))


@pytest.mark.sandbox
@pytest.mark.timeout(600)
async def test_after_twenty_kills_there_is_one_message_and_one_bundle_per_incident(tmp_path: Path) -> None:
    case_folder.build(tmp_path / "case")
    data, port, rng = tmp_path / "data", free_port(), random.Random(SEED)
    await receipts("ingest", "case", tmp_path / "case", RECEIPTS_DATA=str(data), RECEIPTS_EMBEDDING__MODEL="")
    async with slack(tmp_path / "slack.json") as seen:
        settings = {"RECEIPTS_EMBEDDING__MODEL": "", **seen.settings()}

        def again() -> Awaitable[Process]:
            return start_bot(data, port, settings)

        server = await again()
        address = await server.ready()
        try:
            # The first one is left alone: how long it takes is the run in which the others are killed.
            assert await send(address, alert_of(0))
            run_s = await finished(seen, 1)
            for kill in range(KILLS):
                alert = alert_of(1 + kill * (INCIDENTS - 1) // KILLS)
                sending = asyncio.create_task(send(address, alert))
                await asyncio.sleep(rng.uniform(0, min(run_s, LONGEST_S)))
                await server.kill()
                taken = await sending
                server = await again()
                await server.ready()
                assert taken or await send(address, alert)
            await finished(seen, INCIDENTS)
            # Whatever was still to come: a second copy would come now.
            await asyncio.sleep(2)
        finally:
            await server.stop()
        check(await messages_of(seen), tmp_path)


def check(messages: list[dict[str, Any]], folder: Path) -> None:
    roots = [message for message in messages if not message.get("thread_ts")]
    assert len(roots) == INCIDENTS
    incidents = {m["ts"]: m["metadata"]["event_payload"]["incident_id"] for m in roots}
    assert len(set(incidents.values())) == INCIDENTS
    assert not [m["text"] for m in roots if "looking" in m["text"]]
    told = Counter(
        (m["metadata"]["event_payload"]["incident_id"], m["metadata"]["event_payload"]["part"])
        for m in messages
        if m.get("metadata")
    )
    assert set(told.values()) == {1}
    assert {incident for incident, part in told if part == "evidence"} == set(incidents.values())
    shared = [(m["thread_ts"], file) for m in messages for file in m.get("files", ())]
    assert sorted(thread for thread, _ in shared) == sorted(incidents)
    for thread, file in shared:
        assert incidents[thread] in file["name"]
        content = (folder / "slack.files" / file["id"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() in file["title"]
        assert (folder / "data" / "bundles" / f"{incidents[thread]}.zip").read_bytes() == content
