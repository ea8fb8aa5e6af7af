"""The incident page: a view rendered by a template. Pure; everything that is foreign text is escaped."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from bot.model import IncidentView
from retrieval.model import Attempt, Case, Proof

LAMPS = {"passed": "green", "failed": "red", "error": "grey", "timeout": "grey", "not_run": "grey"}
CSP = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("templates", "web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["utc"] = utc
    return environment.get_template("incident.html.j2")


def render(view: IncidentView) -> str:
    """The whole page as HTML."""
    case = view.case
    return _template().render(
        view=view,
        case=case,
        hypothesis=case.hypotheses[0] if case and case.hypotheses else None,
        others=case.hypotheses[1:5] if case else (),
        evidence_ids={evidence.id for evidence in case.evidence} if case else set(),
        lamps=list(_lamps(case.proof)) if case and case.proof else [],
        timeline=_timeline(view),
        rankings=_rankings(case) if case else [],
    )


def utc(time_ns: int | None) -> str:
    """A moment as people read it, to the second; "" for none."""
    if not time_ns:
        return ""
    return datetime.fromtimestamp(time_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _lamps(proof: Proof) -> Iterator[dict[str, Any]]:
    """The triple proof (row F1): passes at the last good commit, fails at the deployed one, passes with the patch."""
    yield _lamp("at the last good commit", proof.at_good, wanted="passed")
    yield _lamp("at the deployed commit", proof.at_deployed, wanted="failed")
    patched = proof.patch
    yield {
        "where": "with the patch",
        "commit": "",
        "outcome": patched.outcome if patched else "not_run",
        "colour": LAMPS[patched.outcome] if patched and patched.outcome in LAMPS else "grey",
        "as_expected": bool(patched and patched.outcome == "passed"),
        "note": patched.rationale if patched else "no patch was found",
    }


def _lamp(where: str, attempt: Attempt | None, wanted: str) -> dict[str, Any]:
    if attempt is None:
        return {
            "where": where, "commit": "", "outcome": "not_run", "colour": "grey", "as_expected": False, "note": ""
        }  # fmt: skip
    error = attempt.error_signature
    note = f"{error.type}: {error.message}" if error else attempt.reason
    if attempt.matches_production:
        note = f"as in production: {note}"
    return {
        "where": where,
        "commit": attempt.commit,
        "outcome": attempt.outcome,
        "colour": LAMPS.get(attempt.outcome, "grey"),
        "as_expected": attempt.outcome == wanted and (wanted != "failed" or attempt.matches_production),
        "note": note,
    }


def _timeline(view: IncidentView) -> list[tuple[int, str]]:
    """Deploys, flags, onset and alerts in the order in which they happened."""
    moments: list[tuple[int, str]] = []
    case = view.case
    if case:
        deploys = {**case.rollout.previous, **{f"{name} ": deploy for name, deploy in case.rollout.current.items()}}
        for deploy in deploys.values():
            share = f" ({deploy.percent:g} %)" if deploy.percent is not None else ""
            moments.append((deploy.started_ns, f"deploy of {deploy.service} at {deploy.git_sha[:10]}{share}"))
        if case.onset:
            moments.append((case.onset.at_ns, f"onset: {case.onset.reason}"))
    for alert in view.alerts[:50]:
        moments.append((alert.starts_ns, f"alert {alert.name} fires"))
        if alert.ends_ns:
            moments.append((alert.ends_ns, f"alert {alert.name} is resolved"))
    return sorted(moments)


def _rankings(case: Case) -> list[tuple[str, list[tuple[str, float]]]]:
    kinds = ("services", "commits", "files", "functions")
    ranked = [(kind, [(item.id, item.score) for item in getattr(case.rankings, kind)[:10]]) for kind in kinds]
    return [(kind, items) for kind, items in ranked if items]
