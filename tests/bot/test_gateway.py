"""The language model of a server: as the settings say, counted, and never in the way."""

import logging
import sys
from pathlib import Path

import pytest

from bot.app import SystemClock
from bot.gateway import gateway_of
from bot.live import model_of
from bot.metrics import Metrics
from retrieval.judgement.conclude import conclude
from retrieval.judgement.refinement import refine
from retrieval.model import ModelOutcome
from tests.bot.serving import settings_of
from tests.building import a_case
from tests.contract.model_server import KEY, ModelServer, saying

SAYS = (
    '{"verdict": "supported", "best": "H1", "summary": "", "claims": [], '
    '"wanted": [{"what": "repository", "service": "price"}, {"what": "logs", "service": "price"}]}'
)


def configured(base_url: str) -> dict[str, str]:
    return {"RECEIPTS_MODEL__NAME": "m", "RECEIPTS_MODEL__API_KEY": KEY, "RECEIPTS_MODEL__BASE_URL": base_url}


async def test_what_it_costs_is_counted_and_what_it_wants_is_worded_by_us(tmp_path: Path) -> None:
    metrics, case = Metrics(), conclude(a_case(), [])
    async with ModelServer() as server:
        server.steps = [saying(SAYS)]
        settings = settings_of(tmp_path, **configured(server.base_url))
        gateway = await gateway_of(settings, SystemClock(), tmp_path / "answers", metrics)
        refined = await refine(case, [], gateway)
        await gateway.close()

    assert refined.model is not None
    assert refined.model.outcome in (ModelOutcome.REFINED, ModelOutcome.NOTHING_NEW)
    assert "the repository of price" in refined.hypotheses[0].next_required_data
    assert 'receipts_model_replies_total{outcome="answered"} 1' in metrics.text()
    assert "receipts_model_tokens_total 50" in metrics.text()
    assert len(list((tmp_path / "answers").iterdir())) == 1


async def test_a_server_without_the_packages_goes_on_without_a_model_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setitem(sys.modules, "openai", None)
    found = await model_of(settings_of(tmp_path, **configured("http://127.0.0.1:9/v1")), SystemClock(), Metrics())
    none = await model_of(settings_of(tmp_path), SystemClock(), Metrics())

    assert found is None and none is None
    assert "pip install '.[llm]'" in caplog.text
    assert KEY not in caplog.text
