"""What ran when it began: the current deploy of each service, and the one before it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from retrieval.model import Alert, Deploy, Onset, Rollout

# A deploy system's clock and the services' differ by this much; a deploy that starts just after the first error of its
# own pods is still the deploy that ran.
CLOCK_SLACK_NS = 60_000_000_000


def find_rollout(deploys: Iterable[Deploy], onset: Onset, alerts: Sequence[Alert] = ()) -> Rollout:
    """The deploys in force at the onset, in the alert's region and environment where those are told.

    Rows of one commit in a row are steps of one rollout (25 %, 50 %, ...): the last step is current, and what ran
    before the first step is previous. A rollout counts from its start, finished or not. Where the previous commit has
    no row of its own, `previous` holds a deploy with that commit and `started_ns` 0.
    """
    current: dict[str, Deploy] = {}
    previous: dict[str, Deploy] = {}
    for service, rows in sorted(history(deploys, onset, alerts).items()):
        current[service] = rows[-1]
        earlier = before(rows, len(rows) - 1)
        if earlier is not None:
            previous[service] = earlier
    return Rollout(current=current, previous=previous)


def history(deploys: Iterable[Deploy], onset: Onset, alerts: Sequence[Alert]) -> dict[str, list[Deploy]]:
    """Per service, what was started until the onset where the alert points, oldest first."""
    by_service: dict[str, list[Deploy]] = defaultdict(list)
    for deploy in deploys:
        if deploy.started_ns <= onset.at_ns + CLOCK_SLACK_NS and deploy.git_sha:
            by_service[deploy.service].append(deploy)
    regions = frozenset(alert.region for alert in alerts if alert.region)
    environments = frozenset(alert.environment for alert in alerts if alert.environment)
    chosen = {}
    for service, rows in by_service.items():
        rows = _narrowed(rows, "environment", environments)
        rows = _narrowed(rows, "region", regions)
        chosen[service] = sorted(rows, key=lambda d: (d.started_ns, d.deployment_id, d.git_sha))
    return chosen


def _narrowed(rows: list[Deploy], attribute: str, wanted: frozenset[str]) -> list[Deploy]:
    """The rows of the wanted regions (or environments) and those that name none; all of them where none fits."""
    if not wanted:
        return rows
    kept = [row for row in rows if not getattr(row, attribute) or getattr(row, attribute) in wanted]
    return kept or rows


def before(rows: Sequence[Deploy], index: int) -> Deploy | None:
    """What ran before the rollout that `rows[index]` is a step of."""
    step = first_step(rows, index)
    named = rows[step].previous_sha
    if named and not _same(named, rows[step].git_sha):
        known = [row for row in rows[:step] if _same(row.git_sha, named)]
        return known[-1] if known else Deploy(service=rows[step].service, git_sha=named, started_ns=0)
    return rows[step - 1] if step else None


def first_step(rows: Sequence[Deploy], index: int) -> int:
    """The index of the row that began the rollout of this commit."""
    while index and _same(rows[index - 1].git_sha, rows[index].git_sha):
        index -= 1
    return index


def _same(one: str, other: str) -> bool:
    """Whether two commit names, one of them perhaps shortened, are one commit."""
    short, long = sorted((one.lower(), other.lower()), key=len)
    return len(short) >= 7 and long.startswith(short)
