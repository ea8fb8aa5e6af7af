"""Which alerts are one incident: the captured deliveries of a real Alertmanager, and the cases beside them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from retrieval.model import AlertBatch
from tests.bot.incidents.world import World, alert, world


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def test_a_group_that_arrives_in_pieces_is_one_incident(here: World) -> None:
    await here.replay("040", "041")

    (incident,) = await here.incidents()
    assert (incident.firing, incident.resolved) == (3, 0)
    assert await here.jobs() == ["inc-1"]


async def test_the_capture_in_its_order_makes_one_incident_per_episode_of_a_group(here: World) -> None:
    await here.replay("001", "002", "005", "024", "026", "028")
    await here.replay("040", "041", "043", "045", "046")

    single, grouped, unicode_ = await here.incidents()
    assert (single.firing, single.resolved, single.refired) == (0, 1, 0)
    assert (unicode_.firing, unicode_.resolved) == (0, 1)
    assert (grouped.firing, grouped.resolved, grouped.refired) == (0, 4, 1)
    assert await here.is_over(grouped.incident_id)


async def test_firing_again_with_the_same_start_opens_the_same_incident_again(here: World) -> None:
    await here.replay("002", "026")
    assert await here.is_over("inc-1")

    await here.replay("040")

    (incident,) = await here.incidents()
    assert (incident.firing, incident.resolved, incident.refired) == (1, 2, 1)
    assert not await here.is_over("inc-1")


async def test_firing_again_with_a_new_start_after_the_end_is_a_new_incident(here: World) -> None:
    await here.replay("002", "046", "048")

    old, new = await here.incidents()
    assert (old.firing, new.firing) == (0, 1)
    assert await here.jobs() == ["inc-1", "inc-2"]


async def test_a_repeat_changes_nothing(here: World) -> None:
    await here.replay("009")
    before = await here.incidents()

    (absorbed,) = await here.replay("021")

    assert (absorbed.touched, absorbed.outcomes) == ((), {"repeat": 1})
    assert await here.incidents() == before


async def test_a_partial_resolve_leaves_the_rest_firing(here: World) -> None:
    await here.replay("041", "043")

    (incident,) = await here.incidents()
    assert (incident.firing, incident.resolved) == (2, 1)


async def test_a_truncated_delivery_that_says_resolved_does_not_end_the_incident(here: World) -> None:
    await here.replay("004", "025")

    (incident,) = await here.incidents()
    assert (incident.firing, incident.resolved, incident.truncated) == (0, 3, 5)
    assert not await here.is_over("inc-1")


async def test_once_nothing_is_left_out_the_end_is_believed(here: World) -> None:
    await here.send(alert(pod="1"), truncated=2)
    await here.send(alert(pod="1", status="resolved"), truncated=2)
    assert not await here.is_over("inc-1")

    await here.send(alert(pod="1", status="resolved"))

    assert await here.is_over("inc-1")


async def test_two_alertmanagers_that_deliver_the_same_make_one_incident(here: World) -> None:
    await here.send(alert(pod="1"), alert(pod="2"))
    other = [replace(a, external_url="http://other-am") for a in (alert(pod="1"), alert(pod="2"))]

    absorbed = await here.send(*other)
    await here.send(replace(alert(pod="3"), external_url="http://other-am"))

    (incident,) = await here.incidents()
    assert absorbed.outcomes == {"repeat": 2}
    assert incident.firing == 3


async def test_a_start_that_moves_backwards_is_the_same_episode(here: World) -> None:
    await here.send(alert(starts_s=10))

    absorbed = await here.send(alert(starts_s=5))

    assert absorbed.outcomes == {"repeat": 1}


async def test_a_later_start_says_that_we_were_not_told_of_the_end(here: World) -> None:
    await here.send(alert(starts_s=0), alert(pod="2"))

    await here.send(alert(starts_s=60))

    (incident,) = await here.incidents()
    assert (incident.firing, incident.resolved, incident.refired) == (2, 0, 1)


async def test_a_late_resolve_of_an_earlier_episode_does_not_end_the_present_one(here: World) -> None:
    await here.send(alert(starts_s=0))
    await here.send(alert(starts_s=60))

    absorbed = await here.send(alert(starts_s=0, status="resolved"))

    (incident,) = await here.incidents()
    assert incident.firing == 1
    assert absorbed.touched == ()


async def test_a_receiver_that_is_never_told_of_ends_gets_a_new_incident_the_next_day(here: World) -> None:
    await here.replay("006")

    await here.send(alert("DiskFull"), after_s=1)
    await here.send(alert("DiskFull", starts_s=86000), after_s=86400)

    assert [view.incident_id for view in await here.incidents()] == ["inc-1", "inc-2", "inc-3"]


async def test_an_alert_that_flaps_is_counted_in_one_message_from_the_third_time_on(here: World) -> None:
    for n in range(6):
        await here.send(alert(starts_s=n * 60))
        await here.send(alert(starts_s=n * 60, status="resolved"), after_s=30)

    first, second = await here.incidents()
    assert (first.refired, second.refired) == (0, 4)


async def test_a_resolve_of_something_never_seen_opens_nothing(here: World) -> None:
    absorbed = await here.send(alert(status="resolved"))

    assert absorbed.outcomes == {"ignored": 1}
    assert await here.incidents() == []


async def test_a_resolved_alert_joins_what_its_neighbours_open(here: World) -> None:
    await here.send(alert(pod="2", status="resolved"), alert(pod="1"))

    (incident,) = await here.incidents()
    assert (incident.firing, incident.resolved) == (1, 1)


async def test_groups_of_different_alertmanagers_are_different(here: World) -> None:
    await here.send(alert(pod="1"))
    await here.send(replace(alert(pod="2"), external_url="http://other-am"))

    assert len(await here.incidents()) == 2


async def test_without_a_group_each_delivery_stands_for_itself_and_repeats_are_known(here: World) -> None:
    one, two = alert(pod="1", group=""), alert(pod="2", group="")
    await here.send(one)
    await here.send(two)
    await here.send(one)

    assert [view.firing for view in await here.incidents()] == [1, 1]


async def test_a_sender_without_start_times_repeats_and_resolves_all_the_same(here: World) -> None:
    firing = replace(alert(group=""), starts_ns=0)
    await here.send(firing)
    opened = here.clock.ns
    absorbed = await here.send(firing)

    (incident,) = await here.incidents()
    assert absorbed.outcomes == {"repeat": 1}
    assert incident.alerts[0].starts_ns == opened

    await here.send(replace(firing, status="resolved"))
    assert await here.is_over("inc-1")


async def test_a_joined_alert_is_triaged_again_only_when_it_is_about_something_else(here: World) -> None:
    await here.send(alert(service="cart"))
    job = await here.records.claim("w", here.clock.ns + 10**10, 10**12)
    assert job is not None

    await here.send(alert(service="cart", pod="2"))
    assert await here.jobs() == []

    await here.send(alert(service="payment"))
    assert await here.jobs() == ["inc-1"]


async def test_in_a_storm_one_incident_takes_in_what_is_new(here: World) -> None:
    for n in range(500):
        await here.send(alert(f"Alert{n}", group=f"g{n}"), after_s=0.05)

    incidents = await here.incidents()
    assert len(incidents) == 20
    assert sorted(view.firing for view in incidents) == [1] * 19 + [481]


async def test_what_cannot_be_read_is_one_incident_per_sender_that_shows_it_raw(here: World) -> None:
    broken = AlertBatch(source="test", rejected=(('{"a":1}', "labels: there are none"),))
    await here.absorb(broken)
    again = await here.absorb(broken)
    await here.absorb(AlertBatch(source="test", rejected=(('{"a":2}', "labels: there are none"),)))

    (incident,) = await here.incidents()
    assert again.touched == ()
    assert (incident.status, incident.stage, incident.firing) == ("failed", "unreadable", 2)
    assert incident.alerts[0].annotations == {"raw": '{"a":1}', "summary": "labels: there are none"}
    assert "could not be read" in incident.known
    assert await here.jobs() == []


async def test_a_batch_that_is_partly_readable_makes_both(here: World) -> None:
    await here.absorb(AlertBatch(source="test", alerts=(alert(),), rejected=(("17", "a map was expected"),)))

    assert [view.status for view in await here.incidents()] == ["looking", "failed"]
    assert await here.jobs() == ["inc-1"]
