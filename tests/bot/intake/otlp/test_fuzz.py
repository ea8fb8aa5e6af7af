"""Thousands of damaged bodies: every one is answered, none as our own fault."""

import gzip
import json
import random
from collections import Counter
from typing import Any

import pytest

from bot.intake.otlp.encoding import JSON
from tests.bot.intake.otlp.conftest import captured
from tests.bot.intake.otlp.sending import Sent, Server

ROUNDS = 400  # for each captured body
ODD: list[Any] = [
    None, True, -1, 0, 2**64, 10**400, 1e308, "", "0", "x" * 70_000, "\ud800", [], {}, [[[]]], {"": {}}, "NaN",
    {"stringValue": 5}, {"kvlistValue": {"values": [{"key": "a", "value": {"arrayValue": {"values": 3}}}]}},
]  # fmt: skip


@pytest.mark.parametrize("seed", range(1))
async def test_no_damaged_body_is_answered_as_our_own_fault(server: Server, seed: int) -> None:
    rng, statuses = random.Random(seed), Counter[int]()
    for sent in captured():
        for _ in range(ROUNDS):
            body = damaged(rng, sent)
            answer = await server.post(rng.choice(["traces", "logs", "metrics"]), body, sent.headers)
            statuses[answer.status] += 1
            assert answer.status in (200, 400), (sent.name, answer.body, body)
    assert statuses[200] > 500
    assert statuses[400] > 500
    await server.collector.catch_up()
    async with server.here.client.get("/readyz") as response:
        assert response.status == 200


def damaged(rng: random.Random, sent: Sent) -> bytes:
    body = gzip.decompress(sent.body) if sent.body[:2] == b"\x1f\x8b" else sent.body
    if sent.headers["Content-Type"] == JSON and rng.random() < 0.6:
        body = json.dumps(_altered(rng, json.loads(body), 0.02)).encode()
    else:
        body = _scrambled(rng, body)
    return gzip.compress(body, 1) if "Content-Encoding" in sent.headers else body


def _scrambled(rng: random.Random, body: bytes) -> bytes:
    found = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found))
        match rng.randrange(4):
            case 0:
                found[at] = rng.randrange(256)
            case 1:
                del found[at : at + rng.randint(1, 20)]
            case 2:
                found[at:at] = rng.randbytes(rng.randint(1, 5))
            case _:
                found = found[: at + 1]
    return bytes(found)


def _altered(rng: random.Random, value: Any, share: float) -> Any:
    if rng.random() < share:
        return rng.choice(ODD)
    if isinstance(value, dict):
        return {k: _altered(rng, v, share) for k, v in value.items()}
    return [_altered(rng, v, share) for v in value] if isinstance(value, list) else value
