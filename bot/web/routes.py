"""What can be read: `GET /incidents/{id}` and its bundle, health, metrics, the API's description."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.access import Access, Reader
from bot.intake.access import Gate
from bot.intake.routes import refusal, refuse_stranger
from bot.metrics import Metrics
from bot.model import Actions, IncidentView
from bot.web.openapi import document
from bot.web.page import CSP, render

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Door:
    """Who may read a page. `gate` None: whoever knows an incident's address may read it (ids are not guessable), where
    it tells of nothing but what everyone may see; else a reader's token is needed that opens all that it tells of."""

    def __init__(self, access: Access, gate: Gate | None) -> None:
        self._access = access
        self._gate = gate

    def stranger(self, request: web.Request) -> web.Response | None:
        """The answer to those who may read no page at all."""
        if self._gate is None or self._access.bearer(request.headers) is not None:
            return None
        return refuse_stranger(self._gate, request)

    def refused(self, request: web.Request, view: IncidentView) -> web.Response | None:
        """The answer to those who may not read this one; it says nothing of what the incident is about."""
        reader = self._access.bearer(request.headers)
        if self._access.allows(view, reader or Reader()):
            return None
        if reader is not None:
            return refusal(403, "forbidden", "this token may not see all of it; access.readers gives it tags")
        response = refusal(
            401, "unauthorized", "not everyone may see it; send a reader's bearer token (access.readers)"
        )
        response.headers["WWW-Authenticate"] = 'Bearer realm="receipts"'
        return response


class Pages:
    def __init__(self, actions: Actions, door: Door) -> None:
        self._actions = actions
        self._door = door

    async def incident(self, request: web.Request) -> web.StreamResponse:
        found = await self._view(request)
        if isinstance(found, web.Response):
            return found
        return web.Response(
            text=render(found), content_type="text/html", charset="utf-8", headers={"Content-Security-Policy": CSP}
        )

    async def bundle(self, request: web.Request) -> web.StreamResponse:
        found = await self._view(request)
        if isinstance(found, web.Response):
            return found
        if found.bundle is None or not found.bundle.path.is_file():
            return refusal(404, "no_bundle", "this incident has no bundle")
        return web.FileResponse(
            found.bundle.path,
            headers={
                "Content-Type": "application/zip",
                "Content-Disposition": f'attachment; filename="receipts-{found.incident_id}.zip"',
                "ETag": f'"{found.bundle.sha256}"',
            },
        )

    async def _view(self, request: web.Request) -> IncidentView | web.Response:
        if stranger := self._door.stranger(request):
            return stranger
        view = await self._actions.view(request.match_info["incident_id"])
        return self._door.refused(request, view) or view


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
