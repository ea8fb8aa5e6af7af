"""From deliveries to tellings: order, failures that stay alone, wishes, the kill switch."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.incidents.desk import Desk
from bot.incidents.engine import Engine, Options, Progress, Triage
from bot.incidents.presenter import Presenter
from bot.incidents.records import MAX_ATTEMPTS, Delivery, Records
from bot.intake.sources import registry
from bot.metrics import Metrics
from bot.model import BundleRef, IncidentView, Rerun, UnknownIncident
from retrieval.errors import BadInput, StoreUnavailable
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.model import Alert, AlertBatch, Case, Hypothesis, Verdict
from tests.bot.incidents.world import World, world


class WallClock:
    def now_ns(self) -> int:
        return time.time_ns()


class Told:
    """A channel that remembers; `broken` makes the next tellings fail."""

    def __init__(self) -> None:
        self.views: list[IncidentView] = []
        self.delivered: list[IncidentView] = []
        self.broken = 0
        self.news = asyncio.Event()

    async def show(self, view: IncidentView) -> None:
        if self.broken:
            self.broken -= 1
            raise ConnectionError("no way out")
        self.views.append(view)
        self.news.set()

    async def deliver(self, view: IncidentView) -> None:
        self.delivered.append(view)
        self.news.set()

    async def close(self) -> None:
        pass

    async def until(self, wanted: Callable[["Told"], bool]) -> None:
        async with asyncio.timeout(30):
            while not wanted(self):
                self.news.clear()
                await self.news.wait()

    def last(self, name: str) -> IncidentView:
        return [view for view in self.views if view.alerts[0].name == name][-1]

    def ended(self, *names: str) -> bool:
        latest = {view.alerts[0].name: view.status for view in self.views}
        return all(latest.get(name) in ("done", "failed") for name in names)


class Scripted:
    """A triage that does what its script says for the alert's name."""

    def __init__(self, **script: object) -> None:
        self.script = script
        self.wishes: list[Rerun | None] = []
        self.runs: list[str] = []

    async def run(
        self, incident_id: str, alerts: tuple[Alert, ...], *, wish: Rerun | None, progress: Progress
    ) -> tuple[Case, BundleRef | None]:
        self.wishes.append(wish)
        self.runs.append(alerts[0].name)
        await progress("read", "3 spans")
        act = self.script.get(alerts[0].name)
        if isinstance(act, list):
            act = act.pop(0) if act else None
        if isinstance(act, Exception):
            raise act
        if isinstance(act, float):
            await asyncio.sleep(act)
        if isinstance(act, Hypothesis):
            return Case(incident_id=incident_id, alerts=alerts, verdict=Verdict.LEAD, hypotheses=(act,)), None
        return Case(incident_id=incident_id, alerts=alerts), None


class Running:
    def __init__(self, here: World, triage: Triage, **options: object) -> None:
        self.records: Records = here.records
        self.channel = Told()
        self.metrics = Metrics()
        clock = WallClock()
        presenter = Presenter(self.records, self.channel, self.metrics)
        made = Options(
            clock=clock,
            new_id=here.new_id,
            sources=registry(),
            metrics=self.metrics,
            redactor=throwaway_redactor(),
            debounce_s=0.05,
        )
        self.engine = Engine(self.records, triage, presenter, replace(made, **options))
        self.desk = Desk(self.records, clock, self.engine.changed)

    async def post(self, name: str, status: str = "firing", source: str = "alertmanager", body: bytes = b"") -> None:
        item = {
            "status": status,
            "labels": {"alertname": name},
            "startsAt": "2026-11-30T22:48:14Z",
            "fingerprint": name,
        }
        text = body or json.dumps({"alerts": [item], "groupKey": name}).encode()
        delivery_id = f"d{time.monotonic_ns()}"
        await self.records.keep(
            Delivery(id=delivery_id, source=source, received_ns=time.time_ns(), headers={}, body=text)
        )
        self.engine.wake()


@asynccontextmanager
async def running(folder: Path, triage: Triage, **options: object) -> AsyncIterator[Running]:
    async with world(folder) as here:
        made = Running(here, triage, **options)
        await made.engine.start()
        try:
            yield made
        finally:
            await made.engine.stop()


async def test_the_first_message_says_looking_at_once_and_the_last_one_is_done(tmp_path: Path) -> None:
    async with running(tmp_path, Scripted(), debounce_s=0.3) as it:
        started = time.monotonic()
        await it.post("A")
        await it.channel.until(lambda told: bool(told.views))
        assert time.monotonic() - started < 1
        assert it.channel.views[0].status == "looking"

        await it.channel.until(lambda told: told.ended("A"))
        await it.channel.until(lambda told: bool(told.delivered))

    revisions = [view.revision for view in it.channel.views]
    assert revisions == sorted(set(revisions))
    assert it.channel.last("A").case == Case(incident_id="inc-1", alerts=it.channel.last("A").alerts)
    assert len(it.channel.delivered) == 1


