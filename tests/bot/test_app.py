"""The parts put together with Slack configured, and before they run."""

from pathlib import Path

from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from bot.app import PARTS, Factories, build
from bot.incidents.engine import Triage
from bot.settings import Settings
from tests.bot.incidents.parts import FileTriage
from tests.bot.serving import settings_of

SLACK = {
    "RECEIPTS_SLACK__API_URL": "http://127.0.0.1:9/api",
    "RECEIPTS_SLACK__BOT_TOKEN": "xoxb-1",
    "RECEIPTS_SLACK__SIGNING_SECRET": "s",
    "RECEIPTS_SLACK__CHANNEL": "C1",
}


async def make_triage(settings: Settings) -> Triage:
    return FileTriage(settings.data, 0.01)


async def test_with_slack_configured_its_endpoint_is_there_and_wants_a_signature(tmp_path: Path) -> None:
    app = build(settings_of(tmp_path, **SLACK), Factories(triage=make_triage))
    async with TestClient(TestServer(app)) as client:
        async with client.post("/slack/events", data={"command": "/triage"}) as response:
            assert response.status == 401
        async with client.get("/openapi.json") as response:
            assert "/slack/events" in (await response.json())["paths"]


async def test_a_server_starts_and_takes_alerts_while_slack_is_away(tmp_path: Path) -> None:
    app = build(settings_of(tmp_path, **SLACK), Factories(triage=make_triage))
    async with TestClient(TestServer(app)) as client:
        async with client.post("/alerts/generic", json={"title": "A"}) as response:
            assert response.status == 202
        async with client.get("/readyz") as response:
            assert response.status == 200


async def test_in_socket_mode_there_is_no_endpoint_for_slack(tmp_path: Path) -> None:
    app = build(settings_of(tmp_path, RECEIPTS_SLACK__APP_TOKEN="xapp-1", **SLACK), Factories(triage=make_triage))

    assert "/slack/events" not in {resource.canonical for resource in app.router.resources()}


async def test_before_it_runs_every_request_is_asked_to_come_again(tmp_path: Path) -> None:
    app = build(settings_of(tmp_path, **SLACK), Factories(triage=make_triage))
    for method, path in (
        ("POST", "/alerts/generic"),
        ("GET", "/incidents/i"),
        ("POST", "/slack/events"),
        ("GET", "/readyz"),
    ):
        request = make_mocked_request(method, path, app=app)
        match = await app.router.resolve(request)

        assert (await match.handler(request)).status == 503
    assert app[PARTS].engine is None
