"""The workspace as an HTTP server: routing, tokens, rate limits, faults that a test plans, Socket Mode."""

import asyncio
import contextlib
import json
import math
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from bot.demo.workspace.methods import METHODS, receive_upload
from bot.demo.workspace.state import DEFAULT_CHANNEL, Call, Vault, decoded
from bot.demo.workspace.strictness import ApiFault, check_arguments
from bot.slack.limits import validate_message
from bot.slack.picture import render_svg

BOT_TOKEN, APP_TOKEN, SIGNING_SECRET = "xoxb-demo", "xapp-demo", "demo-signing-secret"
RESPONSE_USES, RESPONSE_SECONDS = 5, 1800.0
# method -> (calls, seconds, per channel), a short burst allowed: https://docs.slack.dev/apis/web-api/rate-limits.
RATES: dict[str, tuple[int, float, bool]] = {
    "chat.postMessage": (4, 4.0, True),
    "chat.update": (50, 60.0, False),
    "conversations.history": (50, 60.0, False),
    "conversations.replies": (50, 60.0, False),
    "files.getUploadURLExternal": (100, 60.0, False),
    "files.completeUploadExternal": (100, 60.0, False),
}
# What a fault does: refuse before anything happens, or lose the answer after it happened.
FAULTS = ("error", "status", "ratelimited", "drop_before", "drop_after", "malformed")