async def test_one_incident_s_failure_stops_no_other(tmp_path: Path) -> None:
    triage = Scripted(Bad=BadInput("no such repository"))
    async with running(tmp_path, triage) as it:
        await it.post("Bad")
        await it.post("Good")
        await it.channel.until(lambda told: told.ended("Bad", "Good"))

    assert it.channel.last("Good").status == "done"
    failed = it.channel.last("Bad")
    assert (failed.status, failed.stage) == ("failed", "crashed")
    assert "no such repository" not in failed.known
    assert "Re-run" in failed.known
    assert 'receipts_triages_total{outcome="crashed"} 1' in it.metrics.text()


async def test_what_may_go_away_is_tried_again(tmp_path: Path) -> None:
    triage = Scripted(Shaky=[StoreUnavailable("away"), None])
    async with running(tmp_path, triage) as it:
        await it.post("Shaky")
        await it.channel.until(lambda told: told.ended("Shaky"))

    assert triage.runs == ["Shaky", "Shaky"]
    assert it.channel.last("Shaky").status == "done"


async def test_a_triage_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    async with running(tmp_path, Scripted(Slow=5.0), triage_limit_s=0.2) as it:
        await it.post("Slow")
        await it.channel.until(lambda told: told.ended("Slow"))

    assert it.channel.last("Slow").stage == "timeout"


async def test_with_the_kill_switch_alerts_are_shown_and_nothing_runs(tmp_path: Path) -> None:
    triage = Scripted()
    async with running(tmp_path, triage, kill_switch=True) as it:
        await it.post("A")
        await it.channel.until(lambda told: told.ended("A"))

    assert triage.runs == []
    assert it.channel.last("A").stage == "kill_switch"
    assert "kill_switch" in it.channel.last("A").known


async def test_a_channel_that_is_away_is_told_once_it_is_back(tmp_path: Path) -> None:
    async with running(tmp_path, Scripted()) as it:
        it.channel.broken = 1
        await it.post("A")
        await it.channel.until(lambda told: told.ended("A"))
        await it.channel.until(lambda told: bool(told.delivered))

    assert 'receipts_channel_calls_total{outcome="failed"} 1' in it.metrics.text()


async def test_a_re_run_keeps_earlier_wishes_and_says_what_changed(tmp_path: Path) -> None:
    first = Hypothesis(rule="r", failure_mode="crash", summary="s", suspected_service="cart")
    second = replace(first, suspected_service="price")
    triage = Scripted(A=[first, second, second])
    async with running(tmp_path, triage) as it:
        await it.post("A")
        await it.channel.until(lambda told: told.ended("A"))
        await it.desk.rerun("inc-1", Rerun(user="U1", before="90m"))
        await it.channel.until(lambda told: "price" in told.last("A").changed)
        await it.desk.rerun("inc-1", Rerun(user="U2", service="price"))
        await it.channel.until(lambda told: told.last("A").changed == "same conclusion as before")

    assert it.channel.views[-1].status == "done"
    assert [view.changed for view in it.channel.views if view.status == "done"][1] == "service cart → price"
    assert triage.wishes == [
        None,
        Rerun(user="U1", before="90m"),
        Rerun(user="U2", before="90m", service="price"),
    ]


async def test_an_answer_is_kept_and_the_triage_runs_again_with_it(tmp_path: Path) -> None:
    triage = Scripted()
    async with running(tmp_path, triage) as it:
        await it.post("A")
        await it.channel.until(lambda told: told.ended("A"))
        await it.desk.answer("inc-1", user="U1", what="request body", value='{"a":1}')
        await it.channel.until(lambda told: len(triage.runs) == 2 and told.ended("A"))

    assert triage.wishes[1] == Rerun(user="", answers={"request body": '{"a":1}'})


async def test_feedback_is_the_last_word_of_each_user(tmp_path: Path) -> None:
    async with running(tmp_path, Scripted()) as it:
        await it.post("A")
        await it.channel.until(lambda told: bool(told.views))
        for verdict in ("right", "wrong"):
            await it.desk.feedback("inc-1", user="U1", verdict=verdict)
        await it.desk.feedback("inc-1", user="U2", verdict="right", commit="abc")
        with pytest.raises(ValueError):
            await it.desk.feedback("inc-1", user="U1", verdict="perhaps")
        rows = await it.records.database.run(
            lambda db: db.execute("SELECT user, verdict, commit_sha FROM feedback ORDER BY user").fetchall()
        )

    assert [tuple(row) for row in rows] == [("U1", "wrong", ""), ("U2", "right", "abc")]


