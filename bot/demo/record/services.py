"""The shop's services as processes of their own on loopback, each from a checkout of the commit it runs."""

import asyncio
import contextlib
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web
from msgspec import Struct

from retrieval.errors import BadInput

_LISTENS = re.compile(rb"listens on port (\d+)")
_START_S, _STOP_S = 30.0, 5.0
_FEED_FAILS_EVERY = 4  # a feed like many: mostly there


class Instance(Struct, frozen=True, kw_only=True):
    """One process to start. `pod` is the name that it goes by, `checkout` the folder with its code."""

    service: str
    pod: str
    commit: str
    checkout: Path
    environment: dict[str, str]


class Ground(Struct, frozen=True, kw_only=True):
    """What all processes share: `site` are the packages they import, `telemetry` is where they write, `region` where
    they say they are."""

    site: Path
    telemetry: Path
    endpoints: Path
    region: str


class Fleet:
    """Started processes. Leaving the context stops them."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._processes: list[asyncio.subprocess.Process] = []
        self._readers: list[asyncio.Task[bytes]] = []
        self._known: dict[str, list[str]] = {}

    async def __aenter__(self) -> "Fleet":
        await asyncio.to_thread(self._write_endpoints)
        return self

    async def __aexit__(self, *error: object) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        for process in self._processes:
            try:
                await asyncio.wait_for(process.wait(), _STOP_S)
            except TimeoutError:
                process.kill()
                await process.wait()
        await asyncio.gather(*self._readers)

    async def start(self, instance: Instance) -> str:
        """Start one and let its callers know; returns its address. Raises: BadInput when it does not come up."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-S", "-m", "shared.serve", instance.service, "--host", "127.0.0.1", "--port", "0"),
            cwd=instance.checkout,
            env=self._environment(instance),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        self._processes.append(process)
        address = f"http://127.0.0.1:{await self._port(process, instance)}"
        self._known.setdefault(instance.service, []).append(address)
        await asyncio.to_thread(self._write_endpoints)
        return address

    async def _port(self, process: asyncio.subprocess.Process, instance: Instance) -> int:
        assert process.stderr is not None
        said = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                while line := await process.stderr.readline():
                    said += line
                    if found := _LISTENS.search(line):
                        # What it prints from now on is in its telemetry too; it must only not fill the pipe.
                        self._readers.append(asyncio.get_running_loop().create_task(_drain(process.stderr)))
                        return int(found[1])
        raise BadInput(
            f"the shop's {instance.service} does not start: {said[-300:].decode('utf-8', 'replace')}",
            subject=instance.service,
            remedy="run the demo without --fresh; it has a recording",
        )

    def _environment(self, instance: Instance) -> dict[str, str]:
        about = {
            "service.name": instance.service,
            "service.version": instance.commit[:12],
            "service.instance.id": instance.pod,
            "host.name": instance.pod,
            "cloud.region": self._ground.region,
            "deployment.environment.name": "production",
        }
        return {
            "PATH": os.defpath,
            "PYTHONPATH": str(self._ground.site),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
            "TELEMETRY_DIR": str(self._ground.telemetry),
            "ENDPOINTS": str(self._ground.endpoints),
            "OTEL_RESOURCE_ATTRIBUTES": ",".join(f"{key}={value}" for key, value in about.items()),
            **instance.environment,
        }

    def _write_endpoints(self) -> None:
        """The old file or the new one, never half of one; and never twice with one time stamp."""
        path = self._ground.endpoints
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(self._known))
        os.utime(fresh, ns=(time.time_ns(), time.time_ns()))
        fresh.replace(path)


async def _drain(stream: asyncio.StreamReader) -> bytes:
    while await stream.read(65536):
        pass
    return b""


@contextlib.asynccontextmanager
async def rates_feed() -> AsyncIterator[str]:
    """The bank's exchange rates, played on loopback: every fourth time it is overloaded. Gives its address."""
    asked = 0

    async def answer(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        if asked % _FEED_FAILS_EVERY == 0:
            return web.Response(status=503, text="try again later")
        return web.json_response({"rates": {"CHF": 0.937, "JPY": 163.2, "SEK": 11.21}})

    app = web.Application()
    app.router.add_get("/daily.json", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/daily.json"
    finally:
        await runner.cleanup()
