"""A real model server with random weights against the guard: whatever nonsense it says, the rules' answer stands."""

import asyncio
import importlib.util
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from retrieval.judgement.conclude import conclude
from retrieval.judgement.refinement import refine
from retrieval.model import ModelOutcome
from retrieval.models import Access, open_model
from tests.building import a_case
from tests.retrieval.models import tiny_model

needs = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "gguf")), reason="no xllamacpp or no gguf"
)


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[str]:
    path = folder / "tiny.gguf"
    await asyncio.to_thread(tiny_model.write, path)
    process = await asyncio.create_subprocess_exec(
        sys.executable, tiny_model.__file__, str(path),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            while not (found := re.match(rb"listening (\S+)", await process.stdout.readline())):
                assert process.returncode is None
        yield f"{found.group(1).decode()}/v1"
    finally:
        process.kill()
        await process.wait()


@pytest.mark.realserver
@needs
async def test_nonsense_in_the_right_shape_changes_nothing_that_counts(tmp_path: Path) -> None:
    outcomes = set()
    async with served(tmp_path) as base_url:
        model = await open_model("openai", Access("tiny-random", base_url, "any", 60.0))
        for n in range(2):
            case = conclude(a_case(), [])
            refined = await refine(case, [], model, budget=3_000 + 500 * n)
            assert refined.model is not None
            outcomes.add(refined.model.outcome)
            best, before = refined.hypotheses[0], case.hypotheses[0]
            assert (refined.verdict, refined.rankings, refined.evidence) == (case.verdict, case.rankings, case.evidence)
            assert (best.summary, best.claims, best.suspected_commit) == (
                before.summary, before.claims, before.suspected_commit,
            )  # fmt: skip
        await model.close()

    assert outcomes <= {
        ModelOutcome.REJECTED, ModelOutcome.NOTHING_NEW, ModelOutcome.INSUFFICIENT, ModelOutcome.TRUNCATED,
        ModelOutcome.INVALID, ModelOutcome.REFINED,
    }  # fmt: skip
    assert outcomes, "the server answered nothing"
