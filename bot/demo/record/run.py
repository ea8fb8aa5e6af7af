"""Starts the shop, sends its visitors, lets one canary come, and writes down what a collector would have."""

import asyncio
import json
import os
import re
import sys
import sysconfig
import time
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bot.demo.record.plan import CANARY_DEPLOY, SECOND, STARTS, STOREFRONT_DEPLOY, visits
from bot.demo.record.services import Fleet, Ground, Instance, rates_feed
from bot.demo.record.stretch import Timeline, moved, per_minute
from bot.demo.record.traffic import Sent, drive
from bot.demo.repository import NAME, RELEASES
from bundles.environment import Environments
from retrieval.code.git import open_repository
from retrieval.errors import BadInput
from retrieval.model import ServiceInfo
from retrieval.ports import Repository

REGION = "eu-west-1"
_OLD_PODS = ("price-5c9f7d6b8-4xq2n", "price-5c9f7d6b8-m8k7t", "price-5c9f7d6b8-zr5wd")
_CANARY_POD = "price-canary-7b6d4c9f5-9hjvl"
_RATES_EVERY_S = "0.7"  # the incident's 40 minutes pass in seconds
_READY_AFTER = 25 * SECOND  # how long after a deploy's start its first instance answers
# What the paths of a checkout and of its packages are called in the services' images.
_IMAGE_SITE, _IMAGE_LIBRARY = "/usr/local/lib/python3.11/site-packages", "/usr/local/lib/python3.11"
_PORT = re.compile(r"listens on port \d+")


class Places(Struct, frozen=True, kw_only=True):
    """`case` gets traces, logs, metrics and junit; `work` is emptied by whoever made it."""

    case: Path
    work: Path


async def record(places: Places, environ: Mapping[str, str]) -> None:
    """Run the shop through its incident. Takes half a minute, the first time the installation of its packages too.

    Raises: BadInput when the packages cannot be had or a service does not start; RepositoryError.
    """
    repository = await open_repository(NAME, places.case / "repos" / NAME)
    service = ServiceInfo(name="price", repo=NAME, environment="requirements-run.txt")
    prepared = await Environments(environ).prepare(repository, RELEASES.price_canary, service)
    if prepared.site is None:
        raise BadInput(
            f"the shop's packages cannot be installed: {prepared.reason}",
            subject="--fresh",
            remedy="run the demo without --fresh; it has a recording",
        )
    checkouts = await _checkouts(repository, places.work)
    telemetry = places.work / "telemetry"
    telemetry.mkdir()
    ground = Ground(site=prepared.site, telemetry=telemetry, endpoints=places.work / "endpoints.json", region=REGION)
    anchors, sent = await _incident(ground, checkouts)
    lines = await asyncio.to_thread(_read, telemetry, _renaming(checkouts, prepared.site))
    await asyncio.to_thread(_write, places.case, lines, _timeline(lines, anchors, sent))
    await _suite(places.case, checkouts[RELEASES.price_canary], prepared.site)


async def _checkouts(repository: Repository, work: Path) -> dict[str, Path]:
    """One folder per commit that runs somewhere."""
    wanted = (
        RELEASES.price_good, RELEASES.price_canary, RELEASES.checkout, RELEASES.storefront, RELEASES.storefront_before,
    )  # fmt: skip
    folders = {sha: work / sha[:12] for sha in dict.fromkeys(wanted)}
    for sha, folder in folders.items():
        await repository.checkout(sha, folder)
    return folders


