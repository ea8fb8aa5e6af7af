"""POST /alerts/{source} over a real socket: who may, what is taken, what is refused and why."""

import asyncio
import gzip
import io
import json
from pathlib import Path

import pytest

from bot.intake.access import Gate
from bot.settings import Alerts
from tests.bot.incidents.parts import read
from tests.bot.serving import Served, served

CAPTURED = Path(__file__).parents[2] / "captured" / "alertmanager"
BODY = (CAPTURED / "001_single_firing.json").read_bytes()
BEARER = {"RECEIPTS_ALERTS__TOKENS": '["t1", "t2"]', "RECEIPTS_ALERTS__BASIC": '["am:pa:ss"]'}


async def told(here: Served, count: int) -> list[dict[str, str]]:
    """The root messages once there are `count` that are at their end."""
    for _ in range(800):
        ends = {line["incident"]: line["status"] for line in read(here.log) if line["part"] == "root"}
        if len(ends) == count and set(ends.values()) <= {"done", "failed"}:
            break
        await asyncio.sleep(0.01)
    return [line for line in read(here.log) if line["call"] == "post" and line["part"] == "root"]


async def test_a_delivery_is_kept_answered_202_and_told(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        async with here.client.post("/alerts/alertmanager", data=BODY) as response:
            assert response.status == 202
            answer = await response.json()
        posts = await told(here, 1)

    assert answer == {"delivery_id": answer["delivery_id"], "alerts": 1, "rejected": 0}
    assert len(posts) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the body is empty"),
        (BODY[:-40], "not JSON, or cut off"),
        (b"alert: checkout", "not JSON"),
        (b'{"alerts": "all"}', "alerts: a list was expected"),
        (b"[1, 2]", "the body is not a map"),
        (b"[" * 100_000, "nested too deeply"),
        (BODY.replace(b"HighErrorRate", b"\xff\xfe"), "not UTF-8"),
    ],
    ids=["empty", "truncated", "text", "wrong-type", "list", "deep", "utf8"],
)
async def test_what_cannot_be_read_is_400_with_the_reason_kept_and_told_raw(
    tmp_path: Path, body: bytes, reason: str
) -> None:
    async with served(tmp_path) as here:
        async with here.client.post("/alerts/alertmanager", data=body) as response:
            assert response.status == 400
            answer = await response.json()
        posts = await told(here, 1)
        async with here.client.post("/alerts/alertmanager", data=body) as again:
            assert again.status == 400
        dead = await here.count("dead_letters")

    assert answer["error"] == "unreadable"
    assert reason in answer["detail"]
    assert dead >= 1
    assert len(posts) == 1


async def test_a_batch_with_a_broken_alert_is_202_and_both_are_told(tmp_path: Path) -> None:
    value = json.loads(BODY)
    value["alerts"].append({"status": 5})
    async with served(tmp_path) as here:
        async with here.client.post("/alerts/alertmanager", json=value) as response:
            answer = await response.json()
        posts = await told(here, 2)

    assert (response.status, answer["alerts"], answer["rejected"]) == (202, 1, 1)
    assert len(posts) == 2