async def test_an_unknown_incident_is_said_to_be_unknown(tmp_path: Path) -> None:
    async with running(tmp_path, Scripted()) as it:
        for asking in (
            it.desk.view("inc-9"),
            it.desk.latest("C9"),
            it.desk.rerun("inc-9", Rerun(user="U")),
            it.desk.feedback("inc-9", user="U", verdict="right"),
            it.desk.answer("inc-9", user="U", what="w", value="v"),
        ):
            with pytest.raises(UnknownIncident):
                await asking


async def test_what_cannot_be_read_is_told_raw_and_does_not_block_what_follows(tmp_path: Path) -> None:
    async with running(tmp_path, Scripted()) as it:
        await it.post("", body=b'{"alerts": [')
        await it.post("", source="gone", body=b"{}")
        await it.post("Good")
        await it.channel.until(lambda told: told.ended("Good"))
        await it.channel.until(lambda told: len({view.incident_id for view in told.views}) == 3)

    raw = [view for view in it.channel.views if view.stage == "unreadable"]
    assert {view.alerts[0].annotations["raw"] for view in raw} == {'{"alerts": [', "{}"}


async def test_a_delivery_that_hits_a_mistake_of_ours_is_buried_and_the_next_goes_on(tmp_path: Path) -> None:
    class Wrong:
        name = "wrong"

        def parse(self, body: bytes, headers: object) -> AlertBatch:
            return AlertBatch(source="wrong", alerts=(Alert(**{**FIELDS, "starts_ns": 2**70}),))

    async with running(tmp_path, Scripted(), sources={**registry(), "wrong": Wrong()}) as it:
        await it.post("", source="wrong", body=b"{}")
        await it.post("Good")
        await it.channel.until(lambda told: told.ended("Good"))

    assert 'receipts_internal_errors_total{where="absorb"} 1' in it.metrics.text()


FIELDS = {"source": "wrong", "fingerprint": "f", "name": "n", "status": "firing"}


async def test_a_secret_in_an_alert_is_told_to_nobody(tmp_path: Path) -> None:
    secret = "xoxb-123456789012-123456789012-AbCdEfGhIjKlMnOpQrStUvWx"
    body = {"status": "firing", "labels": {"alertname": "A"}, "annotations": {"summary": f"token {secret} is refused"}}
    async with running(tmp_path, Scripted()) as it:
        await it.post("", body=json.dumps({"alerts": [body, {"odd": secret}]}).encode())
        await it.channel.until(lambda told: len({view.incident_id for view in told.views}) == 2)

    assert "xoxb-1234" not in repr(it.channel.views)


async def test_a_stop_gives_the_running_triage_back_uncounted(tmp_path: Path) -> None:
    triage = Scripted(A=[30.0, None])
    async with running(tmp_path, triage) as it:
        await it.post("A")
        await it.channel.until(lambda told: bool(triage.runs))
    async with running(tmp_path, triage) as again:
        await again.channel.until(lambda told: told.ended("A"))
        attempts = await again.records.database.run(
            lambda db: db.execute("SELECT attempts FROM jobs").fetchone()["attempts"]
        )

    assert attempts == 1


async def test_a_triage_that_kills_the_process_every_time_is_given_up(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.replay("001")
        far_ns = here.clock.ns
        for attempt in range(MAX_ATTEMPTS):
            far_ns += 10**15
            job = await here.records.claim("w", far_ns, 10**9)
            assert job is not None and job.attempts == attempt + 1
            await here.records.recover(far_ns)

        (incident,) = await here.incidents()
        assert (incident.status, incident.stage) == ("failed", "crashed")
        assert await here.jobs() == []


async def test_the_first_deaths_delay_nothing_the_later_ones_more_and_more(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.replay("001")
        now_ns, waits = here.clock.ns + 10**12, []
        for _ in range(4):
            job = await here.records.claim("w", now_ns, 10**9)
            assert job is not None
            await here.records.recover(now_ns)
            due_ns = await here.records.next_run_ns()
            assert due_ns is not None
            waits.append((due_ns - now_ns) // 10**9)
            now_ns = due_ns

    assert waits == [0, 0, 8, 16]


async def test_a_lease_that_ran_out_is_taken_over_and_a_heartbeat_keeps_it(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.replay("001")
        now_ns = here.clock.ns + 10**12
        job = await here.records.claim("one", now_ns, 10**9)
        assert job is not None
        assert await here.records.claim("two", now_ns + 10**8, 10**9) is None

        await here.records.heartbeat(job, now_ns + 10**10)
        assert await here.records.claim("two", now_ns + 2 * 10**9, 10**9) is None
        assert await here.records.claim("two", now_ns + 2 * 10**10, 10**9) is not None


async def test_deliveries_are_forgotten_after_a_week_unless_they_wait(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.replay("001")
        waiting = Delivery(id="d-waiting", source="test", received_ns=here.clock.ns, headers={}, body=b"{}")
        await here.records.keep(waiting)

        assert await here.records.sweep(here.clock.ns + 8 * 86400 * 10**9) == 1
        assert await here.records.next_delivery() == waiting
