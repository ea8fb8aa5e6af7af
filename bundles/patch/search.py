"""Runs the candidates: the generated test first, then the repository's own tests, before and after."""

from msgspec import Struct
from msgspec.structs import replace

from bundles.patch.candidates import Candidate, Versions, candidates
from bundles.patch.difftext import unified
from bundles.runs import OwnTests, Runs, Test
from retrieval.errors import RepositoryError
from retrieval.model import Commit, ErrorSignature, Patch


class Site(Struct, frozen=True, kw_only=True):
    """Where to mend: the deployed commit, what was raised there and at which line, and the convicted commit."""

    commit: str
    error: ErrorSignature | None
    crash_at: tuple[str, int] | None
    culprit: Commit | None


async def find_patches(runs: Runs, test: Test, site: Site) -> list[Patch]:
    """All that were tried, in order; the last is accepted if one is: with it the generated test passes and no test of
    the repository fails that passed before. Does not raise; without a readable repository there is none."""
    try:
        found, before = await _candidates(runs, site)
    except RepositoryError:
        return []
    tried: list[Patch] = []
    baseline: OwnTests | None = None
    for candidate in found:
        attempt = await runs.attempt(test, site.commit, candidate.changes)
        diff = unified({path: (before.get(path), text) for path, text in candidate.changes.items()})
        patch = Patch(diff=diff, strategy=candidate.strategy, rationale=candidate.rationale, outcome=attempt.outcome)
        if attempt.outcome == "passed":
            if baseline is None:
                baseline = await runs.own_tests(site.commit)
            regression = await _regression(runs, site.commit, candidate, baseline)
            patch = replace(patch, regression=regression)
        tried.append(patch)
        if patch.outcome == "passed" and not patch.regression["new_failures"]:
            break
    return tried


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
    found = candidates(site.culprit, versions, crash_at=site.crash_at, error=site.error, crash_source=source)
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
