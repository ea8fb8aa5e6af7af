"""What the proof is made with: sandbox, prepared environments, harnesses. None where running code is switched off."""

from collections.abc import Mapping
from pathlib import Path

from bot.triage import Progress, Prover
from bundles.environment import Environments
from bundles.harness import HARNESSES
from bundles.prove import Workshop, prove
from bundles.sandbox import Sandbox, SandboxSettings
from retrieval.model import Case, Proof
from retrieval.ports import Redactor, Repository


def make_workshop(
    environ: Mapping[str, str], redactor: Redactor, *, user: str = "", cache: Path | None = None
) -> Workshop:
    """A workshop; nothing is started or prepared before it is used."""
    settings = SandboxSettings(user=user, cache=cache)
    return Workshop(
        sandbox=Sandbox(settings, environ),
        environments=Environments(environ, cache),
        harnesses=HARNESSES,
        redactor=redactor,
    )


def prover_of(workshop: Workshop) -> Prover:
    """The stage `prove` with this workshop."""

    async def run(case: Case, repositories: Mapping[str, Repository], progress: Progress) -> Proof | None:
        return await prove(case, repositories=repositories, workshop=workshop, progress=progress)

    return run
