"""Which commits reached the path before it began? (rows B1, B4) Reads git; decides nothing else."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from retrieval.code.touched import touched_by
from retrieval.context.rollout import before, first_step, history
from retrieval.errors import Reason, RepositoryError
from retrieval.model import Case, Commit, Deploy, ServiceInfo, Suspect
from retrieval.ports import Repository

MAX_PER_DEPLOY = 500
_WITH_SYMBOLS = 200  # commits whose hunks are joined to symbols, newest first
_WITHOUT_START = 50  # commits looked at when what ran before is unknown

OnProblem = Callable[[str, RepositoryError], None]


class _Step(Struct, frozen=True):
    """One rollout of one service within the reach of diffs; `start` is what ran before, "" when unknown."""

    deploy: Deploy
    start: str
    reached_ns: int


async def find_suspects(
    case: Case, repos: Mapping[str, Repository], *, on_problem: OnProblem | None = None
) -> tuple[Suspect, ...]:
    """Commits of the path's services whose rollout began within the window's reach of diffs before the onset.

    Per rollout these are the commits reachable from what was deployed and not from what ran before it; newest rollout
    first, then newest commit first. A commit counts for the first rollout that brought it, and not at all when a later
    one before the onset took it back. Of a service with a `path_prefix` only commits that touch it count, unless none
    does. Merges change nothing themselves and are left out. A repository that cannot answer is told to `on_problem`
    and skipped; when it only lacks what ran before, the newest commits up to the reach of diffs are taken.
    """
    if case.onset is None or case.window is None:
        return ()
    found: list[Suspect] = []
    steps = _steps(case)
    for service in _services(case, repos):
        info = case.sources.services.get(service, ServiceInfo(name=service, declared=False))
        repo = repos.get(info.repo or service)
        if repo is None or service not in steps:
            continue
        found += await _of_service(info, steps[service], repo, on_problem or _ignore)
    found.sort(key=lambda s: -s.reached_ns)
    return tuple(found)


def _ignore(service: str, error: RepositoryError) -> None:
    """For callers that do not care why a service has no suspects."""


def _services(case: Case, repos: Mapping[str, Repository]) -> list[str]:
    """The failing path and the alerted services; all that have a repository when none of those has one."""
    services = case.sources.services
    near = dict.fromkeys(
        [*(alert.service for alert in case.alerts), *case.topology.path, *(c.service for c in case.crashes)]
    )
    wanted = [s for s in near if s and ((services[s].repo if s in services else "") or s) in repos]
    if wanted:
        return wanted
    return sorted(name for name, info in services.items() if (info.repo or name) in repos)


def _steps(case: Case) -> dict[str, list[_Step]]:
    """Per service, the rollouts within reach, newest first."""
    assert case.onset is not None
    assert case.window is not None
    found: dict[str, list[_Step]] = {}
    for service, rows in history(case.sources.deploys, case.onset, case.alerts).items():
        steps = []
        for index in range(len(rows) - 1, -1, -1):
            if first_step(rows, index) != index or rows[index].started_ns < case.window.diffs_from_ns:
                continue
            previous = before(rows, index)
            steps.append(_Step(rows[index], previous.git_sha if previous else "", rows[index].started_ns))
        if steps:
            found[service] = steps
    return found


async def _of_service(
    info: ServiceInfo, steps: Sequence[_Step], repo: Repository, on_problem: OnProblem
) -> list[Suspect]:
    brought: dict[str, Suspect] = {}
    for step in reversed(steps):
        try:
            commits = await _range(step, repo, info.name, on_problem)
        except RepositoryError as error:
            on_problem(info.name, error)
            continue
        for commit in commits:
            brought.setdefault(
                commit.sha, Suspect(commit=commit, service=info.name, deploy=step.deploy, reached_ns=step.reached_ns)
            )
    kept = [s for s in brought.values() if len(s.commit.parents) < 2]
    kept = await _running(kept, steps, repo)
    kept = _touching(kept, info.path_prefix)
    kept.sort(key=lambda s: -s.reached_ns)
    return await _with_symbols(kept, repo)


async def _running(suspects: list[Suspect], steps: Sequence[_Step], repo: Repository) -> list[Suspect]:
    """Those that are part of what runs: all of a rollout that the current one contains, else commit by commit."""
    current = steps[0].deploy.git_sha
    contained = {s.deploy.git_sha for s in steps if s is steps[0] or await _runs(s.deploy.git_sha, current, repo)}
    return [s for s in suspects if s.deploy.git_sha in contained or await _runs(s.commit.sha, current, repo)]


async def _runs(sha: str, current: str, repo: Repository) -> bool:
    """Whether a commit is part of what runs; yes where history cannot tell."""
    try:
        return await repo.is_ancestor(sha, current)
    except RepositoryError:
        return True


async def _range(step: _Step, repo: Repository, service: str, on_problem: OnProblem) -> list[Commit]:
    if step.start:
        try:
            return await repo.log(after=step.start, until=step.deploy.git_sha, limit=MAX_PER_DEPLOY)
        except RepositoryError as error:
            if error.reason not in (Reason.SHALLOW, Reason.NOT_FOUND):
                raise
            on_problem(service, error)
    # What ran before is unknown: the newest commits, as far as they were made within a month of this rollout.
    month_ns = 31 * 24 * 3_600_000_000_000
    newest = await repo.log(until=step.deploy.git_sha, limit=_WITHOUT_START)
    return [commit for commit in newest if commit.committed_ns >= step.deploy.started_ns - month_ns]


def _touching(suspects: list[Suspect], prefix: str) -> list[Suspect]:
    folder = prefix.strip("/")
    if not folder or folder == ".":
        return suspects
    inside = [
        s
        for s in suspects
        if any(path == folder or path.startswith(folder + "/") for f in s.commit.files for path in (f.path, f.old_path))
    ]
    return inside or suspects


async def _with_symbols(suspects: Sequence[Suspect], repo: Repository) -> list[Suspect]:
    try:
        touched = await touched_by(repo, [s.commit for s in suspects[:_WITH_SYMBOLS]])
    except RepositoryError:
        return list(suspects)
    return [
        Suspect(
            commit=suspect.commit,
            service=suspect.service,
            deploy=suspect.deploy,
            reached_ns=suspect.reached_ns,
            symbols=tuple(symbol.symbol_id for symbol in touched.get(suspect.commit.sha, ())),
        )
        for suspect in suspects
    ]
