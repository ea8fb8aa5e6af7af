"""From a case to its proof: which generated test fails as production did, since which commit, and what would mend it.

    crash groups -> candidates -> run at the deployed commit -> run at the last good one -> bisect -> patches

Everything is run in the sandbox; where it does not hold, nothing is, and the proof says so. The same case gives the
same proof: no times, paths or process ids get into it, and what is chosen does not depend on which run ends first.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bundles.bisect import bisect
from bundles.environment import Environment, Environments
from bundles.environment.packages import installed
from bundles.harness.base import Candidate, Harness
from bundles.judge import Production
from bundles.patch import Site, find_patches
from bundles.runs import Budget, Runs, Test
from bundles.sandbox import Sandbox, ToolMissing, probe
from retrieval.errors import RepositoryError
from retrieval.model import Attempt, Bisect, Case, Commit, CrashGroup, Proof, ServiceInfo
from retrieval.ports import Redactor, Repository

Progress = Callable[[str, str], Awaitable[None]]
"""Told the stage ("prove") and what is known so far, one line."""

CRASHES = 3  # crash groups that are tried, in the case's order
WITNESSES = 2  # other recorded inputs whose answers a patch is compared by
AGAIN = 2  # more runs at each end, and at the culprit and its parent, before anyone is convicted
CHANCES = 12  # runs at the last good commit of a test that fails by chance, until it does
NOT_TELLING = 3  # candidates that fail at both commits before the search for one that does not ends
_LANGUAGES = {".py": "python", ".java": "java", ".go": "go", ".js": "javascript", ".ts": "typescript", ".rs": "rust"}


class Workshop(Struct, frozen=True, kw_only=True):
    """What proving is done with. `redactor` cleans the kept output; `runs` and `seconds` bound the whole proof."""

    sandbox: Sandbox
    environments: Environments
    harnesses: Mapping[str, Harness]
    redactor: Redactor | None = None
    runs: int = 80
    seconds: float = 120.0


class _Found(Struct, frozen=True, kw_only=True):
    """A candidate that fails at the deployed commit as in production, and how it did elsewhere."""

    candidate: Candidate
    at_deployed: Attempt
    crash_at: tuple[str, int] | None
    at_good: Attempt | None


async def prove(
    case: Case,
    *,
    repositories: Mapping[str, Repository],
    workshop: Workshop,
    progress: Progress | None = None,
) -> Proof:
    """The best proof that can be had: of the first crash group whose test also passes at the last good commit, else of
    the first that reproduces, else what is missing. Does not raise for what is in the case or its repositories.
    """
    status = await probe(workshop.sandbox)
    crashes = [c for c in case.crashes if _repository(case, c, repositories)][:CRASHES]
    if not status.holds or not crashes:
        return _nothing(case, status.reason or _no_subject(case))
    budget = Budget(workshop.runs, workshop.seconds)
    best: Proof | None = None
    try:
        for crash in crashes:
            async with workshop.sandbox.workspace() as folder:
                info, repository = _service(case, crash), _repository(case, crash, repositories)
                assert repository is not None
                runs = Runs(
                    repository,
                    info,
                    sandbox=workshop.sandbox,
                    environments=workshop.environments,
                    folder=folder,
                    budget=budget,
                    redactor=workshop.redactor,
                )
                proof = await _Attempt(case, crash, runs, workshop, progress or _silent).proof()
            if best is None or (_rank(proof) > _rank(best) and not _acquits(proof)):
                best = proof
            if _rank(proof) == _BEST or not budget.left:
                break
    except (ToolMissing, OSError) as error:
        return best or _nothing(case, f"the sandbox cannot be used: {error.__class__.__name__}")
    assert best is not None
    return best


_BEST = 3


def _rank(proof: Proof) -> int:
    if proof.at_deployed is None:
        return 0
    if not proof.at_deployed.matches_production:
        return 1
    return _BEST if proof.at_good is not None and proof.at_good.outcome == "passed" else 2


def _acquits(proof: Proof) -> bool:
    """It fails at the last good commit too: of another error than the incident's first, that tells nothing about it."""
    return proof.at_good is not None and proof.at_good.outcome != "passed"