async def _incident(ground: Ground, checkouts: Mapping[str, Path]) -> tuple[list[tuple[int, int]], list[Sent]]:
    """Everything that happens, in order. Returns when the starts really were, and all requests."""
    anchors = [(time.time_ns(), STARTS - 60 * SECOND)]
    async with rates_feed() as feed, Fleet(ground) as fleet:

        def start(service: str, pod: str, commit: str) -> Awaitable[str]:
            own = {"RATES_URL": feed, "RATES_EVERY_S": _RATES_EVERY_S} if service == "price" else {}
            return fleet.start(
                Instance(service=service, pod=pod, commit=commit, checkout=checkouts[commit], environment=own)
            )

        async def rollout(deploy_ns: int, service: str, pod: str, commit: str) -> str:
            anchors.append((time.time_ns(), deploy_ns))
            address = await start(service, pod, commit)
            anchors.append((time.time_ns(), deploy_ns + _READY_AFTER))
            return address

        for pod in _OLD_PODS:
            await start("price", pod, RELEASES.price_good)
        await start("checkout", "checkout-6f4b9c7dd-tk2xs", RELEASES.checkout)
        edge = await start("storefront", "storefront-84d5f9c6b-q7mzp", RELEASES.storefront_before)

        async def storefront() -> None:
            nonlocal edge
            edge = await rollout(STOREFRONT_DEPLOY, "storefront", "storefront-59bb7d8c4-v6ncf", RELEASES.storefront)

        async def canary() -> None:
            await rollout(CANARY_DEPLOY, "price", _CANARY_POD, RELEASES.price_canary)

        moments = [(STOREFRONT_DEPLOY + _READY_AFTER, storefront), (CANARY_DEPLOY + _READY_AFTER, canary)]
        sent = await drive(visits(), storefront=lambda: edge, moments=moments)
    return anchors, sent


def _renaming(checkouts: Mapping[str, Path], site: Path) -> list[tuple[str, str]]:
    """Longest first, so that a folder inside another is found."""
    names = [(str(folder), "/app") for folder in checkouts.values()]
    names += [(str(site), _IMAGE_SITE), (str(Path(sysconfig.get_path("stdlib"))), _IMAGE_LIBRARY)]
    return sorted(names, key=lambda pair: -len(pair[0]))


def _read(telemetry: Path, renaming: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """What the services wrote, with the paths and the port that their images would have."""
    lines = []
    for path in sorted(telemetry.glob("*.jsonl")):
        text = path.read_text(encoding="utf-8")
        for really, named in renaming:
            text = text.replace(really, named)
        lines += [json.loads(line) for line in _PORT.sub("listens on port 8080", text).splitlines()]
    return lines


def _timeline(lines: Sequence[Mapping[str, Any]], anchors: Sequence[tuple[int, int]], sent: Sequence[Sent]) -> Timeline:
    planned = {one.trace_id: one.at_ns for one in sent}
    began: dict[str, int] = {}
    for line in lines:
        for part in line.get("resourceSpans", ()):
            for span in (span for scope in part["scopeSpans"] for span in scope["spans"]):
                start = int(span["startTimeUnixNano"])
                began[span["traceId"]] = min(start, began.get(span["traceId"], start))
    pairs = sorted([*anchors, *((one.really_ns, one.at_ns) for one in sent)])
    growing = [pair for n, pair in enumerate(pairs) if n == 0 or pair[1] >= max(p for _, p in pairs[:n])]
    return Timeline(
        anchors=tuple(growing),
        traces={trace: planned[trace] - start for trace, start in began.items() if trace in planned},
    )


def _write(case: Path, lines: Sequence[Mapping[str, Any]], timeline: Timeline) -> None:
    for folder, kind in (("traces", "resourceSpans"), ("logs", "resourceLogs")):
        fresh = moved((line for line in lines if kind in line), timeline)
        services = {_service(line[kind][0]) for line in fresh}
        for service in sorted(services):
            _write_lines(case / folder / f"{service}.jsonl", [e for e in fresh if _service(e[kind][0]) == service])
        if kind == "resourceSpans":
            _write_lines(case / "metrics" / "http.jsonl", per_minute(fresh))


def _service(part: Mapping[str, Any]) -> str:
    names = {a["key"]: a["value"].get("stringValue", "") for a in part["resource"]["attributes"]}
    return str(names["service.name"])


def _write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")


async def _suite(case: Path, checkout: Path, site: Path) -> None:
    """The shop's own tests at the deployed commit, as its CI ran them."""
    report = case / "junit" / f"shop-{RELEASES.price_canary[:8]}.xml"
    await asyncio.to_thread(report.parent.mkdir, exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-S", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"),
        cwd=checkout,
        env={"PATH": os.defpath, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    if await process.wait():
        raise BadInput("the shop's own tests fail", subject="--fresh", remedy="run the demo without --fresh")
    text = await asyncio.to_thread(report.read_text, encoding="utf-8")
    text = re.sub(r'timestamp="[^"]*"', 'timestamp="2026-11-23T14:06:12+00:00"', text)
    text = re.sub(r'hostname="[^"]*"', 'hostname="ci-runner-2"', text)
    await asyncio.to_thread(report.write_text, text, encoding="utf-8")
