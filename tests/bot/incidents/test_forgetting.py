"""Incidents that are over are forgotten with their bundles; what is under way is not (row A12)."""

import asyncio
from pathlib import Path

import pytest

from bot.incidents.forgetting import Forgetting
from bot.incidents.records import Conclusion
from bot.live import retention_ns
from bot.model import BundleRef, UnknownIncident
from retrieval.errors import BadInput
from retrieval.model import Case
from tests.bot.incidents.world import World, world
from tests.bot.serving import settings_of

DAY_NS = 86_400 * 10**9


async def concluded(here: World, folder: Path) -> str:
    """An incident that is over and told."""
    await here.replay("001")
    job = await here.records.claim("one", here.clock.ns + 10**12, 10**9)
    assert job is not None
    path = folder / f"{job.incident_id}.zip"
    path.write_bytes(b"PK")
    case = Case(incident_id=job.incident_id, alerts=())
    found = Conclusion(case=case, bundle=BundleRef(path=path, sha256="0" * 64, size=2), seconds=1)
    await here.records.conclude(job, found, here.clock.ns)
    await here.records.told(job.incident_id, revision=99, conclusion=1)
    return job.incident_id


async def test_an_incident_and_its_bundle_go_when_their_time_is_over(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        incident = await concluded(here, tmp_path)
        view = await here.records.view(incident)
        assert view.bundle is not None
        forgetting = Forgetting(here.records, tmp_path, here.clock, 30 * DAY_NS)

        here.clock.ns += 29 * DAY_NS
        assert await forgetting.step() == 0
        assert view.bundle.path.exists()

        here.clock.ns += 2 * DAY_NS
        assert await forgetting.step() == 1
        assert not view.bundle.path.exists()
        with pytest.raises(UnknownIncident):
            await here.records.view(incident)
        assert await forgetting.step() == 0


async def test_what_is_under_way_or_untold_stays(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.replay("001")
        here.clock.ns += 3650 * DAY_NS
        assert await Forgetting(here.records, tmp_path, here.clock, DAY_NS).step() == 0
        assert len(await here.incidents()) == 1


async def test_a_server_forgets_at_its_start_and_ends_with_it(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        incident = await concluded(here, tmp_path)
        here.clock.ns += 31 * DAY_NS
        forgetting = Forgetting(here.records, tmp_path, here.clock, 30 * DAY_NS)
        forgetting.start()
        for _ in range(500):
            if not await here.incidents():
                break
            await asyncio.sleep(0.01)
        await forgetting.stop()
        with pytest.raises(UnknownIncident):
            await here.records.view(incident)


async def test_without_a_setting_incidents_are_kept(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        incident = await concluded(here, tmp_path)
        here.clock.ns += 3650 * DAY_NS
        assert await Forgetting(here.records, tmp_path, here.clock, None).step() == 0
        assert (await here.records.view(incident)).incident_id == incident


def test_retention_is_by_kind_and_an_unknown_kind_is_named(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, RECEIPTS_RETENTION='{"log": "3d", "incidents": "90d"}')
    assert retention_ns(settings) == {"log": 3 * DAY_NS}

    with pytest.raises(BadInput, match=r"retention\.logs: no such kind"):
        retention_ns(settings_of(tmp_path, RECEIPTS_RETENTION='{"logs": "3d"}'))
    with pytest.raises(BadInput, match="nothing would be kept"):
        settings_of(tmp_path, RECEIPTS_RETENTION='{"log": "0s"}')
