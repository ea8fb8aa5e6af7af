"""Which commit brought the failure? (row F2) Binary search with the generated test as the question."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from retrieval.model import Attempt, Bisect, Commit
from retrieval.model.signatures import same_type

Run = Callable[[str], Awaitable[Attempt]]


async def bisect(run: Run, commits: Sequence[Commit], *, good: str, bad: str) -> Bisect:
    """`commits` are all that are reachable from `bad` and not from `good` (any order). The first-parent chain is
    searched; where the culprit on it is a merge, the search goes on along what it merged.

    A commit counts as bad when the test fails there *as in production*, or by the same type of error out of the same
    functions as at `bad` (a later commit may have reworded the message); as good when it passes. Others (the test
    cannot be loaded, times out, fails otherwise) cannot be judged and are skipped, like `git bisect skip`. There is a
    culprit only where it was seen to fail and its parent was seen to pass; all other commits are then acquitted: the
    ones before, because it still passed after them; the ones after, because it failed without them.
    """
    search = _Search(run, {commit.sha: commit for commit in commits}, bad)
    first, last = await asyncio.gather(search.look(good), search.look(bad))
    if not _is_good(first):
        return search.found(None, "the test does not pass at the last good commit")
    if not _as_in_production(last):
        return search.found(None, "the test does not fail at the deployed commit as in production")
    return await search.along(bad, good)


def _as_in_production(attempt: Attempt) -> bool:
    return attempt.outcome == "failed" and attempt.matches_production


def _reworded(attempt: Attempt, deployed: Attempt) -> bool:
    """The same type of error by the same way through the code, in other words."""
    one, other = attempt.error_signature, deployed.error_signature
    if attempt.outcome != "failed" or one is None or other is None or not deployed.frames:
        return False
    return same_type(one.type, other.type) and attempt.frames == deployed.frames


def _is_good(attempt: Attempt) -> bool:
    return attempt.outcome == "passed"


class _Search:
    def __init__(self, run: Run, commits: Mapping[str, Commit], deployed: str) -> None:
        self._run = run
        self._deployed = deployed
        self._commits = commits
        self._asked: list[str] = []  # in the order of asking, which is the same every time; answers may overtake
        self._seen: dict[str, Attempt] = {}

    async def look(self, sha: str) -> Attempt:
        if sha not in self._seen:
            self._asked.append(sha)
            self._seen[sha] = await self._run(sha)
        return self._seen[sha]

    def _is_bad(self, attempt: Attempt) -> bool:
        return _as_in_production(attempt) or _reworded(attempt, self._seen[self._deployed])

    async def along(self, bad: str, good: str) -> Bisect:
        """Search the first-parent chain that ends in `bad`; what its oldest commit is based on has to pass."""
        chain = self._chain(bad)
        if not chain:
            return self.found(None, "the deployed commit is not after the last good one")
        base = self._commits[chain[0]].parents[0] if self._commits[chain[0]].parents else ""
        if not base or not _is_good(await self.look(base)):
            return self.found(None, "the test does not pass before the oldest of the commits")
        culprit, between = await self._narrow([base, *chain])
        if between:
            reason = f"commits between the last that passes and {culprit[:12]} cannot be judged: {between}"
            return self.found(None, reason)
        merged = [parent for parent in self._commits[culprit].parents[1:] if parent in self._commits]
        for parent in merged:
            if self._is_bad(await self.look(parent)):
                return await self.along(parent, good)
        return self.found(culprit, "")

    def _chain(self, bad: str) -> list[str]:
        """First parents from `bad` back, as far as they are in question; oldest first."""
        chain: list[str] = []
        sha = bad
        while sha in self._commits and sha not in chain:
            chain.append(sha)
            parents = self._commits[sha].parents
            sha = parents[0] if parents else ""
        return chain[::-1]

    async def _narrow(self, chain: Sequence[str]) -> tuple[str, int]:
        """The first commit seen to fail, and how many before it can't be judged. `chain[0]` passes, the last fails."""
        low, high = 0, len(chain) - 1
        skipped: set[int] = set()
        while open_ := [at for at in range(low + 1, high) if at not in skipped]:
            middle = (low + high) / 2
            at = min(open_, key=lambda index: (abs(index - middle), index))
            attempt = await self.look(chain[at])
            if self._is_bad(attempt):
                high = at
            elif _is_good(attempt):
                low = at
            else:
                skipped.add(at)
        return chain[high], high - low - 1

    def found(self, culprit: str | None, reason: str) -> Bisect:
        acquitted = sorted(sha for sha in self._commits if sha != culprit) if culprit else []
        return Bisect(
            culprit=culprit,
            tested=tuple(self._seen[sha] for sha in self._asked),
            acquitted=tuple(acquitted),
            reason=reason,
        )
