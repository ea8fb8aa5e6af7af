"""The one record that flows: each stage takes a `Case` and returns it with one more part filled in."""

from pathlib import Path
from typing import Any

from msgspec import Struct, field

from retrieval.model.alert import Alert
from retrieval.model.asked import ModelUse
from retrieval.model.change import Commit, ConfigChange, Deploy, FlagChange
from retrieval.model.code import Symbol
from retrieval.model.contract import Contract, ContractChange
from retrieval.model.environment import EnvironmentFingerprint
from retrieval.model.evidence import Evidence, Hypothesis
from retrieval.model.proof import ErrorSignature, Proof
from retrieval.model.runtime import FileCoverage, Profile, ThreadDump
from retrieval.model.telemetry import LogRecord, Postmortem, Problem, Series, Span, TestResult
from retrieval.model.ticket import Ticket
from retrieval.model.verdict import Verdict


class ServiceInfo(Struct, frozen=True, kw_only=True):
    """One service as services.json declares it, or as it was inferred (`declared` False)."""

    name: str
    repo: str = ""
    path_prefix: str = ""
    language: str = ""
    owners: tuple[str, ...] = ()
    environment: str = ""
    declared: bool = True


class CaseSources(Struct, frozen=True, kw_only=True):
    """All that was read: records in memory, repositories by path (a git directory, work tree or bundle clone)."""

    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
    series: tuple[Series, ...] = ()
    deploys: tuple[Deploy, ...] = ()
    flags: tuple[FlagChange, ...] = ()
    config: tuple[ConfigChange, ...] = ()
    tests: tuple[TestResult, ...] = ()
    postmortems: tuple[Postmortem, ...] = ()
    dumps: tuple[ThreadDump, ...] = ()
    profiles: tuple[Profile, ...] = ()
    coverage: tuple[FileCoverage, ...] = ()
    environments: tuple[EnvironmentFingerprint, ...] = ()
    services: dict[str, ServiceInfo] = field(default_factory=dict)
    repos: dict[str, Path] = field(default_factory=dict)
    contracts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    contract_files: tuple[Contract, ...] = ()
    tickets: tuple[Ticket, ...] = ()
    problems: tuple[Problem, ...] = ()
    present: tuple[str, ...] = ()  # which parts of the case folder were there


class Onset(Struct, frozen=True, kw_only=True):
    """When it began. `signals` says what each source voted: {"metric": ns, "log": ns, "trace": ns, "alert": ns}."""

    at_ns: int
    source: str
    reason: str
    signals: dict[str, int] = field(default_factory=dict)


class Window(Struct, frozen=True, kw_only=True):
    """[from_ns, to_ns) around the onset; `diffs_from_ns` is how far back changes are suspects."""

    from_ns: int
    to_ns: int
    diffs_from_ns: int


class Topology(Struct, frozen=True, kw_only=True):
    """Who calls whom. `edges` caller -> {callee: calls}; `failing` the same for failing requests. `path` are the
    services that failing requests pass through, entry first; `failing_share` is per service, 0..1."""

    edges: dict[str, dict[str, int]] = field(default_factory=dict)
    failing: dict[str, dict[str, int]] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    failing_share: dict[str, float] = field(default_factory=dict)
    anomaly: dict[str, float] = field(default_factory=dict)  # per service, how unlike its own baseline, >= 0


class Rollout(Struct, frozen=True, kw_only=True):
    """What ran at the onset, per service: the deploy that was current, and the one before it."""

    current: dict[str, Deploy] = field(default_factory=dict)
    previous: dict[str, Deploy] = field(default_factory=dict)


class Suspect(Struct, frozen=True, kw_only=True):
    """A commit that reached a service of the path before the onset, newest deploy first."""

    commit: Commit
    service: str
    deploy: Deploy
    reached_ns: int
    symbols: tuple[str, ...] = ()  # ids of the symbols that its hunks touch


class RankedItem(Struct, frozen=True):
    id: str
    score: float


class Rankings(Struct, frozen=True, kw_only=True):
    services: tuple[RankedItem, ...] = ()
    commits: tuple[RankedItem, ...] = ()
    files: tuple[RankedItem, ...] = ()
    functions: tuple[RankedItem, ...] = ()


class MissingData(Struct, frozen=True):
    """What to ask a person for (row B8)."""

    what: str
    why: str
    where_to_get_it: str


class CrashGroup(Struct, frozen=True, kw_only=True):
    """Occurrences of one error in one service: the unit that hypotheses and proof work on.

    `novelty` is the share of occurrences at or after the onset against the rate before it, 0..1 (1: never seen before).
    `crash_*` come from the innermost in-app frame.
    """

    key: str  # error_signature hash + service
    service: str
    signature: ErrorSignature
    stack_signature: str = ""
    count: int = 0
    count_before: int = 0
    first_ns: int = 0
    last_ns: int = 0
    novelty: float = 0.0
    crash_path: str = ""
    crash_function: str = ""
    crash_line: int | None = None
    causes: tuple[str, ...] = ()  # types that the cause chain began with, where it was wrapped
    in_app_frames: tuple[str, ...] = ()  # `path::function`, outermost first, paths relative to the repository
    logs: tuple[LogRecord, ...] = ()  # samples, earliest after onset first
    spans: tuple[Span, ...] = ()
    score: float = 0.0


class Case(Struct, frozen=True, kw_only=True):
    """One incident on its way. Use `msgspec.structs.replace` to fill in the next part."""

    incident_id: str
    alerts: tuple[Alert, ...]
    sources: CaseSources = CaseSources()
    onset: Onset | None = None
    window: Window | None = None
    topology: Topology = Topology()
    rollout: Rollout = Rollout()
    suspects: tuple[Suspect, ...] = ()
    symbols: tuple[Symbol, ...] = ()  # of the crashing service at its deployed commit
    seen_files: tuple[str, ...] = ()  # of its repository, that dumps and profiles name
    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)  # symbol id -> ids it refers to, likewise
    service_scores: tuple[RankedItem, ...] = ()  # how unlike its own baseline each service is, best first
    crashes: tuple[CrashGroup, ...] = ()
    contract_changes: tuple[ContractChange, ...] = ()  # of contracts and databases, those that reached production
    evidence: tuple[Evidence, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()  # best first
    rankings: Rankings = Rankings()
    proof: Proof | None = None
    verdict: Verdict = Verdict.INSUFFICIENT
    missing: tuple[MissingData, ...] = ()
    looked_at: tuple[str, ...] = ()  # what was searched, for people
    timings_ms: dict[str, float] = field(default_factory=dict)
    model: ModelUse | None = None  # None: no model was asked
    options: dict[str, Any] = field(default_factory=dict)
