"""What there is to say of an incident, taken from its view: values for the templates, no words, no layout (pure)."""

import json
from collections.abc import Sequence
from typing import Any

from bot.model import IncidentView
from bot.slack.text import clean, web_address
from retrieval.model import Alert, Attempt, Case, Deploy, Evidence, Hypothesis, Proof, Verdict
from retrieval.model.moments import clock_of, date_of

MINUTE_NS = 60 * 10**9
MISSING_SHOWN = 3
ALSO_SHOWN = 2
CITED_SHOWN = 4
_CHANGES = frozenset({"deploy", "diff", "config", "flag"})
_CALM = frozenset({"info", "informational", "notice", "low", "warning", "warn", "minor", "none", "p3", "p4", "p5"})
_LOW = (Verdict.INSUFFICIENT, Verdict.LEAD)


def facts(view: IncidentView) -> dict[str, Any]:
    """All values that `done.j2`, `looking.j2`, `failed.j2` and `notice.j2` take; what is not known is "" or None."""
    case = view.case
    best = case.hypotheses[0] if case and case.hypotheses and case.verdict is not Verdict.INSUFFICIENT else None
    told = _claims(case, best) if case and best else {"broke": None, "because": None, "also": (), "ran": ()}
    return {
        "view": view,
        "head": _head(view, best),
        "since": _since(view),
        "best": best,
        **told,
        "proof": _proof(case.proof) if case else None,
        "acquitted": _acquitted(case),
        "steps": _steps(case, best) if case and best else (),
        "help": _help(view, best),
        "looked_at": case.looked_at if case and case.verdict in _LOW else (),
        "missing": case.missing[:MISSING_SHOWN] if case else (),
        "missing_more": max(len(case.missing) - MISSING_SHOWN, 0) if case else 0,
        "foot": _foot(view, best),
    }


def percent(share: float) -> str:
    """`37 %`; `<1 %` for what is there but little."""
    if 0 < share < 0.01:
        return "<1 %"
    return f"{share * 100:.0f} %"


def resolved(view: IncidentView) -> bool:
    return view.firing == 0 and view.resolved > 0


def _lead_alert(view: IncidentView) -> Alert | None:
    """The alert that speaks for the incident: firing before resolved, earliest first."""
    return min(view.alerts, key=lambda a: (a.status != "firing", a.starts_ns, a.name, a.fingerprint), default=None)


def _head(view: IncidentView, best: Hypothesis | None) -> dict[str, Any]:
    alert = _lead_alert(view)
    service = (alert.service if alert else "") or (best.suspected_service if best else "") or ""
    symptom = clean(alert.summary) if alert else view.incident_id
    service = clean(service)
    if service and symptom.lower().startswith(service.lower()):
        symptom = symptom[len(service) :].lstrip(" :-–")
    over = resolved(view)
    calm = bool(alert) and alert is not None and alert.severity.lower() in _CALM
    low = view.case is not None and view.case.verdict is Verdict.INSUFFICIENT
    return {
        "lamp": "🟢" if over else "🟠" if calm or low or (view.status == "looking" and view.case is None) else "🔴",
        "service": service,
        "symptom": symptom or (alert.name if alert else view.incident_id),
        "verdict": view.case.verdict.value if view.case else "",
        "over": over,
    }


