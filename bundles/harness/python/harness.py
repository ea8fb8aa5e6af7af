"""The Python harness: reads the checkout, recovers inputs, writes tests."""

import asyncio
from pathlib import Path, PurePosixPath

from bundles.harness.base import Candidates
from bundles.harness.python.recovery import Recovery
from bundles.harness.python.source import Source, read_source
from retrieval.model import Case, CrashGroup

_TEXTS = (
    "Dockerfile",
    "Procfile",
    "Makefile",
    "setup.cfg",
    "pyproject.toml",
    "manage.py",
    "compose.yaml",
    "compose.yml",
)
_SUFFIXES = (".sh", ".service", ".ini", ".conf", ".yaml", ".yml")
_MAX_TEXT = 100_000


class PythonHarness:
    """See `bundles.harness.base.Harness`."""

    language = "python"

    async def candidates(self, case: Case, crash: CrashGroup, tree: Path) -> Candidates:
        """Parses at most 3000 files in a thread; the rest is arithmetic on records."""
        return await asyncio.to_thread(_recover, case, crash, tree)


def _recover(case: Case, crash: CrashGroup, tree: Path) -> Candidates:
    source = read_source(tree)
    return Recovery(case, crash, source, _serve_texts(tree, source)).candidates()


def _serve_texts(tree: Path, source: Source) -> tuple[str, ...]:
    """Files that may say how the service is started."""
    texts = []
    for path in source.files:
        pure = PurePosixPath(path)
        if len(pure.parts) <= 4 and (pure.name.startswith(_TEXTS) or pure.suffix in _SUFFIXES):
            try:
                texts.append((tree / path).read_bytes()[:_MAX_TEXT].decode("utf-8", "replace"))
            except OSError:
                continue
    return tuple(texts[:60])