class Workspace:
    """One workspace and its server. `now` is seconds since the epoch."""

    def __init__(
        self, path: Path | None = None, *, rate_limits: bool = False, now: Callable[[], float] = time.time
    ) -> None:
        self.vault = Vault(path)
        self.state = self.vault.load()
        self.now = now
        self.rate_limits = rate_limits
        self.triggers: dict[str, float] = {}
        self.spent: set[str] = set()
        self.faults: dict[str, deque[tuple[str, str]]] = {}
        self.response_urls: dict[str, tuple[float, int, str, str]] = {}  # id -> (made, uses left, channel, user)
        self.sockets: list[web.WebSocketResponse] = []
        self.acks: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self.base_url = ""
        self._recent: dict[tuple[str, str], deque[float]] = {}
        self._runner: web.AppRunner | None = None

    @property
    def api_url(self) -> str:
        return self.base_url + "api"

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; port 0 takes a free one. `base_url` is set afterwards."""
        app = web.Application(client_max_size=256 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_post("/upload/{file}", self._upload)
        app.router.add_post("/response/{id}", self._respond)
        app.router.add_get("/socket", self._socket)
        app.router.add_get("/workspace/transcript", self._transcript)
        app.router.add_get("/workspace/channels/{channel}.svg", self._picture)
        app.router.add_post("/workspace/faults", self._plan)
        self._runner = web.AppRunner(app, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/"

    async def close(self) -> None:
        for socket in self.sockets:
            await socket.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def plan(self, method: str, fault: str, value: str = "", times: int = 1) -> None:
        """The next `times` calls of this method fail: `fault` is one of FAULTS, `value` its error name or status."""
        if fault not in FAULTS:
            raise ValueError(f"no such fault: {fault}")
        self.faults.setdefault(method, deque()).extend([(fault, value)] * times)

    def trigger(self) -> str:
        """A trigger id, as it comes with every command and press."""
        made = f"{self.state.number()}.{int(self.now())}.trigger"
        self.triggers[made] = self.now()
        return made

    def response_url(self, channel: str, user: str) -> str:
        made = f"R{self.state.number():08d}"
        self.response_urls[made] = (self.now(), RESPONSE_USES, channel, user)
        return f"{self.base_url}response/{made}"

    def messages(self, channel: str = DEFAULT_CHANNEL, thread_ts: str = "") -> list[dict[str, Any]]:
        """The channel's messages, oldest first; or a thread's replies."""
        every = self.state.channels[channel].messages
        return [m for m in every if m.get("thread_ts", "") == thread_ts]

    def calls(self, method: str) -> list[Call]:
        return [call for call in self.state.calls if call.method == method]

    def transcript(self) -> dict[str, Any]:
        """All calls and the state they led to, as JSON data."""
        built: dict[str, Any] = msgspec.to_builtins(self.state)
        return built

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        started = self.now()
        arguments = decoded(await _arguments(request))
        fault, value = self.faults[method].popleft() if self.faults.get(method) else ("", "")
        if early := self._refusal(method, arguments, fault, value):
            self._record(method, arguments, f"planned {fault or 'ratelimited'}", started)
            return early
        if fault == "drop_before":
            self._record(method, arguments, "planned drop_before", started)
            return _drop(request)
        body = self._answer(method, arguments, request)
        self._record(method, arguments, "ok" if body["ok"] else str(body["error"]), started)
        self.vault.save(self.state)
        if fault == "drop_after":
            return _drop(request)
        if fault == "malformed":
            return web.Response(text="<html>not json", content_type="application/json")
        return web.json_response(body, headers={"x-oauth-scopes": "chat:write,commands,files:write,channels:history"})

    def _answer(self, method: str, arguments: dict[str, Any], request: web.Request) -> dict[str, Any]:
        try:
            _authorise(method, arguments, request)
            check_arguments(method, arguments)
            if method == "apps.connections.open":
                return {"ok": True, "url": self.base_url.replace("http://", "ws://") + "socket"}
            return {"ok": True, **METHODS[method](self, arguments)}
        except ApiFault as fault:
            return {"ok": False, "error": fault.name, **fault.more}

    def _refusal(self, method: str, arguments: dict[str, Any], fault: str, value: str) -> web.Response | None:
        if fault == "error":
            return web.json_response({"ok": False, "error": value})
        if fault == "status":
            return web.Response(status=int(value), text="upstream trouble")
        wait = float(value or 1) if fault == "ratelimited" else self._over_rate(method, arguments)
        if wait > 0:
            return web.json_response(
                {"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": str(max(math.ceil(wait), 1))}
            )
        return None

    def _over_rate(self, method: str, arguments: dict[str, Any]) -> float:
        if not self.rate_limits or method not in RATES:
            return 0.0
        calls, seconds, per_channel = RATES[method]
        recent = self._recent.setdefault((method, str(arguments.get("channel", "")) if per_channel else ""), deque())
        while recent and recent[0] <= self.now() - seconds:
            recent.popleft()
        if len(recent) >= calls:
            return recent[0] + seconds - self.now()
        recent.append(self.now())
        return 0.0

    def _record(self, method: str, arguments: dict[str, Any], answer: str, started: float) -> None:
        told = {name: value for name, value in arguments.items() if name != "token"}
        took = self.now() - started
        self.state.calls.append(Call(method=method, arguments=told, answer=answer, at=started, seconds=took))

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        fault, value = self.faults["upload"].popleft() if self.faults.get("upload") else ("", "")
        if fault == "status":
            return web.Response(status=int(value))
        if "Authorization" in request.headers:
            return web.Response(status=400, text="an upload carries no token")
        status = receive_upload(self, request.match_info["file"], await request.read())
        self.vault.save(self.state)
        return web.Response(status=status, text="OK" if status == 200 else "refused")

    async def _respond(self, request: web.Request) -> web.Response:
        made, left, channel, user = self.response_urls.get(request.match_info["id"], (0.0, 0, "", ""))
        if left < 1 or self.now() - made > RESPONSE_SECONDS:
            return web.json_response({"ok": False, "error": "expired_url"}, status=404)
        self.response_urls[request.match_info["id"]] = (made, left - 1, channel, user)
        payload = await request.json()
        faults = [f for f in validate_message(payload) if f["code"] != "no_text" or "blocks" not in payload]
        if faults:
            return web.json_response({"ok": False, "error": "invalid_blocks", "errors": faults}, status=400)
        message = {**payload, "type": "message", "ts": self.state.next_ts(self.now()), "to": user}
        self.state.channels[channel].ephemeral.append(message)
        self._record("response_url", payload, "ok", self.now())
        self.vault.save(self.state)
        return web.Response(text="ok")

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.append(socket)
        await socket.send_json({"type": "hello", "num_connections": len(self.sockets)})
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                continue
            with contextlib.suppress(ValueError):
                told = json.loads(frame.data)
                waiting = self.acks.pop(str(told.get("envelope_id", "")), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(told)
        self.sockets.remove(socket)
        return socket

    async def _transcript(self, request: web.Request) -> web.Response:
        return web.json_response(self.transcript())

    async def _plan(self, request: web.Request) -> web.Response:
        wish = await request.json()
        self.plan(wish["method"], wish["fault"], str(wish.get("value", "")), int(wish.get("times", 1)))
        return web.json_response({"ok": True})

    async def _picture(self, request: web.Request) -> web.Response:
        channel = self.state.channels.get(request.match_info["channel"])
        if channel is None:
            return web.Response(status=404)
        return web.Response(text=render_svg(channel.messages, channel=channel.name), content_type="image/svg+xml")


async def _arguments(request: web.Request) -> dict[str, Any]:
    """Query, form and JSON together: the SDK uses all three."""
    told: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json" and request.can_read_body:
        body = await request.json()
        if isinstance(body, dict):
            told |= body
    elif request.method == "POST":
        told |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return told


def _authorise(method: str, arguments: dict[str, Any], request: web.Request) -> None:
    if method == "blocks.validate":
        return
    token = request.headers.get("Authorization", "").removeprefix("Bearer ") or str(arguments.get("token", ""))
    if not token:
        raise ApiFault("not_authed")
    if token != (APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN):
        raise ApiFault("invalid_auth")


def _drop(request: web.Request) -> web.StreamResponse:
    """Cut the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