def _since(view: IncidentView) -> dict[str, Any]:
    case, alert = view.case, _lead_alert(view)
    began = case.onset.at_ns if case and case.onset else (alert.starts_ns if alert else view.started_ns)
    first = min((a.starts_ns for a in view.alerts), default=view.started_ns)
    ended = max((a.ends_ns or 0 for a in view.alerts), default=0) or view.now_ns
    same_day = date_of(began)[:10] == date_of(view.now_ns)[:10]
    return {
        "at": clock_of(began) if same_day else date_of(began)[:16],
        "alert": "" if clock_of(first) == clock_of(began) else clock_of(first),
        "share": _share(case),
        "place": _place(view),
        "minutes": max((ended - began) // MINUTE_NS, 0) if resolved(view) else None,
    }


def _share(case: Case | None) -> str:
    """Of the requests at the entry of the failing path, else of the service that fails most."""
    shares = case.topology.failing_share if case else {}
    entry = case.topology.path[0] if case and case.topology.path else ""
    share = shares.get(entry) or max(shares.values(), default=0.0)
    return percent(share) if share > 0 else ""


def _place(view: IncidentView) -> str:
    alert, deploy = _lead_alert(view), _deploy(view.case)
    region = (deploy.region if deploy else "") or (alert.region if alert else "")
    partial = deploy is not None and deploy.percent is not None and deploy.percent < 100
    return ", ".join(part for part in (region, f"canary {deploy.percent:g} %" if deploy and partial else "") if part)


def _service(case: Case, best: Hypothesis | None) -> str:
    if best and best.suspected_service:
        return best.suspected_service
    return next((a.service for a in case.alerts if a.service), "")


def _deploy(case: Case | None) -> Deploy | None:
    if case is None:
        return None
    return case.rollout.current.get(_service(case, case.hypotheses[0] if case.hypotheses else None))


def _claims(case: Case, best: Hypothesis) -> dict[str, Any]:
    """The claims sorted into what broke, because of what, and the rest; every one keeps its citations."""
    kinds = {e.id: e.kind for e in case.evidence}
    of = [(c.text, c.citations, {kinds.get(i, "") for i in c.citations}) for c in best.claims if not c.by]
    added = [(c.text, c.citations) for c in best.claims if c.by]
    ran = [i for _, ids, found in of if found == {"proof"} for i in ids]
    rest = [(text, ids, found) for text, ids, found in of if found != {"proof"}]
    symptoms = [c for c in rest if not c[2] & _CHANGES]
    changes = [c for c in rest if c[2] & _CHANGES]
    broke = symptoms[0] if symptoms else None
    told = changes if best.suspected_commit or not changes else changes[:2]
    return {
        "broke": _broke(best, broke) if broke else None,
        "because": _because(case, best, told) if told else None,
        "also": [{"text": t, "citations": ids[:CITED_SHOWN], "by": ""} for t, ids, _ in symptoms[1:]][:ALSO_SHOWN]
        + [{"text": t, "citations": ids[:CITED_SHOWN], "by": "model"} for t, ids in added][:ALSO_SHOWN],
        "ran": ran,
    }


def _broke(best: Hypothesis, claim: tuple[str, tuple[str, ...], set[str]]) -> dict[str, Any]:
    text, ids, _ = claim
    place = best.suspected_file or ""
    return {"text": text, "place": "" if place in text else place, "citations": ids[:CITED_SHOWN]}


def _because(case: Case, best: Hypothesis, told: Sequence[tuple[str, tuple[str, ...], set[str]]]) -> dict[str, Any]:
    ids = list(dict.fromkeys(i for _, cited, _ in told for i in cited))[:CITED_SHOWN]
    suspect = next((s for s in case.suspects if s.commit.sha == best.suspected_commit), None)
    bisect = case.proof.bisect if case.proof else None
    return {
        "citations": ids,
        "texts": [text for text, _, _ in told],
        "commit": suspect and {
            "sha": suspect.commit.sha[:7],
            "subject": suspect.commit.subject,
            "author": suspect.commit.author,
            "out": clock_of(suspect.deploy.started_ns),
            "percent": None if suspect.deploy.percent is None else f"{suspect.deploy.percent:g} %",
            "convicted": len(bisect.tested) if bisect and bisect.culprit == suspect.commit.sha else 0,
        },
    }  # fmt: skip


def _proof(proof: Proof | None) -> dict[str, Any] | None:
    if proof is None:
        return None
    lamps = [
        _lamp("good", proof.at_good, expected=("passed",)),
        _lamp("deployed", proof.at_deployed, expected=("failed", "error")),
    ]
    patch = proof.patch
    if patch and patch.outcome != "not_run":
        passed = int(patch.regression.get("passed") or 0)
        lit = patch.outcome == "passed"
        lamps.append({"at": "patched", "outcome": patch.outcome, "lit": lit, "passed": passed})
    lamps = [lamp for lamp in lamps if lamp]
    if not lamps and not proof.not_run_reason:
        return None
    return {"lamps": lamps, "reason": "" if lamps else proof.not_run_reason}


def _lamp(at: str, attempt: Attempt | None, *, expected: tuple[str, ...]) -> dict[str, Any]:
    if attempt is None or attempt.outcome == "not_run":
        return {}
    error = attempt.error_signature
    as_production = attempt.matches_production and attempt.outcome in ("failed", "error")
    return {
        "at": at,
        "sha": attempt.commit[:7],
        "outcome": attempt.outcome,
        "lit": attempt.outcome in expected and (at != "deployed" or as_production),
        "as_production": as_production,
        "error": error.type.rsplit(".", 1)[-1] if error else "",
        "reason": attempt.reason,
    }


def _acquitted(case: Case | None) -> list[str]:
    bisect = case.proof.bisect if case and case.proof else None
    return [sha[:7] for sha in bisect.acquitted] if bisect else []


def _steps(case: Case, best: Hypothesis) -> list[dict[str, Any]]:
    """What would end it now, cheapest first: a flag or key set back, a roll-back; only what is cited."""
    cited = {i for claim in best.claims for i in claim.citations}
    evidence = [e for e in case.evidence if e.id in cited]
    steps = [step for e in evidence if (step := _switch(e, best))]
    target = _rollback(case, best) if any(e.kind in ("deploy", "diff") for e in evidence) else ""
    service = _service(case, best)
    if target and service and not _fails_at_good(case.proof):
        steps.append({"do": "rollback", "service": service, "sha": target[:7]})
    return steps[:3]


def _switch(evidence: Evidence, best: Hypothesis) -> dict[str, Any] | None:
    if evidence.kind not in ("flag", "config") or best.rule not in ("flag_change", "config_change"):
        return None
    try:
        record = json.loads(evidence.content)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    name = record.get("flag") if evidence.kind == "flag" else record.get("key")
    return {"do": evidence.kind, "name": str(name), "value": str(record.get("value", ""))[:60]} if name else None


def _fails_at_good(proof: Proof | None) -> bool:
    return bool(proof and proof.at_good and proof.at_good.outcome in ("failed", "error"))


def _rollback(case: Case, best: Hypothesis) -> str:
    """The commit that the service ran before the suspected one reached it; "" where nobody knows."""
    suspect = next((s for s in case.suspects if s.commit.sha == best.suspected_commit), None)
    if suspect and suspect.deploy.previous_sha:
        return suspect.deploy.previous_sha
    if case.proof and case.proof.at_good and case.proof.at_good.outcome == "passed":
        return case.proof.at_good.commit
    service = _service(case, best)
    before, now = case.rollout.previous.get(service), case.rollout.current.get(service)
    return (before.git_sha if before else "") or (now.previous_sha if now else "")


def _help(view: IncidentView, best: Hypothesis | None) -> dict[str, Any]:
    info = view.case.sources.services.get(_service(view.case, best)) if view.case else None
    alert = _lead_alert(view)
    notes = alert.annotations if alert else {}
    book = web_address(notes.get("runbook_url") or notes.get("runbook") or "")
    return {
        "owners": list(info.owners[:3]) if info else [],
        "runbook": book,
        "host": book.split("/")[2] if book else "",
    }


def _foot(view: IncidentView, best: Hypothesis | None) -> dict[str, Any]:
    case = view.case
    sure = f"{best.confidence:.2f}".removeprefix("0") if best and best.confidence > 0 else ""
    return {
        "verdict": case.verdict.value.replace("_", " ") if case else "",
        "confidence": sure,
        "seconds": f"{view.seconds:.0f}" if view.seconds >= 1 else "<1" if view.seconds > 0 else "",
        "model": case.model.name if case and case.model else "",
        "outcome": case.model.outcome.value if case and case.model else "",
    }
