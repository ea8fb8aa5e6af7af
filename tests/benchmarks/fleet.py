"""Ten services for a day, from a fixed seed: 200,000 log documents, 20,000 spans, 2,000 commits, twenty incidents.

Every log line carries an id that occurs once, so that no two documents share a text (or a vector). Most lines are
healthy and are kept as summaries, as in production; each incident adds errors with a stack, logged and traced, from a
deploy ten minutes before it.
"""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from retrieval.code.process import run_git
from retrieval.ingest.exceptions import of_text
from retrieval.model import CaseSources, Deploy, LogRecord, ServiceInfo, SourceRef, Span, SpanEvent

SERVICES = ("billing", "cart", "catalog", "delivery", "identity", "ledger", "pricing", "search", "stock", "tickets")
HOUR, MINUTE, SECOND = 3600 * 10**9, 60 * 10**9, 10**9
DAY_STARTS = 1_772_323_200 * SECOND  # 2026-03-01T00:00:00Z
FIRST_NS, APART_NS = 3 * HOUR, HOUR + MINUTE  # the first incident of the day, and how far apart they are
SLICES = 288  # of five minutes
COMMITS, MODULES, FUNCTIONS = 200, 12, 8  # of one repository
ERRORS, FAILING_TRACES = 400, 60  # of one incident
HEALTHY_TRACES = 16  # of one service and hour
_TEMPLATES = 67  # healthy log lines that one service has; one document each, every five minutes
_STEMS = ("pay", "cart", "user", "order", "cache", "rate", "queue", "stock", "price", "route", "token", "batch")
_ENDINGS = ("", "s", "er", "ed", "ing", "less", "able", "ful", "_id", "_name", "_count", "_limit", ".open", ".close")


class Incident(Struct, frozen=True, kw_only=True):
    """What went wrong, when, and by which commit (its number in the repository's history)."""

    service: str
    at_ns: int
    module: int
    function: int
    commit: int
    deployed: int


class History(Struct, frozen=True, kw_only=True):
    """One repository: commit names, oldest first, and where each function begins at each of them."""

    name: str
    path: Path
    shas: tuple[str, ...]


def incidents() -> list[Incident]:
    return [
        Incident(
            service=service,
            at_ns=DAY_STARTS + FIRST_NS + (turn * len(SERVICES) + n) * APART_NS,
            module=(n + turn) % MODULES,
            function=(2 * n + turn) % FUNCTIONS,
            commit=(170, 190)[turn] + n % 5,
            deployed=(175, 199)[turn],
        )
        for turn in range(2)
        for n, service in enumerate(SERVICES)
    ]


def _source(module: int, versions: list[int]) -> str:
    lines = [f'"""Module {module}."""', ""]
    for number, version in enumerate(versions):
        lines += [
            "",
            f"def step_{module}_{number}(order, limit={version}):",
            f"    total = order.get('amount', {version}) * {version + 1}",
            f"    name = order.get('name_{version}')",
            "    return name.upper(), min(total, limit)",
            "",
        ]
    return "\n".join(lines)


def line_of(function: int) -> int:
    """Where a function of `_source` raises."""
    return 2 + 6 * function + 5


async def build_history(service: str, folder: Path) -> History:
    """A repository of `COMMITS` commits, each of which rewrites one function."""
    planned = {i.commit: (i.module, i.function) for i in incidents() if i.service == service}
    rng = random.Random(service)
    modules = [[0] * FUNCTIONS for _ in range(MODULES)]
    stream: list[bytes] = []
    for n in range(COMMITS):
        module, function = planned.get(n) or (rng.randrange(MODULES), rng.randrange(FUNCTIONS))
        modules[module][function] = n + 1
        changed = range(MODULES) if n == 0 else [module]
        files = [(f"{service}/module_{m}.py", _source(m, modules[m])) for m in changed]
        stream += _commit(n, f"Rework step {function} of module {module}", files)
    path = folder / service
    path.mkdir(parents=True)
    await run_git(path, ["init", "-q", "--bare", "."])
    await run_git(path, ["symbolic-ref", "HEAD", "refs/heads/main"])
    await run_git(path, ["fast-import", "--quiet"], stdin=b"".join(stream))
    listed = await run_git(path, ["rev-list", "--reverse", "main"])
    return History(name=service, path=path, shas=tuple(listed.decode().split()))


