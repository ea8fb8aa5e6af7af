"""Telemetry sent to the running server over OTLP: an alert is triaged from it, and a kill loses nothing of it."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from bot.app import SystemClock
from bot.live import open_memory
from bot.metrics import Metrics
from bot.settings import load
from retrieval.kinds import load_sources
from tests import case_folder
from tests.acceptance.processes import bot, free_port, receipts, start_bot
from tests.bot.intake.otlp.sending import a_log, a_span, logs, traces

QUIET = {"RECEIPTS_EMBEDDING__MODEL": "", "RECEIPTS_SANDBOX__ENABLED": "false"}
LIVES, SENDERS = 3, 4


async def post(session: aiohttp.ClientSession, address: str, path: str, body: object) -> bool:
    """Whether it was acknowledged."""
    with suppress(aiohttp.ClientError):
        async with session.post(f"{address}{path}", json=body) as response:
            return response.status in (200, 202)
    return False


async def test_what_was_acknowledged_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    data, numbers = tmp_path / "data", iter(range(10_000))
    spans, lines = set[str](), set[str]()

    async def send(session: aiohttp.ClientSession, address: str) -> None:
        for number in numbers:
            failed = a_span(number, status={"code": 2})
            if not await post(session, address, "/v1/traces", traces(failed)):
                return
            spans.add(failed["traceId"])
            if not await post(session, address, "/v1/logs", logs(a_log(number, f"line {number}", severityNumber=17))):
                return
            lines.add(f"line {number}")

    for life in range(LIVES):
        process = await start_bot(data, 0, QUIET)
        address, wanted = await process.ready(), len(lines) + 20 * (life + 1)
        async with aiohttp.ClientSession() as session, asyncio.timeout(60):
            senders = [asyncio.create_task(send(session, address)) for _ in range(SENDERS)]
            while len(lines) < wanted:
                await asyncio.wait(senders, timeout=0.02)
            await process.kill()
            await asyncio.gather(*senders)

    memory = await open_memory(load(None, {**QUIET, "RECEIPTS_DATA": str(data)}), SystemClock(), Metrics())
    assert memory.telemetry is not None
    assert memory.close is not None
    await memory.telemetry.collector.catch_up()
    held = await load_sources(memory.telemetry.collector.index, acl=("public",), from_ns=0, to_ns=2**62)
    await memory.close()

    assert spans <= {span.trace_id for span in held.spans}
    assert lines <= {record.body for record in held.logs}
    assert len(held.logs) == len({record.body for record in held.logs})
    # At most what was under way at each kill is there without having been acknowledged.
    assert len(held.spans) + len(held.logs) <= len(spans) + len(lines) + SENDERS * LIVES


async def test_an_alert_is_triaged_from_what_was_received(tmp_path: Path) -> None:
    folder, data = tmp_path / "case", tmp_path / "data"
    await asyncio.to_thread(case_folder.build, folder)
    settings = {**QUIET, "RECEIPTS_DATA": str(data), "RECEIPTS_SERVICES": (folder / "services.json").read_text()}
    await receipts("ingest", "repo", folder / "repos" / "shop", **settings)
    await receipts("ingest", "deploys", folder / "deploys.jsonl", **settings)
    told = json.loads(await receipts("triage", folder, "--json", "--no-sandbox", "--out", tmp_path / "out"))

    async with bot(data, free_port(), {**settings, "RECEIPTS_SERVICES": services(folder)}) as process:
        address = await process.ready()
        async with aiohttp.ClientSession() as session:
            for path, body in requests(folder):
                assert await post(session, address, path, body)
            assert await post(session, address, "/alerts/alertmanager", case_folder.alert())
            page = await concluded(session, address, data)

    assert told["hypothesis"]["suspected_function"] == "price/format.py::discount_line"
    assert told["hypothesis"]["summary"] in page.replace("&#39;", "'").replace("&#34;", '"')
    assert "otlp/logs" in page or "otlp/traces" in page


def services(folder: Path) -> str:
    return json.dumps({"price": {"repo": str(folder / "repos" / "shop"), "language": "python"}})


def requests(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The case's spans and log lines as exporters send them, a few at a time."""
    spans = [json.loads(line) for line in (folder / "traces" / "spans.jsonl").read_text().splitlines()]
    for span in spans:
        span["attributes"] = [{"key": k, "value": _value(v)} for k, v in span["attributes"].items()]
        span.pop("resource")
    rows = [json.loads(line) for line in (folder / "logs" / "price.jsonl").read_text().splitlines()]
    records = [{"observedTimeUnixNano": "1", "body": {"stringValue": json.dumps(row)}} for row in rows]
    for at in range(0, len(spans), 20):
        yield "/v1/traces", traces(*spans[at : at + 20], service="price")
    for at in range(0, len(records), 20):
        yield "/v1/logs", logs(*records[at : at + 20], service="price")


def _value(value: object) -> dict[str, object]:
    return {"intValue": value} if isinstance(value, int) else {"stringValue": value}


async def concluded(session: aiohttp.ClientSession, address: str, data: Path) -> str:
    """The page of the only incident when it is done."""

    def query() -> tuple[str, str]:
        database = sqlite3.connect(data / "state.db")
        try:
            return database.execute("SELECT id, status FROM incidents").fetchone() or ("", "")
        finally:
            database.close()

    status = ""
    async with asyncio.timeout(60):
        while status != "done":
            await asyncio.sleep(0.1)
            incident_id, status = await asyncio.to_thread(query)
    async with session.get(f"{address}/incidents/{incident_id}") as response:
        assert response.status == 200
        return await response.text()
