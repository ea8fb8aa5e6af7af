"""What a test harness promises: recorded production inputs in, runnable candidate tests out."""

from pathlib import Path
from typing import Protocol

from msgspec import Struct

from retrieval.model import Case, CrashGroup, RecoveredInput

Missing = tuple[str, str, str]
"""(what is missing, why it is needed, where to get it), as in the JSON contract."""


class Candidate(Struct, frozen=True, kw_only=True):
    """One generated test. `files` are the overlay (path in a checkout -> text), `test` is the path of the test in it,
    `command` is run in the root of a checkout. Whether it reproduces anything is not known before it was run."""

    input: RecoveredInput
    files: dict[str, str]
    test: str
    command: tuple[str, ...]


class Candidates(Struct, frozen=True, kw_only=True):
    """Candidates, the most direct first, and what production did not record."""

    items: tuple[Candidate, ...] = ()
    missing: tuple[Missing, ...] = ()


class Harness(Protocol):
    """Turns what production recorded into tests of one language."""

    language: str

    async def candidates(self, case: Case, crash: CrashGroup, tree: Path) -> Candidates:
        """Tests that may fail the way `crash` did. `tree` is a clean checkout of the deployed commit; it is read and
        parsed, never imported or run. Every value in a test was recorded and is cited in `RecoveredInput.citations`.
        The same input gives the same candidates in the same order."""
        ...
