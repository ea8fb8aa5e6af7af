"""The Python harness: reads the checkout, recovers inputs, writes tests."""

import asyncio
from pathlib import Path

from bundles.harness.base import Candidates
from bundles.harness.python.recovery import Recovery
from bundles.harness.python.source import read_source
from retrieval.model import Case, CrashGroup


class PythonHarness:
    """See `bundles.harness.base.Harness`."""

    language = "python"

    async def candidates(self, case: Case, crash: CrashGroup, tree: Path) -> Candidates:
        """Parses at most 3000 files in a thread; the rest is arithmetic on records."""
        return await asyncio.to_thread(_recover, case, crash, tree)


def _recover(case: Case, crash: CrashGroup, tree: Path) -> Candidates:
    return Recovery(case, crash, read_source(tree)).candidates()