def _commit(n: int, subject: str, files: list[tuple[str, str]]) -> list[bytes]:
    committed = (DAY_STARTS - (COMMITS - n) * 5 * HOUR) // SECOND
    head = f"commit refs/heads/main\ncommitter Ada Byron <ada@shop.example> {committed} +0000\n"
    data = [f"{head}data {len(subject)}\n{subject}\n".encode()]
    for name, text in files:
        data.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n".encode())
    return data


def sources(histories: list[History]) -> CaseSources:
    """Everything that was recorded on that day."""
    logs = [record for number, service in enumerate(SERVICES) for record in _healthy_logs(service, number)]
    spans = [span for service in SERVICES for hour in range(24) for span in _healthy_spans(service, hour)]
    deploys = []
    for incident in incidents():
        history = next(h for h in histories if h.name == incident.service)
        deploys += _deploys(incident, history)
        logs += _errors(incident)
        spans += _failing_spans(incident)
    return CaseSources(
        logs=tuple(logs),
        spans=tuple(spans),
        deploys=tuple(dict.fromkeys(deploys)),
        services={name: ServiceInfo(name=name, repo=name, language="python") for name in SERVICES},
        repos={h.name: h.path for h in histories},
    )


def _healthy_logs(service: str, number: int) -> Iterator[LogRecord]:
    rng = random.Random(f"{service} logs")
    words = [f"{a}{b}" for a in _STEMS for b in _ENDINGS]
    templates = [rng.choices(words, k=rng.randint(14, 30)) for _ in range(_TEMPLATES)]
    line = 0
    for part in range(SLICES):
        for n, template in enumerate(templates):
            for _ in range(rng.choice((1, 1, 2))):
                line += 1
                told = f"{' '.join(template)} request {rng.getrandbits(64):016x} took {rng.randint(1, 900)} ms"
                yield LogRecord(
                    time_ns=DAY_STARTS + part * 5 * MINUTE + rng.randrange(5 * MINUTE),
                    body=told,
                    service=service,
                    severity=13 if n % 10 == 0 else 9,
                    source=SourceRef(f"logs/{number}.log", line),
                )


def _healthy_spans(service: str, hour: int) -> Iterator[Span]:
    rng = random.Random(f"{service} spans {hour}")
    for _ in range(HEALTHY_TRACES):
        start = DAY_STARTS + hour * HOUR + rng.randrange(HOUR)
        yield from _trace(rng, service, start, None)


def _trace(rng: random.Random, service: str, start_ns: int, raised: str | None) -> Iterator[Span]:
    """An edge, the service, and what it asks: four spans; with a traceback the request fails."""
    trace, ids = f"{rng.getrandbits(128):032x}", [f"{rng.getrandbits(64):016x}" for _ in range(4)]
    callee = callee_of(service)
    places = (("edge", "POST /orders", ""), (service, "POST /orders", ids[0]), (callee, "GET /items", ids[1]))
    for depth, (where, name, parent) in enumerate((*places, (callee, "SELECT items", ids[2]))):
        failed = raised is not None and depth < 2
        error = of_text(raised) if raised and depth == 1 else None
        attributes: dict[str, Any] = {"http.response.status_code": 500 if failed else 200, "http.route": "/orders"}
        yield Span(
            trace_id=trace,
            span_id=ids[depth],
            parent_span_id=parent,
            name=name,
            service=where,
            start_ns=start_ns + depth * 10**6,
            end_ns=start_ns + (40 - 5 * depth) * 10**6,
            kind="internal" if depth == 3 else "server",
            status="error" if failed else "unset",
            attributes=attributes,
            events=(SpanEvent(name="exception", time_ns=start_ns, attributes={}),) if error else (),
            exception=error,
            source=SourceRef("traces/traces.jsonl", 1),
        )


