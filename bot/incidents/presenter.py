"""Tells the channel what changed: one incident's tellings in order, several incidents side by side.

What is told is always the newest view, so a slow channel skips steps instead of queueing them. What it was not told is
known from the records, so nothing is lost when the process dies here; the channel itself is idempotent.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from bot.access import withheld
from bot.incidents.records import Pending, Records
from bot.metrics import Metrics
from bot.model import Channel, IncidentView

log = logging.getLogger(__name__)
AT_ONCE = 8
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


async def end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel until they are done: `asyncio.wait_for` of Python 3.11, which others use, may swallow a cancellation."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=1.0)


class Presenter:
    """`seen` gives of a view what the channel may see; a view that is withheld has no thread."""

    def __init__(
        self,
        records: Records,
        channel: Channel,
        metrics: Metrics,
        seen: Callable[[IncidentView], IncidentView] | None = None,
    ) -> None:
        self._seen = seen
        self._records = records
        self._channel = channel
        self._metrics = metrics
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)

    def notify(self, incident_id: str) -> None:
        """Something of this incident changed; returns at once."""
        self._again.add(incident_id)
        if incident_id not in self._tasks:
            task = asyncio.get_running_loop().create_task(self._tell(incident_id), name=f"tell {incident_id}")
            self._tasks[incident_id] = task
            task.add_done_callback(lambda _: self._ended(incident_id))

    async def resume(self) -> None:
        """At the start: tell all that was not told when the process ended."""
        for incident_id in await self._records.pending():
            self.notify(incident_id)

    async def stop(self) -> None:
        self._again.clear()
        await end(self._tasks.values())

    def _ended(self, incident_id: str) -> None:
        del self._tasks[incident_id]
        if incident_id in self._again:
            self.notify(incident_id)

    async def _tell(self, incident_id: str) -> None:
        pause = FIRST_PAUSE_S
        while incident_id in self._again:
            self._again.discard(incident_id)
            try:
                async with self._slots:
                    await self._tell_newest(incident_id)
                pause = FIRST_PAUSE_S
            except Exception as error:
                # Whatever the channel raised: the other incidents go on, and this one is told again later.
                first = pause == FIRST_PAUSE_S  # a channel that stays away must not fill the log
                log.error("incident %s was not told, next try in %.0f s: %s", incident_id, pause, error, exc_info=first)
                self._metrics.add("receipts_channel_calls_total", {"outcome": "failed"})
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)
                self._again.add(incident_id)

    async def _tell_newest(self, incident_id: str) -> None:
        while (pending := await self._records.untold(incident_id)) is not None:
            await self._step(pending)

    async def _step(self, pending: Pending) -> None:
        view = self._seen(pending.view) if self._seen else pending.view
        if pending.show:
            await self._channel.show(view)
            await self._records.told(view.incident_id, revision=view.revision)
        if pending.deliver:
            if not withheld(view):
                await self._channel.deliver(view)
            await self._records.told(view.incident_id, conclusion=pending.deliver)
        self._metrics.add("receipts_channel_calls_total", {"outcome": "done"})
