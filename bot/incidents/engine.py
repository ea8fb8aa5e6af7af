"""The worker: deliveries become incidents, incidents are triaged, conclusions are told.

At least once everywhere, with effects that may be repeated: a delivery is absorbed in one transaction, a triage writes
the same bundle again, a channel does not post twice. One incident's failure is written down and stops no other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace
from opentelemetry import trace

from bot.incidents.absorb import Intent
from bot.incidents.presenter import Presenter, end
from bot.incidents.records import Conclusion, Delivery, Job, Records
from bot.intake.sources import AlertSource, Unreadable
from bot.metrics import Metrics
from bot.model import BundleRef, Rerun
from retrieval.errors import RetrievalError
from retrieval.ingest.redaction import redact
from retrieval.model import Alert, AlertBatch, Case
from retrieval.ports import Clock, Redactor

log = logging.getLogger(__name__)
Progress = Callable[[str, str], Awaitable[None]]
LEASE_NS = 60 * 10**9
HEARTBEAT_S = 20.0
RETRIES = 2  # further attempts after an error, when it may go away by itself
_PAUSE_S = 1.0


class Triage(Protocol):
    """All stages from alerts to a conclusion. `progress(stage, known)` may be awaited as often as there is news."""

    async def run(
        self, incident_id: str, alerts: tuple[Alert, ...], *, wish: Rerun | None, progress: Progress
    ) -> tuple[Case, BundleRef | None]: ...


class Completer(Protocol):
    """Fetches the alerts that a sender left out (`AlertBatch.truncated`)."""

    async def complete(self, batch: AlertBatch) -> AlertBatch:
        """The same batch when nothing could be fetched; never raises."""
        ...


class Options(Struct, frozen=True, kw_only=True):
    clock: Clock
    new_id: Callable[[], str]
    sources: Mapping[str, AlertSource]
    metrics: Metrics
    redactor: Redactor
    kill_switch: bool = False
    debounce_s: float = 0.3
    triage_limit_s: float = 900.0
    workers: int = 2
    owner: str = "server"


class Engine:
    """`start`, then `wake` whenever a delivery or a job was written; `stop` gives running jobs back."""

    def __init__(
        self,
        records: Records,
        triage: Triage,
        presenter: Presenter,
        options: Options,
        completer: Completer | None = None,
    ) -> None:
        self._records = records
        self._triage = triage
        self._presenter = presenter
        self._options = options
        self._completer = completer
        self._delivered = asyncio.Event()
        self._due = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def alive(self) -> bool:
        return bool(self._tasks) and not any(task.done() for task in self._tasks)

    def wake(self) -> None:
        self._delivered.set()
        self._due.set()

    def changed(self, incident_id: str) -> None:
        """Something of this incident was written by somebody else (a person's wish)."""
        self._presenter.notify(incident_id)
        self.wake()

    async def start(self) -> None:
        now_ns = self._options.clock.now_ns()
        resumed = await self._records.recover(now_ns)
        await self._records.sweep(now_ns)
        await self._presenter.resume()
        if resumed:
            log.warning("%d triages were cut off when the process ended; they run again", resumed)
        loops = [self._forever(self._next_delivery, "deliveries")]
        loops += [self._forever(self._next_job, "jobs") for _ in range(self._options.workers)]
        self._tasks = [asyncio.get_running_loop().create_task(loop) for loop in loops]

    async def stop(self) -> None:
        await end(self._tasks)
        self._tasks = []
        await self._presenter.stop()

    async def _forever(self, step: Callable[[], Awaitable[None]], name: str) -> None:
        while True:
            try:
                await step()
            except Exception:
                # The disk may be full or there is a mistake of ours: the loop must outlive both.
                log.exception("the loop of %s failed and goes on", name)
                self._options.metrics.add("receipts_internal_errors_total", {"where": name})
                await asyncio.sleep(_PAUSE_S)

    # Deliveries

    async def _next_delivery(self) -> None:
        self._delivered.clear()
        delivery = await self._records.next_delivery()
        if delivery is None:
            await self._delivered.wait()
            return
        batch = await asyncio.to_thread(self._read, delivery)
        if batch.truncated and self._completer:
            batch = await self._complete(self._completer, batch)
        try:
            await self._absorb(delivery, batch)
        except (ValueError, TypeError, LookupError, ArithmeticError):
            # A mistake of ours must not block the deliveries behind it.
            log.exception("delivery %s cannot be worked off", delivery.id)
            self._options.metrics.add("receipts_internal_errors_total", {"where": "absorb"})
            await self._records.bury(delivery.id, "internal error")

    async def _complete(self, completer: Completer, batch: AlertBatch) -> AlertBatch:
        whole = await completer.complete(batch)
        alerts = await asyncio.to_thread(lambda: [redact(alert, self._options.redactor) for alert in whole.alerts])
        return replace(whole, alerts=tuple(alerts))

    def _read(self, delivery: Delivery) -> AlertBatch:
        """What was sent, without secrets and personal data: they are shown to nobody and stay in the delivery only."""
        source = self._options.sources.get(delivery.source)
        try:
            if source is None:
                raise Unreadable("this alert source is not configured any more")
            batch = source.parse(delivery.body, delivery.headers)
        except Unreadable as error:
            text = delivery.body.decode("utf-8", "backslashreplace")
            batch = AlertBatch(source=delivery.source, rejected=((text, error.reason),))
        redactor = self._options.redactor
        return replace(
            batch,
            alerts=tuple(redact(alert, redactor) for alert in batch.alerts),
            rejected=tuple((redactor.text(raw), reason) for raw, reason in batch.rejected),
        )

    async def _absorb(self, delivery: Delivery, batch: AlertBatch) -> None:
        options = self._options
        intent = Intent(
            now_ns=max(delivery.received_ns, 0) or options.clock.now_ns(),
            new_id=options.new_id,
            debounce_ns=int(options.debounce_s * 1e9),
        )
        absorbed = await self._records.absorb(delivery.id, batch, intent)
        for what, count in absorbed.outcomes.items():
            options.metrics.add("receipts_alerts_total", {"what": what}, count)
        for incident_id in absorbed.touched:
            self._presenter.notify(incident_id)
        self._due.set()

    # Jobs

    async def _next_job(self) -> None:
        self._due.clear()
        now_ns = self._options.clock.now_ns()
        job = await self._records.claim(self._options.owner, now_ns, LEASE_NS)
        if job is not None:
            self._due.set()  # there may be more, for the other workers
            await self._work(job)
            return
        due_ns = await self._records.next_run_ns()
        wait_s = HEARTBEAT_S if due_ns is None else min(max((due_ns - now_ns) / 1e9, 0.01), HEARTBEAT_S)
        # Not `wait_for`: on Python 3.11 it swallows a cancellation that comes with the event, and a stop hangs.
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._due.wait()

    async def _work(self, job: Job) -> None:
        if self._options.kill_switch:
            await self._give_up(job, "kill_switch", "")
            return
        heart = asyncio.get_running_loop().create_task(self._beat(job))
        try:
            with trace.get_tracer("receipts").start_as_current_span("triage") as span:
                span.set_attribute("receipts.incident_id", job.incident_id)
                await self._run(job)
        except asyncio.CancelledError:
            await self._records.release(job, self._options.clock.now_ns(), "the server stopped", counts=False)
            raise
        finally:
            heart.cancel()
            self._presenter.notify(job.incident_id)

    async def _run(self, job: Job) -> None:
        clock, scope = self._options.clock, asyncio.timeout(self._options.triage_limit_s)
        started_ns = clock.now_ns()
        try:
            async with scope:
                view = await self._records.view(job.incident_id)
                case, bundle = await self._triage.run(
                    job.incident_id, view.alerts, wish=job.wish, progress=self._progress(job)
                )
        except Exception as error:
            # One incident must not stop the others, whatever happened in its triage.
            log.exception("triage of %s failed (attempt %d)", job.incident_id, job.attempts)
            await self._failed(job, error, "timeout" if scope.expired() else "crashed")
            return
        now_ns = clock.now_ns()
        seconds = (now_ns - started_ns) / 1e9
        await self._records.conclude(job, Conclusion(case=case, bundle=bundle, seconds=seconds), now_ns)
        self._options.metrics.add("receipts_triages_total", {"outcome": str(case.verdict)})
        self._options.metrics.add("receipts_triage_seconds_total", {}, seconds)

    def _progress(self, job: Job) -> Progress:
        async def tell(stage: str, known: str) -> None:
            await self._records.progress(job.incident_id, stage, known, self._options.clock.now_ns())
            self._presenter.notify(job.incident_id)

        return tell

    async def _failed(self, job: Job, error: Exception, stage: str) -> None:
        may_pass = stage != "timeout" and (not isinstance(error, RetrievalError) or error.retryable)
        if may_pass and job.attempts <= RETRIES:
            due_ns = self._options.clock.now_ns() + int(_PAUSE_S * 1e9) * 2**job.attempts
            await self._records.release(job, due_ns, repr(error), counts=True)
            self._due.set()
        else:
            await self._give_up(job, stage, repr(error))

    async def _give_up(self, job: Job, stage: str, error: str) -> None:
        await self._records.fail(job, stage, error, self._options.clock.now_ns())
        self._options.metrics.add("receipts_triages_total", {"outcome": stage})
        self._presenter.notify(job.incident_id)

    async def _beat(self, job: Job) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            await self._records.heartbeat(job, self._options.clock.now_ns() + LEASE_NS)
