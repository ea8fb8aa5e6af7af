"""The order of the stages, written here and nowhere else.

    context -> survey -> retrieve -> judge -> prove -> conclude -> refine

Stages that only compute run in a thread, so that other alerts are taken and told meanwhile.

Each stage takes the case and returns it with one more part filled in. What a stage needs from outside comes in `Tools`;
the clock is read only for the timings, which are told but never packed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from bot.model import Rerun
from retrieval.code.survey import calls_of, survey
from retrieval.context.anomaly import rank_services
from retrieval.context.crashes import crash_groups, located
from retrieval.context.observed import seen_files, seen_service
from retrieval.context.onset import find_onset
from retrieval.context.rollout import find_rollout
from retrieval.context.suspects import find_suspects
from retrieval.context.topology import build_topology
from retrieval.context.window import make_window
from retrieval.contracts.reached import find_contract_changes
from retrieval.errors import RepositoryError
from retrieval.judgement.conclude import conclude
from retrieval.judgement.refinement import refine
from retrieval.kinds.queries import queries
from retrieval.model import (
    LIVE,
    Alert,
    Case,
    CaseSources,
    Hit,
    Onset,
    Problem,
    Proof,
    RankedItem,
    ServiceInfo,
    SourceRef,
    Window,
)
from retrieval.ports import Clock, Embedder, Index, Model, Repository
from retrieval.ranking.legs import retrieve

Progress = Callable[[str, str], Awaitable[None]]
Prover = Callable[[Case, Mapping[str, Repository], Progress], Awaitable[Proof | None]]

LOCATED_CRASHES = 3


@dataclass(frozen=True)
class Windows:
    """How far to look around the onset, as durations."""

    before: str = "45m"
    after: str = "15m"
    diffs: str = "24h"


@dataclass(frozen=True)
class Tools:
    """What the stages work with. `prover` None: nothing is executed; `embedder` None: search does without vectors;
    `model` None: no language model is asked, and the rules' answer is whole without it.
    `acl` is what the asker may see; the `patient` wait for a store that is far away; `knowledge` is the snapshot
    that is asked about code and what was written down."""

    index: Index
    clock: Clock
    embedder: Embedder | None = None
    repositories: Mapping[str, Repository] = field(default_factory=dict)
    prover: Prover | None = None
    windows: Windows = field(default_factory=Windows)
    acl: tuple[str, ...] = ("public",)
    model: Model | None = None
    patient: bool = False
    knowledge: str = LIVE


async def triage(
    incident_id: str,
    alerts: Sequence[Alert],
    sources: CaseSources,
    tools: Tools,
    *,
    wish: Rerun | None = None,
    progress: Progress,
) -> Case:
    """From alerts and what was recorded to a concluded case; everything but the bundle.

    Raises: StoreError when the index cannot answer; trouble with repositories and with running code is part of the
    answer instead.
    """
    case = Case(incident_id=incident_id, alerts=tuple(alerts), sources=sources, options=_options(wish))
    marks = _Marks(tools.clock)
    await progress("context", _known_alert(case))
    case = await _context(case, tools, wish)
    marks.end("context")
    await progress("survey", _known_crash(case))
    case = await _survey(case, tools)
    marks.end("survey")
    case, hits = await _retrieve(case, tools)
    marks.end("retrieve")
    case = await asyncio.to_thread(conclude, case, hits)
    marks.end("judge")
    await progress("prove" if tools.prover else "conclude", _known_hypothesis(case))
    if tools.prover is not None:
        proof = await tools.prover(case, tools.repositories, progress)
        case = await asyncio.to_thread(conclude, structs.replace(case, proof=proof), hits)
        marks.end("prove")
    if tools.model is not None:
        await progress("refine", _known_hypothesis(case))
        case = await refine(case, hits, tools.model)
        marks.end("refine")
    return structs.replace(case, timings_ms=marks.spent)


def _options(wish: Rerun | None) -> dict[str, object]:
    """What a person asked for or answered, for the stages that heed it."""
    options: dict[str, object] = {}
    if wish and wish.service:
        options["service"] = wish.service
    if wish and wish.answers:
        options["answers"] = dict(wish.answers)
    return options


async def _context(case: Case, tools: Tools, wish: Rerun | None) -> Case:
    """Onset, window, topology, rollout, crashes, suspects: when it began, where, and what had just changed."""
    case = await asyncio.to_thread(_when_and_where, case, tools.windows, wish)
    files = await _files(case, tools.repositories)
    case = await asyncio.to_thread(_what_failed, case, files)
    problems: list[Problem] = []
    found = await find_suspects(
        case,
        tools.repositories,
        on_problem=lambda service, error: problems.append(
            Problem(source=SourceRef(f"repos/{service}"), reason=error.told)
        ),
    )
    case = structs.replace(case, suspects=found)
    drift = await find_contract_changes(case, tools.repositories)
    scores = tuple(RankedItem(service, score) for service, score in await asyncio.to_thread(rank_services, case))
    every = tuple(dict.fromkeys((*case.sources.problems, *problems, *drift.problems)))
    sources = structs.replace(case.sources, problems=every)
    return structs.replace(case, contract_changes=drift.changes, service_scores=scores, sources=sources)


def _when_and_where(case: Case, windows: Windows, wish: Rerun | None) -> Case:
    onset = _as_of(find_onset(case.alerts, case.sources), wish)
    window = make_window(
        onset,
        before=(wish.before if wish else "") or windows.before,
        after=(wish.after if wish else "") or windows.after,
        diffs=windows.diffs,
    )
    entry = str(case.options.get("service") or next((a.service for a in case.alerts if a.service), ""))
    topology = build_topology(case.sources, window, entry, onset_ns=onset.at_ns)
    rollout = find_rollout(case.sources.deploys, onset, case.alerts)
    return structs.replace(case, onset=onset, window=window, topology=topology, rollout=rollout)


def _what_failed(case: Case, files: Mapping[str, tuple[str, ...]]) -> Case:
    assert case.onset is not None
    crashes = crash_groups(
        case.sources,
        files_of=lambda service: files.get(service, ()),
        onset=case.onset,
        alerts=case.alerts,
        topology=case.topology,
    )
    if wanted := case.options.get("service"):
        crashes = tuple(sorted(crashes, key=lambda c: c.service != wanted))
    case = structs.replace(case, crashes=crashes)
    return structs.replace(case, seen_files=seen_files(case, lambda service: files.get(service, ())))


def _as_of(onset: Onset, wish: Rerun | None) -> Onset:
    if wish is None or wish.as_of_ns is None:
        return onset
    return structs.replace(onset, at_ns=min(onset.at_ns, wish.as_of_ns), source="asked")


async def _files(case: Case, repositories: Mapping[str, Repository]) -> dict[str, tuple[str, ...]]:
    """Per service the files at the commit that ran; nothing for a repository that cannot say."""
    files: dict[str, tuple[str, ...]] = {}
    for name, info in case.sources.services.items():
        deploy, repo = case.rollout.current.get(name), repositories.get(info.repo or name)
        if deploy is None or repo is None:
            continue
        try:
            files[name] = tuple(await repo.files(deploy.git_sha))
        except RepositoryError:
            continue
    return files


async def _survey(case: Case, tools: Tools) -> Case:
    """Symbols and calls of the service that crashed, else of the one that dumps and profiles show, and the crash's
    frames by their names there."""
    if not case.crashes and not case.seen_files:
        return case
    service = case.crashes[0].service if case.crashes else seen_service(case)
    info = case.sources.services.get(service, ServiceInfo(name=service, declared=False))
    deploy, repo = case.rollout.current.get(service), tools.repositories.get(info.repo or service)
    if deploy is None or repo is None:
        return case
    stack = (f.split("::")[0] for crash in case.crashes[:1] for f in crash.in_app_frames)
    near = tuple(dict.fromkeys((*stack, *case.seen_files)))
    try:
        symbols = await survey(repo, deploy.git_sha, info, near)
        files = await repo.files(deploy.git_sha)
    except RepositoryError:
        return case
    crashes = tuple(
        located(crash, files, symbols) if n < LOCATED_CRASHES and crash.service == service else crash
        for n, crash in enumerate(case.crashes)
    )
    calls = await asyncio.to_thread(calls_of, symbols)
    return structs.replace(case, symbols=symbols, calls=calls, crashes=crashes)


async def _retrieve(case: Case, tools: Tools) -> tuple[Case, list[Hit]]:
    """A search that the store did not answer in time is among the problems: what is told rests on less."""
    asked = [query for _, query in queries(case, acl=tools.acl, knowledge=tools.knowledge)]
    at_ns = case.onset.at_ns if case.onset else 0
    found = await retrieve(tools.index, asked, at_ns=at_ns, embedder=tools.embedder, patient=tools.patient)
    cut = sorted({(m.leg, m.reason) for m in found.missing if m.reason in ("timeout", "unavailable")})
    problems = tuple(Problem(source=SourceRef("store"), reason=f"{leg} search: {reason}") for leg, reason in cut)
    sources = structs.replace(case.sources, problems=(*case.sources.problems, *problems))
    return structs.replace(case, sources=sources) if problems else case, list(found.hits)


def load_span(window: Window | None, alerts: Sequence[Alert], windows: Windows) -> tuple[int, int]:
    """[from, to) of what to load from a store before the onset is known: a day of changes, two windows of telemetry."""
    if window is not None:
        return window.diffs_from_ns, window.to_ns
    start = min(a.starts_ns for a in alerts)
    wide = make_window(
        Onset(at_ns=start, source="alert", reason=""), before=windows.before, after=windows.after, diffs=windows.diffs
    )
    return wide.from_ns - (wide.to_ns - wide.from_ns), wide.to_ns


def _known_alert(case: Case) -> str:
    alert = case.alerts[0]
    if not alert.service or alert.service in alert.summary:
        return alert.summary
    return f"{alert.service}: {alert.summary}"


def _known_crash(case: Case) -> str:
    if not case.crashes:
        return _known_alert(case)
    crash = case.crashes[0]
    return f"{crash.signature.type} in {crash.service}, {len(case.suspects)} suspect commits"


def _known_hypothesis(case: Case) -> str:
    return case.hypotheses[0].summary if case.hypotheses else _known_alert(case)


class _Marks:
    """Milliseconds per stage."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.now_ns()
        self.spent: dict[str, float] = {}

    def end(self, stage: str) -> None:
        now = self._clock.now_ns()
        self.spent[stage] = self.spent.get(stage, 0.0) + (now - self._last) / 1e6
        self._last = now
