"""A channel and a triage that write down what they did, outside of the process that may die.

`FileChannel` is a channel with the honesty of the real one: it posts once, asks its own history after a crash, and
keeps a log that the test reads. `FileTriage` takes a while, tells of its progress and leaves a bundle.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bot.model import BundleRef, IncidentView, Ledger, Posted, Rerun
from retrieval.model import Alert, Case, Verdict

Progress = Callable[[str, str], Awaitable[None]]
PAUSE_S = 0.005  # between the steps of a telling, so that a process can die there by chance


class FileChannel:
    def __init__(self, log: Path, ledger: Ledger, pause_s: float = PAUSE_S) -> None:
        self._pause_s = pause_s
        self._log = log
        self._ledger = ledger

    async def show(self, view: IncidentView) -> None:
        digest = hashlib.sha256(repr((view.status, view.stage, view.known, view.firing)).encode()).hexdigest()
        await self._once(view, "root", {"status": view.status, "stage": view.stage}, digest)

    async def deliver(self, view: IncidentView) -> None:
        if view.bundle is not None:
            await self._once(view, "bundle", {"sha256": view.bundle.sha256}, view.bundle.sha256)

    async def close(self) -> None:
        pass

    async def _once(self, view: IncidentView, part: str, content: dict[str, Any], digest: str) -> None:
        known = await self._ledger.part(view.incident_id, part)
        wanted = Posted(
            incident_id=view.incident_id, part=part, channel="C1", digest=digest, revision=view.revision, ts="1"
        )
        if known is not None and not known.ts and self._has(view.incident_id, part):
            known = Posted(incident_id=view.incident_id, part=part, channel="C1", ts="1", revision=0)
        if known is None or not known.ts:
            await self._ledger.intend(Posted(incident_id=view.incident_id, part=part, channel="C1", digest=digest))
            await asyncio.sleep(self._pause_s)
            self._write({"call": "post", "part": part, "incident": view.incident_id, **content})
            await asyncio.sleep(self._pause_s)
        elif known.digest == digest or known.revision > view.revision:
            return
        else:
            self._write({"call": "edit", "part": part, "incident": view.incident_id, **content})
            await asyncio.sleep(self._pause_s)
        await self._ledger.sent(wanted)

    def _has(self, incident_id: str, part: str) -> bool:
        return any(line["incident"] == incident_id and line["part"] == part for line in read(self._log))

    def _write(self, line: dict[str, Any]) -> None:
        with self._log.open("ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")
            os.fsync(file.fileno())


def read(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


class FileTriage:
    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds

    async def run(
        self, incident_id: str, alerts: tuple[Alert, ...], *, wish: Rerun | None, progress: Progress
    ) -> tuple[Case, BundleRef | None]:
        for stage in ("read", "judge", "prove"):
            await progress(stage, f"{len(alerts)} alerts")
            await asyncio.sleep(self._seconds / 3)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{incident_id}.zip"
        content = incident_id.encode()
        path.write_bytes(content)
        bundle = BundleRef(path=path, sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        return Case(incident_id=incident_id, alerts=alerts, verdict=Verdict.LEAD), bundle
