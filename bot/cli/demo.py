"""`receipts demo`: the reference incident, from nothing to the message, the picture of the channel and the bundle."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from bot.demo.case_folder import build_case
from bot.demo.play import Played, Stage, played
from bot.slack.picture import render_svg
from bot.slack.terminal import render_text
from bot.workshop import make_workshop
from bundles.sandbox import probe
from retrieval.errors import BadInput
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.model import Case, Verdict
from retrieval.texts import environment

PICTURE, MESSAGE, CASE = "channel.svg", "message.svg", "case"


@click.command(name="demo")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/demo"), help="folder for picture and bundle")
@click.option("--fresh", is_flag=True, help="start the shop's services and record the incident anew")
@click.option("--keep", is_flag=True, help="keep the case folder beside the bundle")
@click.option("--web", is_flag=True, help="serve the incident's page until Ctrl-C")
def command(out: Path, fresh: bool, keep: bool, web: bool) -> None:
    """Build the reference incident and triage it; nothing has to be configured.

    A shop of three Python services rolls out a faulty commit to a quarter of one of them; Alertmanager calls. Exit
    code 0 when the verdict is `proved`, 1 when it is less, 3 when tests cannot be run here.
    """
    raise SystemExit(asyncio.run(_demo(out, fresh=fresh, keep=keep, web=web)))


async def _demo(out: Path, *, fresh: bool, keep: bool, web: bool) -> int:
    say = _progress(time.monotonic())
    workshop = make_workshop(os.environ, throwaway_redactor())
    status = await probe(workshop.sandbox)
    if not status.holds:
        click.echo(f"receipts: the demo runs a generated test, and cannot: {status.reason}", err=True)
        return 3
    with _emptied(out) as folder, tempfile.TemporaryDirectory(prefix="receipts-demo-") as scratch:
        case = folder / CASE if keep else Path(scratch) / CASE
        say("recording the shop's incident" if fresh else "building the shop's repository and its recorded incident")
        await build_case(case, fresh=fresh, environ=os.environ)
        data = Path(scratch) / "data"
        data.mkdir()
        stage = Stage(case=case, data=data, say=say)
        async with played(stage) as ended:
            click.echo(await asyncio.to_thread(_written, ended, folder, case if keep else None))
            if web:
                await _serve(ended)
    proved = ended.view.case is not None and ended.view.case.verdict is Verdict.PROVED
    return 0 if proved else 1


def _progress(began: float) -> Callable[[str], None]:
    def say(text: str) -> None:
        click.echo(f"{time.monotonic() - began:5.1f} s  {text[:140]}", err=True)

    return say


@contextmanager
def _emptied(out: Path) -> Iterator[Path]:
    """The folder without what an earlier demo left in it. Raises: BadInput."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for old in [*out.glob("inc-*.zip"), out / PICTURE, out / MESSAGE]:
            old.unlink(missing_ok=True)
        shutil.rmtree(out / CASE, ignore_errors=True)
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror}", subject="--out", remedy="give another folder") from error
    yield out


def _written(ended: Played, out: Path, case: Path | None) -> str:
    """Picture and bundle in `out`; returns what to print."""
    view = ended.view
    picture = out / PICTURE
    picture.write_text(render_svg(ended.messages, channel=ended.channel), encoding="utf-8")
    roots = [m for m in ended.messages if m.get("thread_ts", m.get("ts")) == m.get("ts")]
    (out / MESSAGE).write_text(render_svg(roots, channel=ended.channel), encoding="utf-8")
    bundle = None
    if view.bundle is not None:
        bundle = out / view.bundle.path.name
        shutil.copyfile(view.bundle.path, bundle)
    return (
        environment()
        .get_template("demo/ended.j2")
        .render(
            message=render_text(view),
            verdict=view.case.verdict.value if view.case else f"none ({view.stage})",
            **_culprit(view.case),
            lamps=_lamps(view.case),
            bundle=bundle,
            sha256=view.bundle.sha256 if view.bundle else "",
            picture=picture,
            case=case,
        )
    )


def _culprit(case: Case | None) -> dict[str, str]:
    sha = case.proof.bisect.culprit if case and case.proof and case.proof.bisect else None
    commit = next((s.commit for s in case.suspects if s.commit.sha == sha), None) if case and sha else None
    return {
        "culprit": sha or "",
        "subject": commit.subject if commit else "",
        "author": commit.author if commit else "",
    }


def _lamps(case: Case | None) -> list[dict[str, Any]]:
    """The three of the triple proof: last good, deployed, patched."""
    proof = case.proof if case else None
    good, deployed = (proof.at_good, proof.at_deployed) if proof else (None, None)
    patch = proof.patch if proof else None
    return [
        {"lit": good is not None and good.outcome == "passed", "text": "passes at the last good commit"},
        {
            "lit": deployed is not None and deployed.outcome == "failed" and deployed.matches_production,
            "text": "fails at the deployed commit as in production",
        },
        {"lit": patch is not None and patch.outcome == "passed", "text": "passes with the patch"},
    ]


async def _serve(ended: Played) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    click.echo(f"page      {ended.page}  (Ctrl-C ends it)")
    try:
        await stop.wait()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