async def _silent(stage: str, known: str) -> None:
    return None


def _service(case: Case, crash: CrashGroup) -> ServiceInfo:
    return case.sources.services.get(crash.service) or ServiceInfo(name=crash.service, declared=False)


def _repository(case: Case, crash: CrashGroup, repositories: Mapping[str, Repository]) -> Repository | None:
    """The declared repository, else the one of the service's name, else the only one there is."""
    info = _service(case, crash)
    found = repositories.get(info.repo) or repositories.get(crash.service)
    if found is None and not info.repo and len(repositories) == 1:
        found = next(iter(repositories.values()))
    return found


def _language(info: ServiceInfo, crash: CrashGroup) -> str:
    by_name = next((name for suffix, name in _LANGUAGES.items() if crash.crash_path.endswith(suffix)), "")
    return info.language.lower() or by_name or "python"


def _no_subject(case: Case) -> str:
    if not case.crashes:
        return "no error was recorded that a test could reproduce"
    return f"no repository of {case.crashes[0].service} is known"


def _nothing(case: Case, reason: str) -> Proof:
    service = case.crashes[0].service if case.crashes else ""
    info = case.sources.services.get(service)
    missing: tuple[tuple[str, str, str], ...] = ()
    if not case.crashes:
        missing = (("an error with its stack", reason, "the logs or traces of the failing service, errors included"),)
    elif reason.startswith("no repository"):
        missing = ((f"the repository of {service}", reason, "services.json: repo, and its clone under repos/"),)
    return Proof(service=service, repo=info.repo if info else "", missing=missing, not_run_reason=reason)


