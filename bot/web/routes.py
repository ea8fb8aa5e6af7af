"""What can be read: `GET /incidents/{id}` and its bundle, health, metrics, the API's description."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.intake.access import Gate
from bot.intake.routes import refusal, refuse_stranger
from bot.metrics import Metrics
from bot.model import Actions
from bot.web.openapi import document
from bot.web.page import CSP, render

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pages:
    """`gate` None: whoever knows an incident's address may read it (ids are not guessable)."""

    def __init__(self, actions: Actions, gate: Gate | None) -> None:
        self._actions = actions
        self._gate = gate

    async def incident(self, request: web.Request) -> web.StreamResponse:
        if self._gate and (stranger := refuse_stranger(self._gate, request)):
            return stranger
        view = await self._actions.view(request.match_info["incident_id"])
        return web.Response(
            text=render(view), content_type="text/html", charset="utf-8", headers={"Content-Security-Policy": CSP}
        )

    async def bundle(self, request: web.Request) -> web.StreamResponse:
        if self._gate and (stranger := refuse_stranger(self._gate, request)):
            return stranger
        view = await self._actions.view(request.match_info["incident_id"])
        if view.bundle is None or not view.bundle.path.is_file():
            return refusal(404, "no_bundle", "this incident has no bundle")
        return web.FileResponse(
            view.bundle.path,
            headers={
                "Content-Type": "application/zip",
                "Content-Disposition": f'attachment; filename="receipts-{view.incident_id}.zip"',
                "ETag": f'"{view.bundle.sha256}"',
            },
        )


class Probes:
    def __init__(self, ready: Callable[[], Awaitable[bool]], metrics: Metrics, version: str) -> None:
        self._ready = ready
        self._metrics = metrics
        self._version = version

    async def healthz(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "alive"})

    async def readyz(self, request: web.Request) -> web.Response:
        ready = await self._ready()
        return web.json_response({"status": "ready" if ready else "not ready"}, status=200 if ready else 503)

    async def metrics(self, request: web.Request) -> web.Response:
        return web.Response(
            body=self._metrics.text().encode(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    async def openapi(self, request: web.Request) -> web.Response:
        return web.json_response(document(routes_of(request.app), self._version))


def routes_of(app: web.Application) -> list[tuple[str, str]]:
    """Every (method, path) that the application serves; HEAD comes with GET."""
    found = set()
    for route in app.router.routes():
        if route.resource is not None and route.method not in ("HEAD", "*"):
            found.add((route.method, route.resource.canonical))
    return sorted(found)
