"""`receipts verify BUNDLE.zip`: digests first, then the test again, in the sandbox. Exit 0 reproduced, 1 diverged,
2 damaged, 3 it cannot be run here."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bot.slack.text import clean
from bot.workshop import make_workshop
from bundles.errors import DamagedBundle
from bundles.pack import read_zip
from bundles.packed import PackedRepository, unpack_repository
from bundles.prove import rerun
from bundles.verify import check, packed_test
from retrieval.code.git import open_repository
from retrieval.code.process import GitFailed, run_git
from retrieval.errors import RepositoryError
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.model import Attempt, ServiceInfo
from retrieval.ports import Repository

REPRODUCED, DIVERGED, DAMAGED, CANNOT = 0, 1, 2, 3


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--repo", type=click.Path(path_type=Path), help="a clone, when the bundle does not carry the source")
@click.option("--environment", default="", help="a prepared environment, instead of what the repository declares")
def command(bundle: Path, repo: Path | None, environment: str) -> None:
    """Check a bundle offline and run its test again."""
    try:
        files = read_zip(bundle)
        manifest = check(files)
        if environment and manifest.get("test"):
            manifest["test"]["environment"] = str(Path(environment).resolve())
        code = asyncio.run(verify(files, manifest, repo))
    except DamagedBundle as damage:
        click.echo(clean(f"damaged: {damage.file} {damage.problem}"))
        sys.exit(DAMAGED)
    sys.exit(code)


async def verify(files: Mapping[str, bytes], manifest: Mapping[str, Any], repo: Path | None) -> int:
    """Run what the manifest says and say what was seen, a line each.

    Raises: DamagedBundle.
    """
    click.echo(f"{len(files)} files, every digest holds")
    proof = manifest["result"].get("proof") or {}
    if not manifest.get("test"):
        click.echo(f"nothing to run: the verdict is {manifest['result']['verdict']}")
        return REPRODUCED
    with tempfile.TemporaryDirectory(prefix="receipts-verify-") as scratch:
        os.chmod(scratch, 0o755)
        repository = await _repository(files, manifest, proof, repo, Path(scratch))
        runs: list[tuple[str, Any, Repository | None]] = [("deployed", proof["at_deployed"], repository)]
        if proof.get("at_good"):
            runs.insert(0, ("last good", proof["at_good"], repository))
        patch = proof.get("patch") or {}
        if patch.get("outcome") == "passed":
            patched = await _patched(repository, proof["at_deployed"]["commit"], patch["diff"], Path(scratch))
            runs.append(("with the patch", {**proof["at_deployed"], "outcome": "passed"}, patched))
        codes = [await _run(label, claimed, where, files, manifest) for label, claimed, where in runs]
    worst = max(codes)
    click.echo({REPRODUCED: "reproduced", DIVERGED: "diverged", CANNOT: "not run"}[worst])
    return worst


async def _repository(
    files: Mapping[str, bytes], manifest: Mapping[str, Any], proof: Mapping[str, Any], repo: Path | None, scratch: Path
) -> Repository:
    name = str(manifest["test"]["repo"])
    if repo is not None:
        return await open_repository(name, repo)
    commits = [str(proof[k]["commit"]) for k in ("at_deployed", "at_good") if proof.get(k)]
    return await asyncio.to_thread(unpack_repository, files, name, commits, scratch)


async def _run(
    label: str,
    claimed: Mapping[str, Any],
    repository: Repository | None,
    files: Mapping[str, bytes],
    manifest: Mapping[str, Any],
) -> int:
    """One run against what the bundle claims of it."""
    commit = str(claimed["commit"])
    if repository is None:
        click.echo(f"{label} {commit[:7]}: not run, the patch does not apply")
        return DIVERGED
    declared = ServiceInfo(name=str(manifest["test"]["service"]), environment=str(manifest["test"]["environment"]))
    workshop = make_workshop(os.environ, throwaway_redactor())
    seen = await rerun(packed_test(files, manifest), commit, repository=repository, service=declared, workshop=workshop)
    if seen.outcome == "not_run":
        click.echo(f"{label} {commit[:7]}: not run, {seen.reason}")
        return CANNOT
    same = seen.outcome == claimed["outcome"] and (label != "deployed" or seen.matches_production)
    differs = "" if same else f", the bundle says {claimed['outcome']}"
    click.echo(clean(f"{label} {commit[:7]}: {_told(seen)}{differs}"))
    return REPRODUCED if same else DIVERGED


def _told(attempt: Attempt) -> str:
    signature = attempt.error_signature
    return f"{attempt.outcome} ({signature.type}: {signature.message})" if signature else attempt.outcome


async def _patched(repository: Repository, commit: str, diff: str, scratch: Path) -> Repository | None:
    """The deployed tree with the bundle's patch, as a repository of one commit; None when it does not apply."""
    tree = scratch / "patched"
    try:
        await repository.checkout(commit, tree)
        await run_git(tree, ("apply", "--whitespace=nowarn", "-"), stdin=diff.encode("utf-8", "surrogatepass"))
    except (RepositoryError, GitFailed):
        return None
    return PackedRepository(repository.name, {commit: tree})