class _Attempt:
    """The proof of one crash group."""

    def __init__(self, case: Case, crash: CrashGroup, runs: Runs, workshop: Workshop, progress: Progress) -> None:
        self._case, self._crash, self._runs, self._workshop, self._progress = case, crash, runs, workshop, progress
        self._production = Production(signature=crash.signature, frames=crash.in_app_frames, causes=crash.causes)
        self._blank = Proof(service=crash.service, repo=runs.repository.name)

    async def proof(self) -> Proof:
        harness = self._workshop.harnesses.get(_language(self._runs.service, self._crash))
        if harness is None:
            language = _language(self._runs.service, self._crash)
            return replace(self._blank, not_run_reason=f"there is no test harness for {language} yet")
        try:
            deployed, good = await self._ends()
            tree, environment, _ = await asyncio.gather(
                self._runs.tree(deployed), self._runs.environment(deployed), self._ahead(good)
            )
        except RepositoryError as error:
            return self._unreadable(error)
        found = await harness.candidates(self._case, self._crash, tree)
        if not found.items:
            reason = "no input was recorded that a test could replay"
            return replace(self._blank, missing=found.missing, not_run_reason=reason)
        if environment.site is None:
            return self._unprepared(environment)
        chosen, first = await self._search(found.items, deployed, good)
        described = await self._describe(environment)
        if chosen is None:
            return replace(
                self._blank, at_deployed=first, missing=found.missing, environment=described,
                not_run_reason=first.reason if first.outcome in ("not_run", "error", "timeout") else "",
            )  # fmt: skip
        proof = await self._complete(chosen, _witnesses(chosen.candidate, found.items), deployed, good)
        return replace(proof, environment=described)

    async def _ahead(self, good: str) -> None:
        """Prepare what the last good commit needs meanwhile; what goes wrong is met again when it is run."""
        if good:
            with contextlib.suppress(RepositoryError):
                await self._runs.environment(good)

    async def _ends(self) -> tuple[str, str]:
        """The deployed commit and the last good one ("" where none is known). Raises: RepositoryError."""
        service, rollout = self._crash.service, self._case.rollout
        current, previous = rollout.current.get(service), rollout.previous.get(service)
        suspects = [s.commit for s in self._case.suspects if s.service == service]
        repository = self._runs.repository
        if current is None:
            raise RepositoryError(f"no deploy of {service} is known", subject=service)
        deployed = await repository.resolve(current.git_sha)
        oldest = min(suspects, key=lambda c: (c.committed_ns, c.sha), default=None)
        known = [previous.git_sha if previous else "", current.previous_sha]
        known += list(oldest.parents[:1]) if oldest else []
        for sha in known:
            try:
                if sha and (good := await repository.resolve(sha)) != deployed:
                    return deployed, good
            except RepositoryError:
                continue
        return deployed, ""

    def _unreadable(self, error: RepositoryError) -> Proof:
        service = self._crash.service
        if service not in self._case.rollout.current:
            missing = ((f"the deployed commit of {service}", "a test is run at it", "deploys.jsonl: git_sha"),)
            return replace(self._blank, missing=missing, not_run_reason=f"no deploy of {service} is known")
        reason = f"the deployed commit cannot be read from {self._runs.repository.name} ({error.reason.value})"
        missing = ((f"a full clone of {self._runs.repository.name}", reason, "git fetch --unshallow, or a new clone"),)
        return replace(self._blank, missing=missing, not_run_reason=reason)

    def _unprepared(self, environment: Environment) -> Proof:
        reason = f"the dependencies could not be prepared: {environment.reason}"
        missing = (("the service's dependencies", reason, "services.json: environment (a file, or a prepared one)"),)
        return replace(self._blank, missing=missing, not_run_reason=reason)

    async def _describe(self, environment: Environment) -> dict[str, str]:
        equipment = await self._workshop.sandbox.equipment()
        packages = await asyncio.to_thread(installed, environment.site) if environment.site else ()
        declared = self._runs.service.environment
        return {
            "language": _language(self._runs.service, self._crash),
            "python": environment.python,
            "packages": "\n".join(packages),
            "declared": "" if declared.startswith("/") else declared,  # a path of this machine helps nobody
            "requirements": environment.declared,
            "requirements_digest": environment.digest,
            "requirements_note": environment.reason,
            "sandbox": f"bubblewrap {equipment.programs.version}",
        }

    def _test(self, candidate: Candidate) -> Test:
        return Test(files=candidate.files, command=candidate.command, production=self._production)

    async def _search(self, candidates: Sequence[Candidate], deployed: str, good: str) -> tuple[_Found | None, Attempt]:
        """The first candidate that fails as in production and passes at the last good commit; else the first that fails
        as in production; and the first candidate's attempt."""
        fallback: _Found | None = None
        attempts: list[Attempt] = []
        not_telling = 0
        for start in range(0, len(candidates), 2):
            pair = candidates[start : start + 2]
            await self._progress("prove", f"running test {start + 1} of {len(candidates)}")
            seen = await asyncio.gather(*(self._runs.observe(self._test(c), deployed) for c in pair))
            attempts += [observed.attempt for observed in seen]
            for candidate, observed in zip(pair, seen, strict=True):
                attempt, crash_at = observed.attempt, observed.crash_at
                if not attempt.matches_production:
                    continue
                at_good = await self._runs.attempt(self._test(candidate), good) if good else None
                found = _Found(candidate=candidate, at_deployed=attempt, crash_at=crash_at, at_good=at_good)
                if at_good is None or at_good.outcome == "passed":
                    return found, attempts[0]
                fallback = fallback or found
                not_telling += 1
            if not_telling >= NOT_TELLING:
                break
        return fallback, _telling(attempts)

    async def _complete(self, found: _Found, others: Sequence[Candidate], deployed: str, good: str) -> Proof:
        candidate = found.candidate
        proof = replace(
            self._blank,
            test=candidate.test,
            command=candidate.command,
            files=dict(sorted(candidate.files.items())),
            input=candidate.input,
            at_deployed=found.at_deployed,
            at_good=found.at_good,
        )
        if found.at_good is None or found.at_good.outcome != "passed":
            return proof
        if not await self._steady(found.candidate, failing=(deployed,), passing=(good,)):
            return await self._unsteady(proof, found, good)
        search, commits = await self._bisect(found, deployed, good)
        if search.culprit:
            parents = next((c.parents[:1] for c in commits if c.sha == search.culprit), ())
            failing, passing = {search.culprit} - {deployed}, set(parents) - {good}
            if not await self._steady(found.candidate, failing=sorted(failing), passing=sorted(passing)):
                return await self._unsteady(proof, found, good)
        proof = replace(proof, bisect=search)
        await self._progress("prove", "looking for a patch")
        culprit = next((c for c in commits if c.sha == search.culprit), None)
        site = Site(
            commit=deployed,
            good=culprit.parents[0] if culprit and culprit.parents else good,
            error=found.at_deployed.error_signature,
            crash_at=found.crash_at,
            culprit=culprit,
        )
        tried = await find_patches(self._runs, [self._test(c) for c in (candidate, *others)], site)
        return replace(proof, patch=tried.best, patches_tried=tried.patches)

    async def _steady(self, candidate: Candidate, failing: Sequence[str], passing: Sequence[str]) -> bool:
        """Whether the test ends the same way each time: one that fails by chance convicts whom it meets."""
        await self._progress("prove", "running the test again, to see whether it always ends the same way")
        shas = [sha for sha in (*failing, *passing) for _ in range(AGAIN)]
        seen = await asyncio.gather(*(self._runs.attempt(self._test(candidate), sha) for sha in shas))
        return all(a.outcome == ("failed" if sha in failing else "passed") for sha, a in zip(shas, seen, strict=True))

    async def _unsteady(self, proof: Proof, found: _Found, good: str) -> Proof:
        """No commit is convicted; where the test fails at the last good commit too, sooner or later, that is said."""
        at_good = found.at_good
        for _ in range(CHANCES):
            attempt = await self._runs.attempt(self._test(found.candidate), good)
            if attempt.outcome == "failed" and attempt.matches_production:
                at_good = attempt
                break
        reason = "the test does not end the same way each time at one commit, so it cannot tell commits apart"
        if not self._runs.affordable:
            reason = "the budget of runs was used up before a conviction was confirmed"
        return replace(proof, at_good=at_good, bisect=Bisect(reason=reason))

    async def _bisect(self, found: _Found, deployed: str, good: str) -> tuple[Bisect, list[Commit]]:
        try:
            commits = await self._runs.repository.log(after=good, until=deployed)
        except RepositoryError as error:
            return Bisect(reason=f"the history between both commits cannot be read ({error.reason.value})"), []
        known = {deployed: found.at_deployed}
        if found.at_good is not None:
            known[good] = found.at_good

        async def run(sha: str) -> Attempt:
            if sha in known:
                return known[sha]
            await self._progress("prove", f"bisecting {len(commits)} commits: testing {sha[:7]}")
            return await self._runs.attempt(self._test(found.candidate), sha)

        return await bisect(run, commits, good=good, bad=deployed), commits