async def test_a_body_that_is_too_large_is_413_and_not_kept(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        async with here.client.post("/alerts/alertmanager", data=io.BytesIO(b"x" * 2**21)) as response:
            assert response.status == 413

        async def endless() -> object:
            for _ in range(32):
                yield b" " * 65536

        async with here.client.post("/alerts/alertmanager", data=endless()) as response:
            assert (response.status, (await response.json())["error"]) == (413, "too_large")
        bomb = {"data": gzip.compress(b" " * 2**25), "headers": {"Content-Encoding": "gzip"}}
        async with here.client.post("/alerts/alertmanager", **bomb) as response:
            assert response.status == 413
        assert await here.count("deliveries") == 0


async def test_a_body_that_is_not_encoded_as_it_says_is_400(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        headers = {"Content-Encoding": "gzip"}
        async with here.client.post("/alerts/alertmanager", data=b"no gzip", headers=headers) as response:
            assert (response.status, (await response.json())["error"]) == (400, "broken_body")


async def test_an_unknown_source_is_404_and_names_the_known_ones(tmp_path: Path) -> None:
    async with served(tmp_path) as here, here.client.post("/alerts/nagios", data=BODY) as response:
        answer = await response.json()

    assert response.status == 404
    assert "alertmanager, generic" in answer["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer am:pa:ss"},
        {"Authorization": "Basic dDE="},
        {"Authorization": "Basic ???"},
        {"Authorization": "Basic /////w=="},
        {"Authorization": "Digest t1"},
        {"Authorization": "t1"},
    ],
)
async def test_a_stranger_is_401_before_anything_of_the_body_is_read(tmp_path: Path, headers: dict[str, str]) -> None:
    sent = asyncio.Event()

    async def never_ending() -> object:
        yield b"{"
        await sent.wait()

    async with served(tmp_path, **BEARER) as here:
        async with here.client.post("/alerts/alertmanager", data=never_ending(), headers=headers) as response:
            assert response.status == 401
            assert "Basic" in response.headers["WWW-Authenticate"]
            sent.set()
        async with here.client.post("/alerts/nagios", data=b"", headers=headers) as response:
            assert response.status == 401
        assert await here.count("deliveries") == 0


@pytest.mark.parametrize("value", ["Bearer t2", "bearer  t1 ", "Basic YW06cGE6c3M="])
async def test_a_token_or_a_login_opens(tmp_path: Path, value: str) -> None:
    headers = {"Authorization": value}
    async with (
        served(tmp_path, **BEARER) as here,
        here.client.post("/alerts/alertmanager", data=BODY, headers=headers) as response,
    ):
        assert response.status == 202


async def test_no_credential_is_kept_with_the_delivery(tmp_path: Path) -> None:
    async with served(tmp_path, **BEARER) as here:
        headers = {"Authorization": "Bearer t1", "Cookie": "c=1", "User-Agent": "Alertmanager/0.25.0"}
        async with here.client.post("/alerts/alertmanager", data=BODY, headers=headers):
            pass
        assert here.parts.records
        kept = await here.parts.records.database.run(
            lambda db: json.loads(db.execute("SELECT headers FROM deliveries").fetchone()["headers"])
        )

    assert kept == {"User-Agent": "Alertmanager/0.25.0", "Content-Type": "application/octet-stream"}


def test_without_credentials_a_web_page_in_a_browser_may_not_send() -> None:
    gate = Gate(Alerts())

    assert gate.allows({})
    assert not gate.allows({"Origin": "http://evil.example"})


async def test_a_mapped_sender_has_an_endpoint_of_its_own(tmp_path: Path) -> None:
    mapped = {"RECEIPTS_ALERTS__MAPPED": '{"inhouse": {"name": "what"}}'}
    async with served(tmp_path, **mapped) as here:
        async with here.client.post("/alerts/inhouse", json={"what": "db down"}) as response:
            assert response.status == 202
        assert len(await told(here, 1)) == 1


async def test_many_senders_at_once_lose_nothing(tmp_path: Path) -> None:
    async def send(here: Served, number: int) -> int:
        alert = {"status": "firing", "labels": {"alertname": f"A{number}"}, "fingerprint": str(number)}
        async with here.client.post("/alerts/alertmanager", json={"alerts": [alert], "groupKey": "g"}) as response:
            return response.status

    async with served(tmp_path) as here:
        statuses = await asyncio.gather(*(send(here, number) for number in range(60)))
        posts = await told(here, 1)
        for _ in range(500):
            if await here.count("deliveries WHERE state = 'received'") == 0:
                break
            await asyncio.sleep(0.01)
        assert await here.count("episodes") == 60

    assert set(statuses) == {202}
    assert len(posts) == 1


async def test_every_captured_body_is_taken(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        for path in sorted(CAPTURED.glob("*.json")):
            async with here.client.post("/alerts/alertmanager", data=path.read_bytes()) as response:
                assert (path.name, response.status) == (path.name, 202)
