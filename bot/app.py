"""The composition root: settings in, a web application out. Concrete parts are named here and in registries only.

The parts are put together when the application starts and taken apart in reverse order when it stops.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from aiohttp import web

from bot.access import Access
from bot.incidents.database import Database
from bot.incidents.desk import Desk
from bot.incidents.engine import Completer, Engine, Options, Triage
from bot.incidents.forgetting import Forgetting
from bot.incidents.ledger import SqliteLedger
from bot.incidents.presenter import Presenter
from bot.incidents.records import Records
from bot.intake.access import Gate
from bot.intake.alertmanager_api import AlertmanagerApi
from bot.intake.otlp import routes as otlp
from bot.intake.otlp.encoding import Signal
from bot.intake.otlp.routes import Telemetry
from bot.intake.routes import MAX_BODY, Intake, refusal, refuse_stranger
from bot.intake.sources import registry
from bot.metrics import Metrics
from bot.model import Actions, Channel, Ledger
from bot.redaction import load_redactor
from bot.settings import INCIDENTS, Settings, duration_ns
from bot.terminal import TerminalChannel
from bot.web.middleware import observed
from bot.web.routes import Door, Pages, Probes
from retrieval.errors import BadInput, StoreError
from retrieval.ports import Clock

log = logging.getLogger(__name__)
STATE_FILE = "state.db"
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to be misread


class SystemClock:
    def now_ns(self) -> int:
        return time.time_ns()


def new_id() -> str:
    """An incident's id: 80 random bits, because whoever knows it may read the incident's page."""
    return "inc-" + "".join(secrets.choice(_ALPHABET) for _ in range(16))


@dataclass(frozen=True)
class Side:
    """A channel, with what it needs of the web server and at the end."""

    channel: Channel
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None
    close: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True)
class Memory:
    """A triage over what is remembered, and what adds to it while the server runs; `close` lets go of both."""

    triage: Triage
    telemetry: Telemetry | None = None
    close: Callable[[], Awaitable[None]] | None = None


MakeMemory = Callable[[Settings, Clock, Metrics], Awaitable[Memory]]
MakeTriage = Callable[[Settings], Awaitable[Triage]]
MakeSide = Callable[[Settings, Actions, Ledger], Awaitable[Side]]


@dataclass(frozen=True)
class Factories:
    """What differs between production, demo and tests."""

    triage: MakeTriage | None = None  # instead of `memory`: a triage that has its own, and takes no telemetry
    memory: MakeMemory | None = None
    side: MakeSide | None = None  # None: Slack when it is configured, else the log
    # Alertmanager has waited for the group itself (`group_wait`); what comes later makes the triage run again.
    debounce_s: float = 0.3
    new_id: Callable[[], str] = new_id


@dataclass
class Parts:
    """What runs while the application does; None before and after."""

    engine: Engine | None = None
    records: Records | None = None
    desk: Desk | None = None
    intake: Intake | None = None
    memory: Memory | None = None
    side: Side | None = None
    metrics: Metrics = field(default_factory=Metrics)


PARTS = web.AppKey("parts", Parts)
STOP_S = 10.0


def build(settings: Settings, factories: Factories) -> web.Application:
    """The application with all routes; nothing is opened before it starts.

    Raises: BadInput for settings that this version cannot serve.
    """
    if settings.jobs.url:
        raise BadInput(
            "jobs.url: this version keeps its state in SQLite only", subject="jobs.url", remedy="leave it empty"
        )
    parts = Parts()
    app = web.Application(client_max_size=MAX_BODY, middlewares=[observed(parts.metrics)])
    app[PARTS] = parts
    _add_routes(app, settings, parts)
    if factories.memory is not None:
        gate = Gate(settings.alerts)
        for signal in Signal:
            app.router.add_post(f"/v1/{signal}", _telemetry(gate, parts, signal))
    app.cleanup_ctx.append(_running(settings, factories, parts))
    return app


def runner_of(app: web.Application) -> web.AppRunner:
    """What serves the application. Bodies arrive as they were sent: `bot.intake.body` decompresses them."""
    return web.AppRunner(app, access_log=None, shutdown_timeout=STOP_S, auto_decompress=False)


def _add_routes(app: web.Application, settings: Settings, parts: Parts) -> None:
    gate = Gate(settings.alerts)
    probes = Probes(lambda: _ready(parts), parts.metrics, _version())
    app.router.add_post("/alerts/{source}", _alerts(gate, parts))
    door = Door(Access(settings.access, settings.slack.channel), gate if settings.pages.private else None)
    app.router.add_get("/incidents/{incident_id}", _page(parts, door, "incident"))
    app.router.add_get("/incidents/{incident_id}/bundle", _page(parts, door, "bundle"))
    app.router.add_get("/healthz", probes.healthz)
    app.router.add_get("/readyz", probes.readyz)
    app.router.add_get("/metrics", probes.metrics)
    app.router.add_get("/openapi.json", probes.openapi)
    if settings.slack.enabled and not settings.slack.app_token.get_secret_value():
        app.router.add_post("/slack/events", _slack(parts))


def _alerts(gate: Gate, parts: Parts) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handler(request: web.Request) -> web.StreamResponse:
        stranger = refuse_stranger(gate, request)
        if stranger or parts.intake is None:
            return stranger or refusal(503, "starting", "try again")
        return await parts.intake.take(request, f"d-{secrets.token_hex(8)}")

    return handler


def _telemetry(gate: Gate, parts: Parts, signal: Signal) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handler(request: web.Request) -> web.StreamResponse:
        stranger = otlp.refuse_stranger(gate, request)
        if stranger or parts.memory is None or parts.memory.telemetry is None:
            return stranger or otlp.refusal(request.content_type, 503, "starting; send it again")
        return await parts.memory.telemetry.take(request, signal)

    return handler


def _page(parts: Parts, door: Door, what: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handler(request: web.Request) -> web.StreamResponse:
        if parts.desk is None:
            return refusal(503, "starting", "try again")
        pages = Pages(parts.desk, door)
        return await (pages.incident(request) if what == "incident" else pages.bundle(request))

    return handler


def _slack(parts: Parts) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handler(request: web.Request) -> web.StreamResponse:
        if parts.side is None or parts.side.handler is None:
            return refusal(503, "starting", "try again")
        return await parts.side.handler(request)

    return handler


async def _ready(parts: Parts) -> bool:
    if parts.engine is None or parts.records is None or not parts.engine.alive:
        return False
    telemetry = parts.memory.telemetry if parts.memory else None
    if telemetry is not None and not telemetry.collector.alive:
        return False
    try:
        await parts.records.pending()
    except StoreError:
        return False
    return True


def _running(
    settings: Settings, factories: Factories, parts: Parts
) -> Callable[[web.Application], AsyncIterator[None]]:
    async def context(app: web.Application) -> AsyncIterator[None]:
        clock, sources = SystemClock(), registry(settings.alerts.mapped)
        access = Access(settings.access, settings.slack.channel)
        redactor = await asyncio.to_thread(load_redactor, settings.data)
        database = await Database.open(settings.data / STATE_FILE)
        parts.records = Records(database, settings.data, settings.public_url)
        parts.desk = Desk(parts.records, clock, lambda incident_id: _changed(parts, incident_id), access)
        ledger = SqliteLedger(database)
        parts.side = await (factories.side or default_side)(settings, parts.desk, ledger)
        presenter = Presenter(parts.records, parts.side.channel, parts.metrics, access.for_channel)
        options = Options(
            clock=clock,
            new_id=factories.new_id,
            sources=sources,
            metrics=parts.metrics,
            redactor=redactor,
            kill_switch=settings.kill_switch,
            debounce_s=factories.debounce_s,
        )
        parts.memory = await _memory(settings, factories, clock, parts.metrics)
        completer = _completer(settings)
        parts.engine = Engine(parts.records, parts.memory.triage, presenter, options, completer)
        await parts.engine.start()
        kept = settings.retention.get(INCIDENTS)
        forgetting = Forgetting(parts.records, settings.data, clock, duration_ns(kept) if kept else None)
        forgetting.start()
        parts.intake = Intake(parts.records, sources, clock, parts.metrics, parts.engine.wake)
        yield
        parts.intake = None
        await forgetting.stop()
        await parts.engine.stop()
        await parts.side.channel.close()
        if parts.side.close:
            await parts.side.close()
        memory, parts.memory = parts.memory, None
        if memory.close:
            await memory.close()
        await database.close()

    return context


async def _memory(settings: Settings, factories: Factories, clock: Clock, metrics: Metrics) -> Memory:
    if factories.memory is not None:
        return await factories.memory(settings, clock, metrics)
    assert factories.triage is not None, "one of `memory` and `triage` is given"
    return Memory(await factories.triage(settings))


def _completer(settings: Settings) -> Completer | None:
    return AlertmanagerApi(settings.alertmanager.url) if settings.alertmanager.url else None


def _changed(parts: Parts, incident_id: str) -> None:
    if parts.engine is not None:
        parts.engine.changed(incident_id)


async def default_side(settings: Settings, actions: Actions, ledger: Ledger) -> Side:
    """Slack when it is configured, else a channel that writes to the log."""
    if not settings.slack.enabled:
        from bot.slack.terminal import render_text

        return Side(channel=TerminalChannel(render_text, lambda text: log.info("%s", text), ledger))
    from bot.slack.app import build_slack

    built = await build_slack(settings, actions, ledger)
    return Side(channel=built.channel, handler=built.handler, close=built.close)


def _version() -> str:
    try:
        return version("receipts")
    except PackageNotFoundError:
        return "0"
