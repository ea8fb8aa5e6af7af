"""A stop ends the engine whatever it is waiting for at that moment."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.bot.incidents.test_engine import Running, Scripted
from tests.bot.incidents.world import world


async def test_a_stop_that_comes_together_with_news_is_not_lost(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        it = Running(here, Scripted())
        for turns in range(40):
            await it.engine.start()
            for _ in range(turns % 8):
                await asyncio.sleep(0.001)
            it.engine.wake()
            async with asyncio.timeout(5):
                await it.engine.stop()

        assert not it.engine.alive


async def test_a_triage_that_swallows_a_cancellation_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    class Deaf(Scripted):
        async def run(self, *arguments: Any, **options: Any) -> Any:
            self.runs.append("deaf")
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(30)
            await asyncio.sleep(30)

    async with world(tmp_path) as here:
        triage = Deaf()
        it = Running(here, triage)
        await it.engine.start()
        await it.post("A")
        for _ in range(1000):
            if triage.runs:
                break
            await asyncio.sleep(0.01)
        async with asyncio.timeout(8):
            await it.engine.stop()

        assert await here.jobs() == ["inc-1"]