def callee_of(service: str) -> str:
    """What it calls."""
    return SERVICES[(SERVICES.index(service) + 1) % len(SERVICES)]


def traceback_of(incident: Incident) -> str:
    package = f"/srv/app/{incident.service}"
    return (
        "Traceback (most recent call last):\n"
        f'  File "{package}/module_0.py", line {line_of(0)}, in step_0_0\n    return name.upper(), min(total, limit)\n'
        f'  File "{package}/module_{incident.module}.py", line {line_of(incident.function)},'
        f" in step_{incident.module}_{incident.function}\n    return name.upper(), min(total, limit)\n"
        "AttributeError: 'NoneType' object has no attribute 'upper'"
    )


def _errors(incident: Incident) -> Iterator[LogRecord]:
    rng = random.Random(f"{incident.service} errors {incident.at_ns}")
    raised = traceback_of(incident)
    for n in range(ERRORS):
        body = f"order {rng.getrandbits(64):016x} could not be handled\n{raised}"
        yield LogRecord(
            time_ns=incident.at_ns + rng.randrange(8 * MINUTE),
            body=body,
            service=incident.service,
            severity=17,
            logger=f"{incident.service}.http",
            exception=of_text(raised),
            source=SourceRef(f"logs/{incident.service}-{incident.at_ns}.log", n + 1),
        )


def _failing_spans(incident: Incident) -> Iterator[Span]:
    rng = random.Random(f"{incident.service} failing {incident.at_ns}")
    raised = traceback_of(incident)
    for _ in range(FAILING_TRACES):
        yield from _trace(rng, incident.service, incident.at_ns + rng.randrange(8 * MINUTE), raised)


def _deploys(incident: Incident, history: History) -> list[Deploy]:
    before = 150 if incident.deployed == 175 else 175
    found = [] if before == 175 else [(before, DAY_STARTS - 48 * HOUR, 120)]
    found.append((incident.deployed, incident.at_ns - 10 * MINUTE, before))
    return [
        Deploy(
            service=incident.service,
            git_sha=history.shas[number],
            previous_sha=history.shas[earlier],
            started_ns=at_ns,
            finished_ns=at_ns + 2 * MINUTE,
            environment="production",
            deployment_id=f"{incident.service}-{number}",
            percent=100,
            source=SourceRef("deploys.jsonl", number),
        )
        for number, at_ns, earlier in found
    ]


def alert_of(incident: Incident) -> dict[str, Any]:
    """As Alertmanager sends it, four minutes after it began."""
    starts = incident.at_ns + 4 * MINUTE
    labels = {"alertname": "HighErrorRate", "service": incident.service, "severity": "critical"}
    labels["window"] = str(starts // HOUR)
    summary = {"summary": f"{incident.service}: 5xx on POST /orders above 5 %"}
    moment = _rfc3339(starts)
    return {
        "version": "4",
        "groupKey": f'{{}}:{{service="{incident.service}",at="{starts}"}}',
        "status": "firing",
        "receiver": "receipts",
        "groupLabels": {"service": incident.service},
        "commonLabels": labels,
        "commonAnnotations": summary,
        "externalURL": "http://alertmanager.shop.example:9093",
        "alerts": [
            {
                "status": "firing",
                "labels": labels,
                "annotations": summary,
                "startsAt": moment,
                "endsAt": "0001-01-01T00:00:00Z",
                "fingerprint": f"{abs(starts) % 2**64:016x}",
            }
        ],
    }


def _rfc3339(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
