"""The incident recorded anew from running services, and triaged like the shipped one."""

import tempfile
from pathlib import Path

import pytest

from bot.app import SystemClock
from bot.cli.triage import parse_alert, read_alert
from bot.demo.case_folder import build_case
from bot.demo.record.services import Fleet, Ground, Instance
from bot.demo.repository import CULPRIT
from bot.investigation import Investigator, Setting, incident_id_of
from bot.material import from_folder
from bot.workshop import make_workshop, prover_of
from retrieval.errors import BadInput
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.model import Verdict


async def silent(stage: str, known: str) -> None:
    return None


@pytest.mark.sandbox
@pytest.mark.timeout(240)
async def test_a_fresh_recording_is_proved_too(offline: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="receipts-test-") as folder:
        case = Path(folder) / "case"
        await build_case(case, fresh=True, environ=offline)
        assert sorted(path.name for path in (case / "traces").iterdir()) == [
            "checkout.jsonl",
            "price.jsonl",
            "storefront.jsonl",
        ]
        redactor = throwaway_redactor()
        setting = Setting(clock=SystemClock(), bundles=Path(folder), prover=prover_of(make_workshop(offline, redactor)))
        body = read_alert(case)
        alerts = parse_alert(body, "alertmanager")
        told, bundle = await Investigator(from_folder(case, redactor), setting).run(
            incident_id_of(body), alerts, wish=None, progress=silent
        )
    assert told.verdict is Verdict.PROVED
    assert told.proof
    assert told.proof.bisect
    assert told.proof.bisect.culprit == CULPRIT
    assert bundle


async def test_packages_that_cannot_be_installed_are_named_with_a_remedy(tmp_path: Path) -> None:
    nothing = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null", "RECEIPTS_CACHE": str(tmp_path / "cache")}
    with pytest.raises(BadInput, match="packages cannot be installed") as caught:
        await build_case(tmp_path / "case", fresh=True, environ=nothing)
    assert "without --fresh" in caught.value.remedy


async def test_a_service_that_does_not_start_says_what_it_printed(tmp_path: Path) -> None:
    ground = Ground(site=tmp_path, telemetry=tmp_path, endpoints=tmp_path / "endpoints.json", region="here")
    nothing = Instance(service="price", pod="price-1", commit="0" * 40, checkout=tmp_path, environment={})
    async with Fleet(ground) as fleet:
        with pytest.raises(BadInput, match=r"does not start: .*shared"):
            await fleet.start(nothing)
