"""`receipts triage CASE`: one case folder, from its alert to the answer and the bundle."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from bot.app import SystemClock
from bot.gateway import gateway_of
from bot.intake.sources import Unreadable, registry
from bot.investigation import Investigator, Setting, incident_id_of
from bot.material import from_folder
from bot.model import BundleRef, IncidentView
from bot.settings import PREFIX, load
from bot.slack.terminal import render_text
from bot.slack.text import clean
from bot.store import open_private
from bot.workshop import make_workshop, prover_of
from bundles.result import result
from bundles.sandbox.cache import cache_folder
from retrieval.errors import BadInput
from retrieval.index.place import place_of
from retrieval.ingest.redaction import redact, throwaway_redactor
from retrieval.model import Alert, Case, Problem
from retrieval.ports import Index, Model, Redactor

MAX_ALERT = 1 << 20
PROBLEMS_TOLD = 10
ANSWERS = "answers"  # in the cache: the same question gets the same answer the next time


@click.command()
@click.argument("case", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("out"), help="folder for the bundle")
@click.option("--json", "as_json", is_flag=True, help="one JSON object on stdout, all else on stderr")
@click.option(
    "--model", default="none", help="language model, reached as the settings under `model` say; none = the rules alone"
)
@click.option("--no-sandbox", is_flag=True, help="run no code; the verdict stays below reproduced")
@click.option("--store", default="", help="an Elasticsearch to work in, under a private prefix that is removed again")
@click.option("--source", default="alertmanager", help="who sent alert.json")
def command(case: Path, as_json: bool, source: str, **given: Any) -> None:
    """Triage one case folder with a throw-away store."""
    concluded, bundle = asyncio.run(_run(case, source, Means(**given)))
    _tell_problems(concluded.sources.problems)
    if as_json:
        click.echo(json.dumps(result(concluded, bundle=str(bundle.path)), ensure_ascii=True))
    else:
        click.echo(render_text(_view(concluded, bundle)))
        click.echo(f"bundle {bundle.path}\nsha256 {bundle.sha256}")


class Means(Struct, frozen=True, kw_only=True):
    """What a triage works with, as it was asked for."""

    out: Path
    no_sandbox: bool
    model: str
    store: str


async def _run(folder: Path, source: str, means: Means) -> tuple[Case, BundleRef]:
    body = await asyncio.to_thread(read_alert, folder)
    await asyncio.to_thread(_usable, means.out)
    alerts = parse_alert(body, source)
    redactor = throwaway_redactor()
    prover = None if means.no_sandbox else prover_of(make_workshop(os.environ, redactor))
    private = _private(means.store, redactor) if means.store else None
    asked = await _model(means.model)
    setting = Setting(clock=SystemClock(), bundles=means.out, prover=prover, model=asked, patient=True)
    investigator = Investigator(from_folder(folder, redactor, private), setting)
    try:
        case, bundle = await investigator.run(incident_id_of(body), alerts, wish=None, progress=_progress)
    finally:
        if asked is not None:
            await asked.close()
    assert bundle is not None
    return case, bundle


def _private(url: str, redactor: Redactor) -> Callable[[], Awaitable[Index]]:
    """Raises: BadInput."""
    place_of(url)
    settings = load(None, os.environ)
    return lambda: open_private(url, settings, redactor=redactor)


async def _model(name: str) -> Model | None:
    """The model that was asked for by name, reached by settings and environment.

    Raises: BadInput, ModelUnavailable: whoever asks for a model is told that there is none.
    """
    if name in ("none", ""):
        return None
    settings = load(None, {**os.environ, f"{PREFIX}MODEL__NAME": name})
    return await gateway_of(settings, SystemClock(), cache_folder(os.environ, uid=os.geteuid()) / ANSWERS)


def _usable(out: Path) -> None:
    """Found out before the work, not after it. Raises: BadInput."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror}", subject="--out", remedy="give another folder") from error


def read_alert(folder: Path) -> bytes:
    """`alert.json` of a case folder. Raises: BadInput."""
    path = folder / "alert.json"
    if not folder.is_dir():
        raise BadInput(f"{folder}: there is no such case folder", remedy="give a folder that holds alert.json")
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise BadInput(f"{path}: is no file", remedy="give the webhook's body as it was sent")
    try:
        with path.open("rb") as file:
            body = file.read(MAX_ALERT + 1)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read", remedy="a case folder needs at least alert.json") from error
    if len(body) > MAX_ALERT:
        raise BadInput(f"{path}: is larger than 1 MiB", remedy="give the webhook's body as it was sent")
    return body


def parse_alert(body: bytes, source: str) -> tuple[Alert, ...]:
    """The alerts that can be read, firing ones first. Raises: BadInput when there is none."""
    sources = registry()
    if source not in sources:
        raise BadInput(f"--source {source}: unknown sender", remedy=f"one of {', '.join(sorted(sources))}")
    try:
        batch = sources[source].parse(body, {})
    except Unreadable as error:
        raise BadInput(f"alert.json: {error.reason}", remedy=f"give a body as {source} sends it") from error
    redactor = throwaway_redactor()
    if not batch.alerts:
        why = f" ({batch.rejected[0][1]})" if batch.rejected else ""
        raise BadInput(f"alert.json: holds no readable alert{why}", remedy=f"give a body as {source} sends it")
    return tuple(sorted((_clean(a, redactor) for a in batch.alerts), key=lambda a: a.status != "firing"))


def _clean(alert: Alert, redactor: Redactor) -> Alert:
    return redact(alert, redactor)


async def _progress(stage: str, known: str) -> None:
    if sys.stderr.isatty():
        click.echo(clean(f"{stage}: {known}")[:160], err=True)


def _tell_problems(problems: Sequence[Problem]) -> None:
    """What could not be used, on stderr: an answer that rests on less than was given must say so."""
    for problem in problems[:PROBLEMS_TOLD]:
        click.echo(clean(f"{problem.source}: {problem.reason}"), err=True)
    if len(problems) > PROBLEMS_TOLD:
        click.echo(f"and {len(problems) - PROBLEMS_TOLD} more; --json lists them", err=True)


def _view(case: Case, bundle: BundleRef) -> IncidentView:
    firing = sum(a.status == "firing" for a in case.alerts)
    now_ns = SystemClock().now_ns()
    return IncidentView(
        incident_id=case.incident_id,
        status="done",
        alerts=case.alerts,
        firing=firing,
        resolved=len(case.alerts) - firing,
        started_ns=min(a.starts_ns for a in case.alerts),
        now_ns=now_ns,
        case=case,
        bundle=bundle,
        seconds=sum(case.timings_ms.values()) / 1000,
    )
