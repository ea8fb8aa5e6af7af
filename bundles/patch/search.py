"""Runs the candidates: the generated test first, then the repository's own tests, before and after."""

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from bundles.patch.candidates import Candidate, Versions, about_the_answer, candidates
from bundles.patch.difftext import unified
from bundles.runs import Observation, OwnTests, Runs, Test
from retrieval.errors import RepositoryError
from retrieval.model import Commit, ErrorSignature, Patch

# After a patch that is accepted but answers otherwise than the last good commit, how many more are tried for one that
# answers the same.
_MORE = 10

Answers = tuple[tuple[str, str], ...] | None


class Site(Struct, frozen=True, kw_only=True):
    """Where to mend: the deployed commit and the last good one, what was raised and at which line, the convicted
    commit."""

    commit: str
    good: str
    error: ErrorSignature | None
    crash_at: tuple[str, int] | None
    culprit: Commit | None


class Tried(Struct, frozen=True, kw_only=True):
    """`patches` are all that were tried, in order; `best` the accepted one."""

    patches: tuple[Patch, ...] = ()
    best: Patch | None = None


async def find_patches(runs: Runs, test: Test, site: Site) -> Tried:
    """Try candidates, best first. One is accepted if with it the generated test passes and no test of the repository
    fails that passed before. The first accepted one that answers the recorded input as the last good commit did ends
    the search; else the first accepted one is the best. Does not raise; without a readable repository nothing is tried.
    """
    try:
        found, before = await _candidates(runs, site)
    except RepositoryError:
        return Tried()
    baseline = asyncio.create_task(runs.own_tests(site.commit))
    good = asyncio.create_task(runs.observe(test, site.good, answers=True))
    search = _Search(runs, test, site, before)
    try:
        for start in range(0, len(found), 2):
            pair = found[start : start + 2]
            seen = await asyncio.gather(
                *(runs.observe(test, site.commit, candidate.changes, answers=True) for candidate in pair)
            )
            for candidate, observed in zip(pair, seen, strict=True):
                await search.weigh(candidate, observed, (await good).answers, baseline)
                if search.over:
                    return search.tried
        return search.tried
    finally:
        await asyncio.gather(baseline, good)


class _Search:
    def __init__(self, runs: Runs, test: Test, site: Site, before: dict[str, str]) -> None:
        self._runs, self._test, self._site, self._before = runs, test, site, before
        self._patches: list[Patch] = []
        self._best: Patch | None = None
        self._since = 0
        self.over = False

    @property
    def tried(self) -> Tried:
        return Tried(patches=tuple(self._patches), best=self._best)

    async def weigh(
        self, candidate: Candidate, observed: Observation, good: Answers, baseline: asyncio.Task[OwnTests]
    ) -> None:
        """Add one candidate's run to what was tried; run the repository's tests where it is worth it."""
        patch = self._patch(candidate, observed)
        same = observed.answers == good if observed.answers is not None and good is not None else None
        passed = observed.attempt.outcome == "passed"
        # What answers otherwise is not worth the repository's tests when there is one already that does.
        worth = passed and (same or (self._best is None and not candidate.only_if_same))
        if worth:
            regression = await _regression(self._runs, self._site.commit, candidate, await baseline)
            patch = replace(patch, regression={**regression, "same_answer": same})
            if same is not None:
                patch = replace(patch, rationale=f"{patch.rationale} {about_the_answer(same)}")
        self._patches.append(patch)
        if worth and not patch.regression["new_failures"] and (self._best is None or same):
            self._best = patch
        self._since += self._best is not None
        self.over = self._best is not None and (same is True or good is None or self._since > _MORE)

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
