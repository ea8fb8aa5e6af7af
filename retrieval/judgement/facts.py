"""What rules look at: the case, with the questions that several rules ask already answered. Pure."""

from msgspec import Struct, structs

from retrieval.context.observed import Observed, observed
from retrieval.judgement.shifts import Shift, metric_shifts
from retrieval.model import (
    Case,
    ConfigChange,
    CrashGroup,
    Deploy,
    FlagChange,
    Proof,
    Suspect,
)
from retrieval.ranking.culprits import chosen_crash

MINUTE_NS = 60_000_000_000
SETTLE_NS = 1 * MINUTE_NS  # clocks of deploy systems and of services differ by this much


class Facts(Struct, frozen=True, kw_only=True):
    """`config_before` holds, per changed key, the value that was in force until then (None: unknown)."""

    case: Case
    service: str
    crash: CrashGroup | None
    deploy: Deploy | None
    previous: Deploy | None
    suspects: tuple[Suspect, ...]
    config_near: tuple[ConfigChange, ...]
    config_before: dict[str, str | None]
    flags_near: tuple[FlagChange, ...]
    shifts: tuple[Shift, ...]
    proof: Proof | None
    observed: Observed = Observed()

    @property
    def onset_ns(self) -> int:
        return self.case.onset.at_ns if self.case.onset else self.case.alerts[0].starts_ns

    def proximity(self, at_ns: int, half_life_minutes: float = 30.0) -> float:
        """1 where the change came just before the onset, halved every half-life further back; 0 after the onset."""
        minutes = (self.onset_ns - at_ns) / MINUTE_NS
        if minutes < -SETTLE_NS / MINUTE_NS:
            return 0.0
        return float(0.5 ** (max(minutes, 0.0) / half_life_minutes))


def gather_facts(case: Case) -> Facts:
    """The facts of the best crash's service, else of the most suspicious service."""
    crash = chosen_crash(case)
    service = crash.service if crash else _service_of(case)
    path = frozenset({service, *case.topology.path} - {""})
    onset = case.onset.at_ns if case.onset else case.alerts[0].starts_ns
    start = case.window.from_ns if case.window else onset - 45 * MINUTE_NS
    config = tuple(
        c for c in case.sources.config if start <= c.at_ns <= onset + SETTLE_NS and (not c.service or c.service in path)
    )
    flags = tuple(
        f for f in case.sources.flags if start <= f.at_ns <= onset + SETTLE_NS and (not f.service or f.service in path)
    )
    return Facts(
        case=case,
        service=service,
        crash=crash,
        deploy=case.rollout.current.get(service),
        previous=case.rollout.previous.get(service),
        suspects=tuple(s for s in case.suspects if s.service == service),
        config_near=tuple(sorted(config, key=lambda c: (-c.at_ns, c.service, c.key))),
        config_before={f"{c.service}/{c.key}": _before(case, c) for c in config},
        flags_near=tuple(sorted(flags, key=lambda f: (-f.at_ns, f.service, f.flag))),
        shifts=tuple(metric_shifts(case, path)),
        proof=case.proof,
        observed=observed(case),
    )


def _service_of(case: Case) -> str:
    if case.service_scores:
        return case.service_scores[0].id
    if case.topology.path:
        return case.topology.path[-1]
    return next((a.service for a in case.alerts if a.service), "")


def _before(case: Case, change: ConfigChange) -> str | None:
    older = [
        c for c in case.sources.config if c.service == change.service and c.key == change.key and c.at_ns < change.at_ns
    ]
    return max(older, key=lambda c: c.at_ns).value if older else None


def with_proof(facts: Facts, proof: Proof | None) -> Facts:
    """The same facts after the code was run."""
    return structs.replace(facts, proof=proof)
