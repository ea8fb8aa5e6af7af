"""The demo's path where it does not end well."""

from pathlib import Path

import pytest
from aiohttp import web

from bot.demo import play
from bot.demo.play import Stage, played
from retrieval.errors import StoreUnavailable


async def test_an_alert_that_nobody_can_read_is_told_as_it_came(case: Path, tmp_path: Path) -> None:
    (case / "alert.json").write_text('{"version": "4", "alerts": [{"labels": "the shop is on fire"}]}')
    (tmp_path / "data").mkdir()
    said: list[str] = []

    async with played(Stage(case=case, data=tmp_path / "data", say=said.append)) as ended:
        assert (ended.view.status, ended.view.stage) == ("failed", "unreadable")
        assert "the shop is on fire" in str(ended.messages)

    assert said[0].startswith("stored ")
    assert said[-1].startswith("unreadable")


async def test_an_alert_that_is_refused_ends_the_demo() -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.Response(status=401)

    app = web.Application()
    app.router.add_post("/alerts/alertmanager", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with pytest.raises(StoreUnavailable, match="refused the alert \\(401\\)"):
            await play._post(f"http://127.0.0.1:{runner.addresses[0][1]}", b"{}")
    finally:
        await runner.cleanup()


async def test_a_triage_that_does_not_end_ends_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "LIMIT_S", 0.01)
    with pytest.raises(StoreUnavailable, match="did not end"):
        await play._Watched(lambda text: None).end()
