"""Whose turn it is to write into a channel: one at a time, on average an interval apart, the urgent first.

Slack takes about one message a second and channel, and 50 edits a minute; who goes faster is refused, and an app that
keeps at it may be switched off (https://docs.slack.dev/apis/web-api/rate-limits).
"""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import IntEnum

from bot.slack.api import Sleep

INTERVAL_SECONDS = 1.2


class Urgency(IntEnum):
    NEW = 0  # an incident that nobody knows of yet
    RESULT = 1
    PROGRESS = 2
    THREAD = 3


class _Queue:
    def __init__(self) -> None:
        self.waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self.busy = False
        self.ready_at = float("-inf")  # what was written is an interval each behind it
        self.held_until = float("-inf")


class Turns:
    """Turns per channel. `clock` is monotonic seconds."""

    def __init__(self, *, clock: Callable[[], float], sleep: Sleep, interval: float = INTERVAL_SECONDS) -> None:
        self._clock = clock
        self._sleep = sleep
        self._interval = interval
        self._queues: dict[str, _Queue] = {}
        self._arrivals = 0

    @asynccontextmanager
    async def turn(self, channel: str, urgency: Urgency) -> AsyncIterator[None]:
        """Hold the channel for one call. A result, which is an edit, may come one interval early: Slack counts edits by
        the minute and posts by the second. What follows waits the longer."""
        queue = self._queues.setdefault(channel, _Queue())
        await self._acquire(queue, urgency)
        try:
            early = self._interval if urgency is Urgency.RESULT else 0.0
            pause = max(queue.ready_at - early, queue.held_until) - self._clock()
            if pause > 0:
                await self._sleep(pause)
            try:
                yield
            finally:
                queue.ready_at = max(queue.ready_at, self._clock()) + self._interval
        finally:
            self._release(queue)

    async def room(self, channel: str) -> None:
        """Wait until a call need not wait for the interval; somebody else may still take the turn."""
        queue = self._queues.get(channel)
        pause = max(queue.ready_at, queue.held_until) - self._clock() if queue else 0.0
        if pause > 0:
            await self._sleep(pause)

    def hold(self, channel: str, seconds: float) -> None:
        """Nobody writes into this channel for so long: Slack asked for it."""
        queue = self._queues.setdefault(channel, _Queue())
        queue.held_until = max(queue.held_until, self._clock() + seconds)

    async def _acquire(self, queue: _Queue, urgency: Urgency) -> None:
        if not queue.busy:
            queue.busy = True
            return
        self._arrivals += 1
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(queue.waiting, (int(urgency), self._arrivals, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(queue)
            raise

    def _release(self, queue: _Queue) -> None:
        while queue.waiting:
            _, _, turn = heapq.heappop(queue.waiting)
            if not turn.done():
                turn.set_result(None)
                return
        queue.busy = False
