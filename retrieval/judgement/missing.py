"""What a person is asked for (rows B6, B8): named exactly, with the reason and the place to get it. Pure."""

from retrieval.context.observed import LOCKS, MEMORY, TIME, observed
from retrieval.model import Case, MissingData, Proof, Verdict
from retrieval.texts import phrase

_TEXT = "hypotheses/missing.j2"


def missing_data(case: Case, verdict: Verdict, proof: Proof | None) -> tuple[MissingData, ...]:
    """What would carry the verdict to the next rung; nothing where it is proved."""
    if verdict is Verdict.PROVED:
        return ()
    wanted = []
    sources, service = case.sources, _service(case)
    if not sources.spans:
        wanted.append("traces")
    if not sources.logs:
        wanted.append("logs")
    if not sources.series and not case.crashes:
        wanted.append("metrics")
    if not sources.deploys:
        wanted.append("deploys")
    if not sources.repos or not (service and sources.services.get(service) and sources.services[service].repo):
        wanted.append("repository")
    if case.crashes and not case.crashes[0].in_app_frames:
        wanted.append("stack")
    wanted += _reports(case)
    found = [
        MissingData(
            phrase(_TEXT, f"{name}_what", service=service),
            phrase(_TEXT, f"{name}_why", service=service),
            phrase(_TEXT, f"{name}_where", service=service),
        )
        for name in wanted
    ]
    if proof is not None:
        found += [MissingData(*row) for row in proof.missing]
        if proof.not_run_reason and not proof.missing:
            found.append(
                MissingData(
                    phrase(_TEXT, "run_what", service=service),
                    proof.not_run_reason,
                    phrase(_TEXT, "run_where", service=service),
                )
            )
    if not found and verdict is Verdict.INSUFFICIENT:
        found.append(
            MissingData(
                phrase(_TEXT, "stack_what", service=service),
                phrase(_TEXT, "stack_why", service=service),
                phrase(_TEXT, "stack_where", service=service),
            )
        )
    return tuple(dict.fromkeys(found))


def _reports(case: Case) -> list[str]:
    """What would show threads that hang, or what keeps memory and spends time."""
    trouble = observed(case).symptom
    if trouble == LOCKS and not case.sources.dumps:
        return ["dump"]
    return ["profile"] if trouble in (MEMORY, TIME) and not case.sources.profiles else []


def _service(case: Case) -> str:
    if case.crashes:
        return case.crashes[0].service
    return next((a.service for a in case.alerts if a.service), "")
