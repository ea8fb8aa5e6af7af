"""The incident recorded anew from running services."""

from pathlib import Path

import pytest

from bot.demo.case_folder import build_case
from bot.demo.record.services import Fleet, Ground, Instance
from bot.demo.repository import RELEASES
from retrieval.errors import BadInput
from retrieval.ingest.case_folder import read_sources
from retrieval.ingest.redaction import throwaway_redactor


@pytest.mark.timeout(240)
async def test_a_fresh_recording_tells_the_same_incident(offline: dict[str, str], tmp_path: Path) -> None:
    await build_case(tmp_path / "fresh", fresh=True, environ=offline)

    told = await read_sources(tmp_path / "fresh", redactor=throwaway_redactor(), scratch=tmp_path / "scratch")

    assert not told.problems
    assert {span.service for span in told.spans} == {"storefront", "checkout", "price"}
    failed = [span for span in told.spans if span.service == "price" and span.failed]
    assert len(failed) >= 5
    assert {span.resource["service.version"] for span in failed} == {RELEASES.price_canary[:12]}
    assert {span.exception and span.exception.type for span in failed} == {"AttributeError"}
    assert len(told.tests) > 40
    assert {test.outcome for test in told.tests} == {"passed"}
    for path in (tmp_path / "fresh").glob("*/*.jsonl"):
        assert str(tmp_path) not in path.read_text()


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
