"""What can be read over HTTP: the incident page, the bundle, health, metrics, the API's description."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from msgspec.structs import replace

from bot.incidents.engine import Progress
from bot.metrics import Metrics
from bot.model import BundleRef, IncidentView, Rerun
from bot.web.middleware import observed
from bot.web.page import render, utc
from retrieval.errors import StoreUnavailable
from retrieval.model import (
    Alert,
    Attempt,
    Bisect,
    Case,
    Claim,
    Deploy,
    ErrorSignature,
    Evidence,
    Hypothesis,
    MissingData,
    Onset,
    Patch,
    Proof,
    RankedItem,
    Rankings,
    Rollout,
    Topology,
    Verdict,
)
from tests.bot.serving import Served, served

HOSTILE = "<script>alert(1)</script> {{ 7*7 }} \u202e\"'>"
S = 10**9
T0 = 1796078894 * S


def alert(**change: object) -> Alert:
    fields = {
        "source": "alertmanager", "fingerprint": "f", "name": "HighErrorRate", "status": "firing", "starts_ns": T0,
        "labels": {"service": "checkout"}, "annotations": {"summary": "checkout 5xx"},
    }  # fmt: skip
    return Alert(**{**fields, **change})


def proved() -> Case:
    error = ErrorSignature("AttributeError", "'NoneType' object has no attribute 'strip'")
    return Case(
        incident_id="inc-1",
        alerts=(alert(),),
        onset=Onset(at_ns=T0 - 240 * S, source="metric", reason="errors rise"),
        topology=Topology(path=("gateway", "checkout", "price")),
        rollout=Rollout(
            current={"price": Deploy(service="price", git_sha="a" * 40, started_ns=T0 - 300 * S, percent=25.0)},
            previous={"price": Deploy(service="price", git_sha="b" * 40, started_ns=T0 - 86400 * S)},
        ),
        evidence=(
            Evidence(id="E1", artifact_id="x", kind="log", source="logs/price.jsonl:7", sha256="ab" * 32,
                     quote=HOSTILE, why="the error itself", time_ns=T0, service="price"),
        ),
        hypotheses=(
            Hypothesis(rule="crash", failure_mode="null_dereference", summary="format_discount() gets None",
                       suspected_service="price", suspected_commit="a" * 40, suspected_file="price/format.py",
                       suspected_function="price/format.py::format_discount", confidence=0.93,
                       claims=(Claim("It fails in format_discount.", ("E1", "E9")),),
                       minimal_repro_steps=("run the test",), would_disprove="errors on old pods"),
            Hypothesis(rule="config", failure_mode="flag", summary="the flag coupon_text", confidence=0.2),
        ),
        rankings=Rankings(services=(RankedItem("price", 0.9), RankedItem("checkout", 0.4))),
        proof=Proof(
            service="price", repo="price", test="tests/test_receipts.py", command=("pytest", "-q"),
            files={"tests/test_receipts.py": "def test_it():\n    assert 1 < 2\n"},
            at_good=Attempt(commit="b" * 40, outcome="passed"),
            at_deployed=Attempt(commit="a" * 40, outcome="failed", error_signature=error, matches_production=True),
            bisect=Bisect(culprit="a" * 40, acquitted=("c" * 40,)),
            patch=Patch(diff="--- a\n+++ b\n", strategy="guard", rationale="None is let through", outcome="passed"),
        ),
        verdict=Verdict.PROVED,
        missing=(MissingData("traces", "none of payment", "the collector"),),
        looked_at=("12 logs",),
    )  # fmt: skip


def view(case: Case | None = None, **change: object) -> IncidentView:
    fields = {
        "incident_id": "inc-1", "status": "done", "alerts": (alert(),), "firing": 1, "resolved": 0,
        "started_ns": T0, "now_ns": T0, "case": case, "seconds": 14.2,
    }  # fmt: skip
    return IncidentView(**{**fields, **change})


def test_a_proved_incident_shows_verdict_claims_lamps_test_patch_and_evidence() -> None:
    page = render(view(proved(), bundle=BundleRef(path=Path("b.zip"), sha256="cd" * 32, size=9)))

    for part in (
        '<span class="verdict">proved</span>', "confidence 0.93", "14 s", "no model",
        'href="/incidents/inc-1/bundle"', "cd" * 32, "format_discount() gets None",
        '<a class="cite" href="#E1">E1</a>', 'id="E1"', "logs/price.jsonl:7", "ab" * 32,
        'class="lamp green"></span>passed at the last good commit',
        'class="lamp red"></span>failed at the deployed commit',
        "as in production: AttributeError", "passed with the patch", "Convicted by bisect", "cccccccccc",
        "def test_it():", "--- a", "gateway → checkout → price", "errors on old pods", "run the test",
        "the flag coupon_text", "none of payment", "12 logs", "deploy of price at aaaaaaaaaa (25 %)",
        "onset: errors rise",
    ):  # fmt: skip
        assert part in page, part
    assert page.index("deploy of price at bbbbbbbbbb") < page.index("onset: errors rise") < page.index("fires")


def test_a_citation_that_leads_nowhere_is_no_link() -> None:
    assert 'href="#E9"' not in render(view(proved()))


def test_foreign_text_is_text() -> None:
    hostile = alert(name=HOSTILE, labels={"l": HOSTILE}, annotations={"summary": HOSTILE, "raw": HOSTILE})

    page = render(view(proved(), alerts=(hostile,), status="failed", stage="unreadable", known=HOSTILE))

    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "{{ 7*7 }}" in page


def test_while_it_looks_the_page_says_so_and_reloads() -> None:
    page = render(view(status="looking", stage="prove", known="3 suspects"))

    assert "Looking: prove. 3 suspects" in page
    assert 'http-equiv="refresh"' in page
    assert 'http-equiv="refresh"' not in render(view(proved()))


def test_little_is_shown_as_little() -> None:
    case = Case(
        incident_id="inc-1", alerts=(), proof=Proof(service="s", repo="r", not_run_reason="no sandbox here")
    )  # fmt: skip
    page = render(view(case, refired=2, truncated=5, changed="verdict lead → proved", alerts=()))

    assert "insufficient evidence" in page
    assert "no sandbox here" in page
    assert "not run at the deployed commit" in page
    assert "fired again 2×" in page
    assert "5 more that the sender left out" in page
    assert "verdict lead → proved" in page


def test_an_incident_with_nothing_at_all_has_a_page() -> None:
    assert "inc-1" in render(view(alerts=(), firing=0))


def test_a_resolved_alert_has_an_end_and_moments_are_utc() -> None:
    page = render(view(alerts=(alert(status="resolved", ends_ns=T0 + 60 * S),)))

    assert "is resolved" in page
    assert (utc(T0), utc(None)) == ("2026-11-30 22:48:14 UTC", "")


class Finding:
    def __init__(self, case: Case, content: bytes = b"PK zip") -> None:
        self._case = case
        self._content = content
        self.folder = Path()

    async def run(
        self, incident_id: str, alerts: tuple[Alert, ...], *, wish: Rerun | None, progress: Progress
    ) -> tuple[Case, BundleRef | None]:
        path = self.folder / "bundle.zip"
        path.write_bytes(self._content)
        case = replace(self._case, incident_id=incident_id)
        return case, BundleRef(path=path, sha256="ef" * 32, size=len(self._content))


async def triaged(here: Served) -> str:
    body = {"alerts": [{"status": "firing", "labels": {"alertname": "A"}, "fingerprint": "f"}]}
    async with here.client.post("/alerts/alertmanager", json=body, headers={"Authorization": "Bearer t"}) as response:
        assert response.status == 202
    return await here.concluded()


async def test_page_and_bundle_are_served_under_the_incident_s_id(tmp_path: Path) -> None:
    triage = Finding(proved())
    triage.folder = tmp_path
    async with served(tmp_path, triage=triage) as here:
        incident_id = await triaged(here)
        async with here.client.get(f"/incidents/{incident_id}") as page:
            text = await page.text()
        async with here.client.get(f"/incidents/{incident_id}/bundle") as bundle:
            content = await bundle.read()

    assert (page.status, page.content_type) == (200, "text/html")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert f'href="/incidents/{incident_id}/bundle"' in text
    assert content == b"PK zip"
    assert bundle.headers["Content-Type"] == "application/zip"
    assert f'filename="receipts-{incident_id}.zip"' in bundle.headers["Content-Disposition"]


async def test_an_id_cannot_be_guessed() -> None:
    from bot.app import new_id

    ids = {new_id() for _ in range(100)}

    assert len(ids) == 100
    assert all(re.fullmatch(r"inc-[0-9a-hjkmnp-tv-z]{16}", made) for made in ids)


@pytest.mark.parametrize("path", ["/incidents/inc-none", "/incidents/inc-none/bundle", "/incidents/..%2F..%2Fetc"])
async def test_an_unknown_incident_is_404_without_an_echo(tmp_path: Path, path: str) -> None:
    async with served(tmp_path) as here, here.client.get(path) as response:
        text = await response.text()

    assert response.status == 404
    assert "etc" not in text


async def test_an_incident_without_a_bundle_says_so(tmp_path: Path) -> None:
    async with served(tmp_path, RECEIPTS_KILL_SWITCH="true") as here:
        async with here.client.post("/alerts/generic", json={"title": "A"}):
            pass
        assert here.parts.records
        for _ in range(500):
            rows = await here.parts.records.database.run(lambda db: db.execute("SELECT id FROM incidents").fetchall())
            if rows:
                break
            await asyncio.sleep(0.01)
        async with here.client.get(f"/incidents/{rows[0]['id']}/bundle") as response:
            assert (response.status, (await response.json())["error"]) == (404, "no_bundle")


async def test_private_pages_ask_for_credentials(tmp_path: Path) -> None:
    triage = Finding(proved())
    triage.folder = tmp_path
    environ = {"RECEIPTS_PAGES__PRIVATE": "true", "RECEIPTS_ALERTS__TOKENS": '["t"]'}
    async with served(tmp_path, triage=triage, **environ) as here:
        incident_id = await triaged(here)
        for path in (f"/incidents/{incident_id}", f"/incidents/{incident_id}/bundle"):
            async with here.client.get(path) as response:
                assert response.status == 401
            async with here.client.get(path, headers={"Authorization": "Bearer t"}) as response:
                assert response.status == 200


async def test_health_readiness_and_metrics(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        async with here.client.get("/healthz") as response:
            assert response.status == 200
        async with here.client.get("/readyz") as response:
            assert response.status == 200
        async with here.client.get("/metrics") as response:
            text = await response.text()
        assert here.parts.engine
        await here.parts.engine.stop()
        async with here.client.get("/readyz") as response:
            assert response.status == 503

    assert 'receipts_http_requests_total{method="GET",route="/healthz",status="200"} 1' in text
    assert "# TYPE receipts_http_requests_total counter" in text


async def test_the_description_has_what_is_served_and_nothing_else(tmp_path: Path) -> None:
    async with served(tmp_path) as here, here.client.get("/openapi.json") as response:
        document = await response.json()

    assert document["openapi"] == "3.1.0"
    assert sorted(document["paths"]) == [
        "/alerts/{source}",
        "/healthz",
        "/incidents/{incident_id}",
        "/incidents/{incident_id}/bundle",
        "/metrics",
        "/openapi.json",
        "/readyz",
    ]
    assert document["paths"]["/alerts/{source}"]["post"]["parameters"][0]["name"] == "source"


async def test_a_request_keeps_its_id_and_an_odd_one_is_replaced(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        async with here.client.get("/healthz", headers={"X-Request-Id": "abc-1"}) as response:
            assert response.headers["X-Request-Id"] == "abc-1"
        async with here.client.get("/healthz", headers={"X-Request-Id": "a b<"}) as response:
            assert re.fullmatch(r"[0-9a-f]{16}", response.headers["X-Request-Id"])


async def test_a_wrong_path_or_method_is_json(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        async with here.client.get("/nowhere") as response:
            assert (response.status, (await response.json())["error"]) == (404, "not_found")
        async with here.client.get("/alerts/alertmanager") as response:
            assert (response.status, response.headers["Allow"]) == (405, "POST")


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.mark.parametrize(
    ("error", "status"), [(RuntimeError("secret detail"), 500), (StoreUnavailable("secret detail"), 503)]
)
async def test_what_nobody_foresaw_shows_an_id_and_not_its_text(error: Exception, status: int) -> None:
    async def fails(request: web.Request) -> web.StreamResponse:
        raise error

    metrics = Metrics()
    app = web.Application(middlewares=[observed(metrics)])
    app.router.add_get("/", fails)
    async with TestClient(TestServer(app)) as client, client.get("/") as response:
        text = await response.text()

    assert response.status == status
    assert "secret" not in text
    assert response.headers["X-Request-Id"] in text
    assert 'receipts_internal_errors_total{where="http"} 1' in metrics.text()


def test_a_metric_without_a_description_cannot_be_counted_and_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.add("receipts_alerts_total", {"what": 'a"b\n\\'})

    with pytest.raises(KeyError):
        metrics.add("nameless", {})
    assert 'what="a\\"b\\n\\\\"' in metrics.text()
