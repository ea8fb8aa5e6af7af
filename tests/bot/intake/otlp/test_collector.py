"""From the spool to the store: what is kept of traces, when, and that a crash changes nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bot.intake.otlp.collector import SETTLED_NS, WAIT_NS, Collector, Options
from bot.intake.otlp.encoding import JSON, Signal
from bot.intake.otlp.routes import prepare
from bot.intake.otlp.spool import Spool
from bot.metrics import Metrics
from retrieval.errors import Reason, StoreError
from retrieval.index import open_index
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.ingest.sampling import sampled
from retrieval.kinds import load_sources
from retrieval.kinds.log import COUNT
from retrieval.model import CaseSources, Document, Query
from retrieval.ports import Index
from tests.bot.intake.otlp.sending import SECOND, START, a_log, a_span, logs, metrics, traces

SHARE = 0.25
FAILED = {"code": 2}


class Clock:
    def __init__(self) -> None:
        self.ns = START + 3600 * SECOND

    def now_ns(self) -> int:
        return self.ns


class Bench:
    """A collector whose clock the test moves and whose work the test starts."""

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder = folder
        self.index = index
        self.clock = Clock()
        self.metrics = Metrics()
        self.redactor = throwaway_redactor()
        self.collector: Collector

    async def open(self) -> None:
        options = Options(
            clock=self.clock, redactor=self.redactor, share=SHARE, slow_ns=SECOND, keep_ns=7 * 86_400 * SECOND
        )
        spool = await Spool.open(self.folder / "otlp.db")
        self.collector = Collector(spool, self.index, options, self.metrics)

    async def send(self, signal: Signal, body: dict[str, Any]) -> bool:
        made = prepare(signal, JSON, json.dumps(body).encode(), self.collector.options)
        return await self.collector.accept(made.request)

    async def pass_time(self, ns: int) -> None:
        self.clock.ns += ns
        await self.collector._due()

    async def held(self) -> CaseSources:
        return await load_sources(self.index, acl=("public",), from_ns=0, to_ns=2**62)

    async def crash(self) -> None:
        """What a process leaves behind that is gone at this moment, and its successor."""
        await self.collector.spool.close()
        await self.open()
        await self.collector._step(received_before_ns=0)


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Bench]:
    index = await open_index(None)
    made = Bench(folder, index)
    await made.open()
    yield made
    await made.collector.stop()
    await index.close()


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


def chosen(count: int) -> set[str]:
    return {f"{n + 1:032x}" for n in range(count) if sampled(f"{n + 1:032x}", SHARE)}


async def test_failed_and_slow_traces_are_kept_and_a_sample_of_the_others(here: Bench) -> None:
    spans = [a_span(n) for n in range(200)] + [a_span(200, status=FAILED), a_span(201, took_ms=1000)]
    await here.send(Signal.TRACES, traces(*spans))
    await here.pass_time(WAIT_NS)

    kept = {span.trace_id for span in (await here.held()).spans}
    assert kept == chosen(200) | {f"{201:032x}", f"{202:032x}"}
    assert 25 < len(kept) < 80
    assert f'{{outcome="sampled_out",signal="traces"}} {202 - len(kept)}' in here.metrics.text()


async def test_a_long_wait_of_a_client_is_no_slow_request(here: Bench) -> None:
    out = next(n for n in range(100) if f"{n + 1:032x}" not in chosen(100))
    await here.send(Signal.TRACES, traces(a_span(out, kind=3, parentSpanId="00000000000000ff", took_ms=30_000)))
    await here.pass_time(WAIT_NS)

    assert not (await here.held()).spans


async def test_a_trace_whose_failure_comes_later_from_another_service_is_kept_whole(here: Bench) -> None:
    out = next(n for n in range(100) if f"{n + 1:032x}" not in chosen(100))
    await here.send(Signal.TRACES, traces(a_span(out, 2, parentSpanId=f"{1:016x}"), service="stock"))
    await here.pass_time(WAIT_NS // 2)
    await here.send(Signal.TRACES, traces(a_span(out, 1, status=FAILED), service="pay"))
    await here.pass_time(WAIT_NS // 2)
    await here.pass_time(WAIT_NS)

    assert {(s.service, s.failed) for s in (await here.held()).spans} == {("stock", False), ("pay", True)}


async def test_an_error_log_keeps_its_trace(here: Bench) -> None:
    out = next(n for n in range(100) if f"{n + 1:032x}" not in chosen(100))
    await here.send(Signal.TRACES, traces(a_span(out)))
    await here.send(Signal.LOGS, logs(a_log(0, "broken", severityNumber=17, traceId=f"{out + 1:032x}")))
    await here.pass_time(WAIT_NS)

    assert len((await here.held()).spans) == 1


async def test_a_late_part_of_a_failed_trace_is_kept_too_and_filed_with_it(here: Bench) -> None:
    out = next(n for n in range(100) if f"{n + 1:032x}" not in chosen(100))
    await here.send(Signal.TRACES, traces(a_span(out, 1, status=FAILED)))
    await here.pass_time(WAIT_NS)
    await here.send(Signal.TRACES, traces(a_span(out, 2, parentSpanId=f"{1:016x}"), service="stock"))
    await here.send(Signal.LOGS, logs(a_log(0, "said in passing", traceId=f"{out + 1:032x}")))
    await here.pass_time(WAIT_NS)

    held = await here.held()
    assert len(held.spans) == 2
    assert COUNT not in held.logs[0].attributes


async def test_nothing_is_judged_before_its_time_but_a_triage_sees_what_is_certain(here: Bench) -> None:
    out = [n for n in range(100) if f"{n + 1:032x}" not in chosen(100)][:2]
    await here.send(Signal.TRACES, traces(a_span(out[0]), a_span(200, status=FAILED)))
    await here.pass_time(SECOND)
    assert not (await here.held()).spans

    await here.collector.catch_up()
    assert [s.trace_id for s in (await here.held()).spans] == [f"{201:032x}"]

    await here.send(Signal.TRACES, traces(a_span(out[0], 2, status=FAILED)))
    await here.collector.catch_up()
    assert len((await here.held()).spans) == 3
    await here.pass_time(WAIT_NS)
    assert await here.collector.spool.last() == 0


async def test_what_stays_undecided_is_dropped_in_the_end(here: Bench) -> None:
    out = next(n for n in range(100) if f"{n + 1:032x}" not in chosen(100))
    await here.send(Signal.TRACES, traces(a_span(out)))
    await here.collector.catch_up()
    assert here.collector.spool.held > 0
    await here.pass_time(WAIT_NS)

    assert (here.collector.spool.held, await here.collector.spool.last()) == (0, 0)
    assert not (await here.held()).spans


async def test_repeated_lines_become_templates_with_a_count(here: Bench) -> None:
    await here.send(Signal.LOGS, logs(*(a_log(n % 60, f"served request {n} in {n % 7} ms") for n in range(500))))
    await here.pass_time(WAIT_NS)

    found = (await here.held()).logs
    assert len(found) == 2
    assert found[0].attributes[COUNT] == 500


async def test_series_are_put_together_from_many_requests(here: Bench) -> None:
    def counted(second: int, value: int) -> dict[str, Any]:
        point = {"startTimeUnixNano": str(START), "timeUnixNano": str(START + second * SECOND), "asInt": value}
        data = {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [point]}
        return metrics({"name": "orders", "sum": data})

    for second, value in ((60, 60), (120, 60), (180, 360)):
        await here.send(Signal.METRICS, counted(second, value))
        await here.pass_time(WAIT_NS)
    await here.crash()
    await here.send(Signal.METRICS, counted(240, 480))
    await here.collector.catch_up()

    (series,) = (await here.held()).series
    assert (series.metric, series.service) == ("orders_rate", "pay")
    assert [v for _, v in series.points] == [1.0, 0.0, 5.0, 2.0]


@pytest.mark.parametrize("moment", ["before the store", "after the store"])
async def test_a_crash_in_the_middle_of_a_batch_loses_and_doubles_nothing(
    here: Bench, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    await here.send(Signal.TRACES, traces(*(a_span(n, status=FAILED) for n in range(30))))
    await here.send(Signal.LOGS, logs(*(a_log(n, f"line {n}") for n in range(30))))
    here.clock.ns += WAIT_NS

    async def dies(*given: object) -> None:
        raise StoreError("gone", reason=Reason.UNAVAILABLE)

    if moment == "before the store":
        monkeypatch.setattr(here.index, "put", dies)
    else:
        monkeypatch.setattr(here.collector.spool, "done", dies)
    with pytest.raises(StoreError):
        await here.collector._step(received_before_ns=here.clock.ns)
    monkeypatch.undo()
    await here.send(Signal.TRACES, traces(*(a_span(n, 2, status=FAILED) for n in range(30, 40))))
    await here.crash()
    first = await here.held()
    await here.pass_time(WAIT_NS)

    held = await here.held()
    assert len(first.spans) == 30
    assert len(held.spans) == 40
    assert sum(int(r.attributes.get(COUNT, 0)) for r in held.logs) == 30


async def test_while_the_store_is_away_what_comes_is_kept(here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(documents: list[Document]) -> int:
        raise StoreError("away", reason=Reason.UNAVAILABLE)

    with monkeypatch.context() as patched:
        patched.setattr(here.index, "put", away)
        await here.send(Signal.TRACES, traces(a_span(0, status=FAILED)))
        await here.collector.catch_up()
    assert here.collector.spool.held > 0
    await here.collector.catch_up()

    assert (len((await here.held()).spans), here.collector.spool.held) == (1, 0)


async def test_a_triage_does_not_wait_for_ever(here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await here.send(Signal.TRACES, traces(a_span(0, status=FAILED)))
    monkeypatch.setattr("bot.intake.otlp.collector.PATIENCE_S", 0.01)
    async with here.collector._working:
        await here.collector.catch_up()
        assert not (await here.held()).spans


async def test_when_much_waits_it_is_stored_before_its_time(here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.intake.otlp.collector.FULL", 100)
    await here.send(Signal.TRACES, traces(*(a_span(n) for n in range(50)), a_span(60, status=FAILED)))
    assert here.collector.behind
    await here.pass_time(0)

    assert not here.collector.behind
    assert {s.trace_id for s in (await here.held()).spans} == chosen(50) | {f"{61:032x}"}


async def test_what_was_received_is_forgotten_when_its_time_is_over(here: Bench) -> None:
    await here.send(Signal.LOGS, logs(a_log(0, "x", severityNumber=17)))
    await here.pass_time(WAIT_NS)
    (document,) = [h.document for h in await here.index.lexical(Query(acl=("public",)))]

    assert document.expires_ns == here.clock.ns - WAIT_NS + 7 * 86_400 * SECOND
    assert await here.index.sweep(document.expires_ns) == 1


async def test_each_kind_is_kept_for_its_own_time_and_swept_when_it_is_over(here: Bench) -> None:
    day = 86_400 * SECOND
    here.collector.options = structs.replace(here.collector.options, retention_ns={"log": day})
    await here.send(Signal.LOGS, logs(a_log(0, "x", severityNumber=17)))
    await here.send(Signal.TRACES, traces(a_span(1, status=FAILED)))
    await here.pass_time(WAIT_NS)

    async def kinds() -> list[str]:
        return [hit.document.kind for hit in await here.index.lexical(Query(acl=("public",)))]

    assert sorted(await kinds()) == ["log", "trace"]
    # The index of this test has a clock of its own, by which nothing is over: what is gone was swept.
    await here.pass_time(2 * day)
    assert await kinds() == ["trace"]
    await here.pass_time(6 * day)
    assert await kinds() == []


async def test_a_request_is_remembered_for_an_hour_and_not_for_ever(here: Bench) -> None:
    assert await here.send(Signal.LOGS, logs(a_log(0, "x")))
    assert not await here.send(Signal.LOGS, logs(a_log(0, "x")))
    await here.pass_time(2 * 3600 * SECOND)
    await here.pass_time(2 * 3600 * SECOND)

    assert await here.send(Signal.LOGS, logs(a_log(0, "x")))


async def test_a_batch_that_trips_over_an_error_of_ours_holds_nothing_up(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await here.send(Signal.TRACES, traces(a_span(0, status=FAILED)))
    with monkeypatch.context() as patched:
        patched.setattr("bot.intake.otlp.collector.sort_out", lambda held, known: 1 / 0)
        await here.collector.catch_up()
    await here.send(Signal.TRACES, traces(a_span(1, status=FAILED)))
    await here.collector.catch_up()

    assert [s.trace_id for s in (await here.held()).spans] == [f"{2:032x}"]
    assert 'receipts_internal_errors_total{where="telemetry"} 1' in here.metrics.text()
    await here.pass_time(8 * 86_400 * SECOND)
    await here.collector.spool.done([], [], {})
    assert here.collector.spool.held == 0


async def test_it_works_by_itself_and_stops_when_told(here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = asyncio.Event()
    done = here.collector.spool.done

    async def told(*given: Any) -> None:
        await done(*given)
        stored.set()

    monkeypatch.setattr("bot.intake.otlp.collector.TICK_S", 0.01)
    monkeypatch.setattr(here.collector.spool, "done", told)
    await here.send(Signal.TRACES, traces(a_span(0, status=FAILED)))
    assert not here.collector.alive
    await here.collector.start()
    assert here.collector.alive
    here.clock.ns += WAIT_NS + SETTLED_NS
    async with asyncio.timeout(5):
        await stored.wait()

    assert len((await here.held()).spans) == 1
    await here.collector.stop()
    assert not here.collector.alive
    assert here.collector.behind
