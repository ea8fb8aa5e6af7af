"""What `max_alerts` cut off is fetched from Alertmanager; when that fails, nothing is made worse."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.intake.alertmanager_api import MAX_ANSWER, AlertmanagerApi, merged
from bot.intake.sources import registry
from retrieval.model import AlertBatch

CAPTURED = Path(__file__).parents[2] / "captured" / "alertmanager"


def truncated() -> AlertBatch:
    """The body that says "resolved" while five alerts that it left out still fire."""
    return registry()["alertmanager"].parse((CAPTURED / "trunc_status_resolved_5.json").read_bytes(), {})


def item(number: int, **change: Any) -> dict[str, Any]:
    return {
        "labels": {"alertname": "Crash", "pod": f"p{number}"},
        "annotations": {"summary": "s"},
        "startsAt": "2026-11-30T22:53:07.779Z",
        "endsAt": "2026-11-30T22:58:07.779Z",
        "updatedAt": "2026-11-30T22:53:07.779Z",
        "fingerprint": f"fp{number}",
        "generatorURL": "",
        "receivers": [{"name": "r"}],
        "status": {"state": "active", "inhibitedBy": [], "silencedBy": []},
        **change,
    }


class Asked:
    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body
        self.queries: list[list[tuple[str, str]]] = []

    async def handler(self, request: web.Request) -> web.Response:
        self.queries.append(list(request.query.items()))
        return web.Response(status=self.status, body=self.body, content_type="application/json")


@asynccontextmanager
async def alertmanager(status: int, body: bytes) -> AsyncIterator[tuple[AlertmanagerApi, Asked]]:
    asked = Asked(status, body)
    app = web.Application()
    app.router.add_get("/api/v2/alerts", asked.handler)
    async with TestServer(app) as server:
        yield AlertmanagerApi(str(server.make_url("")).rstrip("/")), asked


async def test_the_alerts_that_were_left_out_join_and_the_group_is_what_is_asked_for() -> None:
    async with alertmanager(200, json.dumps([item(n) for n in range(3, 8)]).encode()) as (api, asked):
        whole = await api.complete(truncated())

    assert [alert.status for alert in whole.alerts] == ["resolved"] * 3 + ["firing"] * 5
    assert whole.truncated == 0
    assert {alert.group_key for alert in whole.alerts} == {'{}:{alertname="Crash"}'}
    assert asked.queries == [[("silenced", "false"), ("inhibited", "false"), ("filter", 'alertname="Crash"')]]


def test_an_alert_that_fires_again_wins_over_its_resolve_in_the_delivery() -> None:
    batch = truncated()
    again = item(1, fingerprint=batch.alerts[0].fingerprint)

    whole = merged(batch, [again])

    assert sorted(alert.status for alert in whole.alerts) == ["firing", "resolved", "resolved"]


def test_what_cannot_be_read_is_passed_over() -> None:
    odd = [7, {}, item(1, labels=5), item(2, labels={}), item(3, fingerprint=""), item(4, startsAt="x"), item(5)]

    assert len(merged(truncated(), odd).alerts) == 3 + 1


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b"[]"), (200, b"{}"), (200, b"nonsense"), (302, b""), (200, b" " * (MAX_ANSWER + 10))],
    ids=["error", "map", "text", "redirect", "huge"],
)
async def test_an_answer_that_is_none_leaves_the_batch_as_it_was(status: int, body: bytes) -> None:
    async with alertmanager(status, body) as (api, _):
        assert await api.complete(truncated()) == truncated()


async def test_nobody_there_leaves_the_batch_as_it_was() -> None:
    assert await AlertmanagerApi("http://127.0.0.1:9").complete(truncated()) == truncated()


async def test_an_empty_batch_is_not_asked_about() -> None:
    empty = AlertBatch(source="alertmanager", truncated=3)

    assert await AlertmanagerApi("http://127.0.0.1:9").complete(empty) == empty
