"""Runs the candidates: the generated test first, then the repository's own tests, before and after."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bundles.patch.agreement import Answers, mean_agreement
from bundles.patch.candidates import Candidate, Versions, about_the_answer, candidates
from bundles.patch.difftext import unified
from bundles.runs import Changes, Observation, OwnTests, Runs, Test
from retrieval.errors import RepositoryError
from retrieval.model import Commit, ErrorSignature, Patch

# After a patch that is accepted, how many more are tried for one that answers more like before.
_MORE = 10


class Site(Struct, frozen=True, kw_only=True):
    """Where to mend: the deployed commit; the last one known to pass (`good`), what was raised and at which line, the
    convicted commit."""

    commit: str
    good: str
    error: ErrorSignature | None
    crash_at: tuple[str, int] | None
    culprit: Commit | None


class Tried(Struct, frozen=True, kw_only=True):
    """`patches` are all that were tried, in order; `best` the accepted one."""

    patches: tuple[Patch, ...] = ()
    best: Patch | None = None


async def find_patches(runs: Runs, tests: Sequence[Test], site: Site) -> Tried:
    """Try candidates, best first. One is accepted if with it the generated test (the first of `tests`) passes and no
    test of the repository fails that passed before. Of these the one is best that answers recorded inputs (those of all
    `tests`) most like the last commit that passed did; of equals the first. Does not raise; without a readable
    repository nothing is tried.
    """
    try:
        found, before = await _candidates(runs, site)
    except RepositoryError:
        return Tried()
    baseline = asyncio.create_task(runs.own_tests(site.commit))
    known = asyncio.create_task(_all_answers(runs, tests, site.good))
    search = _Search(runs, tests, site, before)
    try:
        for start in range(0, len(found), 2):
            pair = found[start : start + 2]
            seen = await asyncio.gather(
                *(runs.observe(tests[0], site.commit, candidate.changes, answers=True) for candidate in pair)
            )
            for candidate, observed in zip(pair, seen, strict=True):
                await search.weigh(candidate, observed, await known, baseline)
                if search.over:
                    return search.tried
        return search.tried
    finally:
        await asyncio.gather(baseline, known)


async def _all_answers(
    runs: Runs, tests: Sequence[Test], commit: str, changes: Changes | None = None
) -> list[Answers | None]:
    seen = await asyncio.gather(*(runs.observe(test, commit, changes, answers=True) for test in tests))
    return [observed.answers for observed in seen]


class _Search:
    def __init__(self, runs: Runs, tests: Sequence[Test], site: Site, before: dict[str, str]) -> None:
        self._runs, self._tests, self._site, self._before = runs, tests, site, before
        self._patches: list[Patch] = []
        self._best: tuple[float, Patch, bool] | None = None  # agreement, patch, whether it is a guess
        self._since = 0

    @property
    def over(self) -> bool:
        return self._best is not None and (self._best[0] == 1 or self._since > _MORE)

    @property
    def tried(self) -> Tried:
        return Tried(patches=tuple(self._patches), best=self._best[1] if self._best else None)

    async def weigh(
        self,
        candidate: Candidate,
        observed: Observation,
        before: Sequence[Answers | None],
        baseline: asyncio.Task[OwnTests],
    ) -> None:
        """Add one candidate's run to what was tried; run the repository's tests where it may be the best."""
        patch = self._patch(candidate, observed)
        share: float | None = None
        if observed.attempt.outcome == "passed":
            others = await _all_answers(self._runs, self._tests[1:], self._site.commit, candidate.changes)
            share = mean_agreement(before, [observed.answers, *others])
        if observed.attempt.outcome == "passed" and self._may_be_best(share or 0.0, candidate.guess):
            regression = await _regression(self._runs, self._site.commit, candidate, await baseline)
            patch = replace(patch, regression={**regression, "agreement": None if share is None else round(share, 3)})
            if share is not None:
                patch = replace(patch, rationale=f"{patch.rationale} {about_the_answer(share)}")
            if not regression["new_failures"]:
                self._best, self._since = (share or 0.0, patch, candidate.guess), 0
        self._patches.append(patch)
        self._since += 1

    def _may_be_best(self, share: float, guess: bool) -> bool:
        """A guess has to be better than what is no guess, also than what comes after it."""
        if self._best is None:
            return share > 0 or not guess
        return share > self._best[0] or (share == self._best[0] and self._best[2] and not guess)

    def _patch(self, candidate: Candidate, observed: Observation) -> Patch:
        diff = unified({path: (self._before.get(path), text) for path, text in candidate.changes.items()})
        return Patch(
            diff=diff,
            strategy=candidate.strategy,
            rationale=candidate.rationale,
            outcome=observed.attempt.outcome,
        )


async def _regression(runs: Runs, commit: str, candidate: Candidate, before: OwnTests) -> dict[str, object]:
    """`new_failures` counts tests that fail with the patch and did not without. A suite that could be run before and
    can't be run with the patch counts as one; a suite that can't be run at all tells nothing and says so."""
    if before.outcome in ("passed", "failed"):
        after = await runs.own_tests(commit, candidate.changes)
    else:
        after = before
    new = sorted(set(after.failures) - set(before.failures))
    broken = after.outcome not in ("passed", "failed") and before.outcome in ("passed", "failed")
    return {
        "command": list(runs.own_command),
        "outcome": after.outcome,
        "passed": after.passed,
        "failed": len(after.failures),
        "failed_before": len(before.failures),
        "new_failures": len(new) + broken,
        "reason": after.reason,
    }


async def _candidates(runs: Runs, site: Site) -> tuple[list[Candidate], dict[str, str]]:
    """Raises: RepositoryError."""
    paths = [change.path for change in site.culprit.files] if site.culprit else []
    old = [change.old_path or change.path for change in site.culprit.files] if site.culprit else []
    parent = site.culprit.parents[0] if site.culprit and site.culprit.parents else ""
    versions = Versions(
        at_commit=await _texts(runs, site.culprit.sha if site.culprit else "", paths),
        deployed=await _texts(runs, site.commit, sorted({*paths, *old})),
        before=await _texts(runs, parent, old),
    )
    source = b""
    if site.crash_at:
        source = await _bytes(runs, site.commit, site.crash_at[0])
        versions.deployed.setdefault(site.crash_at[0], source.decode("utf-8", "surrogateescape"))
    found = await asyncio.to_thread(
        candidates, site.culprit, versions, crash_at=site.crash_at, error=site.error, crash_source=source
    )
    return found, versions.deployed


async def _texts(runs: Runs, commit: str, paths: list[str]) -> dict[str, str]:
    texts = {}
    for path in paths if commit else ():
        try:
            texts[path] = (await _bytes(runs, commit, path)).decode("utf-8")
        except (RepositoryError, UnicodeDecodeError):
            continue
    return texts


async def _bytes(runs: Runs, commit: str, path: str) -> bytes:
    return await runs.repository.read(commit, path)
