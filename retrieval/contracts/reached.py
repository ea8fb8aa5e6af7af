"""Which changes of contracts had reached production when it began (row B1)."""

from collections import defaultdict
from collections.abc import Mapping

from msgspec.structs import replace

from retrieval.contracts.history import Found, Reached, commit_changes
from retrieval.contracts.versions import is_current, versions_changes
from retrieval.errors import RepositoryError
from retrieval.model import Case, ContractChange, Problem, SourceRef
from retrieval.ports import Repository


async def find_contract_changes(case: Case, repos: Mapping[str, Repository]) -> Found:
    """Changes by the suspect commits, and between the versions that the case folder gives. A repository that can't
    answer is told as a problem and skipped."""
    changes = list(_given(case))
    problems: list[Problem] = []
    by_repo: dict[str, dict[str, Reached]] = defaultdict(dict)
    for suspect in case.suspects:
        known = by_repo[suspect.commit.repo]
        known.setdefault(
            suspect.commit.sha, Reached(commit=suspect.commit, service=suspect.service, reached_ns=suspect.reached_ns)
        )
    for name in sorted(by_repo):
        repo = repos.get(name)
        if repo is None:
            continue
        try:
            found = await commit_changes(repo, list(by_repo[name].values()))
        except RepositoryError as error:
            problems.append(Problem(source=SourceRef(f"repos/{name}"), reason=error.told))
            continue
        changes += found.changes
        problems += found.problems
    return Found(tuple(changes), tuple(problems))


def _given(case: Case) -> list[ContractChange]:
    """Versions that say that they ran at the incident came with the deploy that was current then."""
    found = []
    for change in versions_changes(case.sources.contract_files, case.sources.deploys):
        current = case.rollout.current.get(change.service)
        if change.reached_ns is None and current is not None and is_current(change.version) and not change.is_step:
            change = replace(change, reached_ns=current.started_ns)
        found.append(change)
    return found
