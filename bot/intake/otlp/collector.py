"""From the spool to the store, a little behind what comes.

A minute is waited, so that a trace is judged when its last span has come and templates and series are written in few
pieces; a triage does not wait, `catch_up` gives it what has come so far.
"""

import asyncio
import logging
from contextlib import suppress

from msgspec import Struct, field

from bot.intake.otlp.encoding import Signal
from bot.intake.otlp.sorting import Known, Sorted, sort_out, unpacked
from bot.intake.otlp.spool import Request, Row, Spool
from bot.metrics import Metrics
from retrieval.errors import RetrievalError
from retrieval.kinds.storing import Keeping, store_sources
from retrieval.ports import Clock, Index, Redactor

log = logging.getLogger(__name__)
_SECOND = 10**9
WAIT_NS = 60 * _SECOND  # the oldest request waits so long for its company
SETTLED_NS = 30 * _SECOND  # what came earlier is judged; the SDKs send finished spans every 5 s by default
FORGET_NS = 3600 * _SECOND
TICK_S = 5.0
BATCH = 4 * 2**20  # bytes on disk, some ten times as much unpacked
FULL = 256 * 2**20  # bytes on disk beyond which no more is taken
PATIENCE_S = 10.0  # a triage waits so long for what has come to be stored


class Options(Struct, frozen=True, kw_only=True):
    """`share` of healthy traces is kept, those that took `slow_ns` all; the store keeps everything for `keep_ns`, or
    for what `retention_ns` gives its kind. `acl` are the tags of services, "" those of the rest."""

    clock: Clock
    redactor: Redactor
    share: float
    slow_ns: int
    keep_ns: int
    retention_ns: dict[str, int] = field(default_factory=dict)
    acl: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Collector:
    """`start` finishes what a crash left half done, before anything new may come; `stop` leaves the rest on disk."""

    def __init__(self, spool: Spool, index: Index, options: Options, metrics: Metrics) -> None:
        self.spool = spool
        self.index = index
        self.options = options
        self._metrics = metrics
        self._working = asyncio.Lock()
        self._wake = asyncio.Event()
        self._stopping = False
        self._swept_ns = 0
        self._task: asyncio.Task[None] | None = None
        self._catching: set[asyncio.Task[None]] = set()

    @property
    def behind(self) -> bool:
        """Whether nothing more can be taken for now."""
        return self._stopping or self.spool.held >= FULL

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    async def start(self) -> None:
        try:
            await self._step(received_before_ns=0)
        except RetrievalError:
            log.exception("received telemetry cannot be stored yet; it is kept")
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def accept(self, request: Request) -> bool:
        """Durable when this returns; False when it came before.

        Raises: StoreError.
        """
        new = await self.spool.put(request)
        if self.spool.held >= FULL // 2:
            self._wake.set()
        return new

    async def catch_up(self) -> None:
        """What has come is in the store when this returns, unless that takes too long."""
        task = asyncio.get_running_loop().create_task(self._through())
        self._catching.add(task)
        task.add_done_callback(self._catching.discard)
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
        if not done:
            log.warning("received telemetry is not all stored after %.0f s; going on with what is", PATIENCE_S)

    async def _through(self) -> None:
        try:
            until, after = await self.spool.last(), 0
            while after < until:
                rows = await self._step(received_before_ns=2**62, after=after, until=until)
                if not rows:
                    return
                after = max(after, rows[-1].seq)
        except RetrievalError:
            log.exception("received telemetry cannot be stored; it is kept and tried again")

    async def _run(self) -> None:
        while not self._stopping:
            try:
                await self._due()
            except RetrievalError:
                log.exception("received telemetry cannot be stored; it is kept and tried again")
                self._metrics.add("receipts_internal_errors_total", {"where": "telemetry"})
            self._wake.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), TICK_S)

    async def _due(self) -> None:
        now_ns = self.options.clock.now_ns()
        while not self._stopping and self.spool.held >= FULL // 2:
            if not await self._step(received_before_ns=2**62, hurry=True):
                break
        oldest = await self.spool.oldest_ns()
        while not self._stopping and oldest is not None and oldest <= now_ns - WAIT_NS:
            if not await self._step(received_before_ns=now_ns - SETTLED_NS):
                break
            oldest = await self.spool.oldest_ns()
        if now_ns - self._swept_ns >= FORGET_NS:
            self._swept_ns = now_ns
            await self.index.sweep(now_ns)
            await self.spool.forget(now_ns - FORGET_NS, now_ns - self.options.keep_ns)

    async def _step(
        self, *, received_before_ns: int, after: int = 0, until: int = 2**62, hurry: bool = False
    ) -> list[Row]:
        """One batch into the store; returns what it was. In a hurry nothing stays undecided."""
        async with self._working:
            rows = await self.spool.take(received_before_ns=received_before_ns, size=BATCH, after=after, until=until)
            if rows:
                await self._store_or_set_aside(rows, 2**62 if hurry else self.options.clock.now_ns() - SETTLED_NS)
            return rows

    async def _store_or_set_aside(self, rows: list[Row], young_ns: int) -> None:
        try:
            await self._store(rows, young_ns)
        except RetrievalError:
            raise  # the store's or the disk's trouble; the batch is tried again
        except Exception:
            # A batch that trips over an error of ours would do so for ever, and all that comes would wait behind it.
            log.exception("received telemetry cannot be stored; %d requests are set aside", len(rows))
            self._metrics.add("receipts_internal_errors_total", {"where": "telemetry"})
            await self.spool.set_aside(rows)

    async def _store(self, rows: list[Row], young_ns: int) -> None:
        result = await self._sorted(rows, young_ns)
        keeping = Keeping(
            redactor=self.options.redactor,
            acl=self.options.acl,
            retention_ns={
                **dict.fromkeys(("trace", "log", "metric"), self.options.keep_ns),
                **self.options.retention_ns,
            },
            received_ns=max(row.received_ns for row in rows),
            failing=result.failing,
        )
        stored = await store_sources(self.index, result.sources, {}, keeping)
        await self.spool.done(rows, result.back, result.totals)
        for skipped in stored.skipped:
            log.warning("a document was left out of the store: %s", skipped.reason)
        if result.dropped:
            labels = {"signal": str(Signal.TRACES), "outcome": "sampled_out"}
            self._metrics.add("receipts_telemetry_records_total", labels, result.dropped)

    async def _sorted(self, rows: list[Row], young_ns: int) -> Sorted:
        held = await asyncio.to_thread(unpacked, rows)
        notable = await self.spool.notable(held.trace_ids())
        totals = await self.spool.totals(held.counters())
        known = Known(notable, totals, self.options.share, young_ns)
        return await asyncio.to_thread(sort_out, held, known)

    async def stop(self) -> None:
        """What is under way is finished; the rest stays on disk for the next start. A second call does nothing."""
        if self._stopping:
            return
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
        if self._catching:
            await asyncio.wait(self._catching)
        await self.spool.close()