def _witnesses(chosen: Candidate, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates with other recorded inputs of the same kind, each input once."""
    seen, found = {chosen.input.summary}, []
    for candidate in candidates:
        if candidate.input.strategy == chosen.input.strategy and candidate.input.summary not in seen:
            seen.add(candidate.input.summary)
            found.append(candidate)
    return found[:WITNESSES]


def _telling(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt to show where none matched: one that failed tells more than one that passed, that more than none."""
    order = {"failed": 0, "passed": 1, "timeout": 2, "error": 3}
    return min(attempts, key=lambda attempt: order.get(attempt.outcome, 4))


async def rerun(
    test: Test,
    commit: str,
    *,
    repository: Repository,
    service: ServiceInfo,
    workshop: Workshop,
    changes: Mapping[str, str | None] | None = None,
) -> Attempt:
    """Run a bundle's test again: its overlay over a clean checkout of a commit, in the sandbox. Does not raise; what
    keeps it from running is the reason of a `not_run` attempt."""
    status = await probe(workshop.sandbox)
    if not status.holds:
        return Attempt(commit=commit, outcome="not_run", reason=status.reason)
    try:
        async with workshop.sandbox.workspace() as folder:
            runs = Runs(
                repository,
                service,
                sandbox=workshop.sandbox,
                environments=workshop.environments,
                folder=folder,
                budget=Budget(),
                redactor=workshop.redactor,
            )
            return (await runs.observe(test, await repository.resolve(commit), changes)).attempt
    except RepositoryError as error:
        return Attempt(commit=commit, outcome="not_run", reason=f"the commit cannot be read ({error.reason.value})")
    except (ToolMissing, OSError):
        return Attempt(commit=commit, outcome="not_run", reason="no work tree could be made")
