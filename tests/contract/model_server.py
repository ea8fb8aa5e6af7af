"""An OpenAI-compatible endpoint on loopback that plays a script; it keeps what it was asked."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

CAPTURED = Path(__file__).parent.parent / "captured" / "models" / "openai"
KEY = "hush-hush"
Step = str | Callable[[web.Request], Awaitable[web.StreamResponse]]


class ModelServer:
    """Steps are names of captured answers, or handlers; with no step left it answers 500."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.arrived = asyncio.Event()
        self.base_url = ""
        self._server: TestServer | None = None

    async def __aenter__(self) -> "ModelServer":
        app = web.Application(client_max_size=1 << 24)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._server = TestServer(app)
        await self._server.start_server()
        self.base_url = str(self._server.make_url("/v1"))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        await self._server.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.arrived.set()
        self.keys.add(request.headers["Authorization"])
        step = self.steps.pop(0) if self.steps else "broken"
        if not isinstance(step, str):
            return await step(request)
        captured = json.loads((CAPTURED / f"{step}.json").read_text())
        return web.json_response(captured["body"], status=captured["status"], headers={"retry-after-ms": "1"})


def saying(content: str) -> Step:
    """A whole answer with this content."""

    async def step(request: web.Request) -> web.StreamResponse:
        captured = json.loads((CAPTURED / "valid.json").read_text())
        captured["body"]["choices"][0]["message"]["content"] = content
        return web.json_response(captured["body"])

    return step


async def html(request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>a proxy's page</html>", content_type="text/html")


async def empty(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"", content_type="application/json")


async def cut_off(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b'{"id": "1", "choices": [{"mess', content_type="application/json")


async def hang(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


async def drop(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
