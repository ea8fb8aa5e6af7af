"""From a case to its proof, with real git, a real sandbox and real pytest."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from bundles.environment import Environments
from bundles.harness.base import Candidate
from bundles.judge import Production
from bundles.prove import Workshop, prove, rerun
from bundles.runs import Runs, Test
from bundles.sandbox import Sandbox, SandboxSettings
from retrieval.model import Attempt, Case, CaseSources, Proof, Rollout, ServiceInfo
from tests.bundles.conftest import Work
from tests.bundles.shop import ERROR, FRAMES, Given, History, calling, case_of

pytestmark = pytest.mark.sandbox

FAILS = calling('handle({"total": 10})')
OTHER = calling('handle({"total": 30})', "other")
PASSES = calling('handle({"total": 10, "parts": 2})', "harmless")
ELSEWHERE = calling("1 / 0", "elsewhere")
BOTH = calling('handle({"total": 10, "parts": 0})', "both")
MISSING = (("the total", "it was not recorded", "log it"),)


class Setting:
    def __init__(self, work: Work, sandbox: Sandbox, environments: Environments, service: ServiceInfo) -> None:
        self.work, self.service = work, service
        self.history = History(work)
        self._sandbox, self._environments = sandbox, environments
        self.told: list[str] = []

    def case(self, **parts: object) -> Case:
        return case_of(self.history.good, self.history.deployed, self.service, **parts)

    def workshop(self, *items: Candidate, missing: tuple[tuple[str, str, str], ...] = (), **more: object) -> Workshop:
        fields = {
            "sandbox": self._sandbox,
            "environments": self._environments,
            "harnesses": {"python": Given(items, missing)},
            **more,
        }
        return Workshop(**fields)  # type: ignore[arg-type]

    async def prove(self, *items: Candidate, case: Case | None = None, **more: object) -> Proof:
        async def progress(stage: str, known: str) -> None:
            self.told.append(f"{stage}: {known}")

        return await prove(
            case or self.case(),
            repositories={"shop": await self.work.repository()},
            workshop=self.workshop(*items, **more),  # type: ignore[arg-type]
            progress=progress,
        )


@pytest.fixture
def setting(work: Work, sandbox: Sandbox, environments: Environments, service: ServiceInfo) -> Setting:
    return Setting(work, sandbox, environments, service)


async def test_three_lamps_a_conviction_and_a_patch(setting: Setting, tmp_path: Path) -> None:
    proof = await setting.prove(PASSES, FAILS, OTHER)
    history = setting.history

    assert (proof.test, proof.command, proof.files, proof.input) == (
        FAILS.test,
        FAILS.command,
        FAILS.files,
        FAILS.input,
    )
    assert proof.at_deployed and proof.at_deployed.matches_production
    assert proof.at_deployed.error_signature == ERROR and proof.at_deployed.frames == FRAMES
    assert proof.at_good and (proof.at_good.commit, proof.at_good.outcome) == (history.good, "passed")

    assert proof.bisect and proof.bisect.culprit == history.culprit, proof.bisect
    assert set(proof.bisect.acquitted) == {history.before, history.after, history.deployed}

    assert proof.patch and proof.patch in proof.patches_tried and proof.patch.outcome == "passed"
    assert proof.patch.regression["new_failures"] == 0 and proof.patch.regression["passed"] == 1
    assert proof.patch.regression["agreement"] == 1
    applied = apply(proof.patch.diff, history.deployed, setting.work, tmp_path / "applied")
    assert 'request.get("parts", 1)' in (applied / "shop/app.py").read_text()

    assert setting.told[0] == "prove: running test 1 of 3"
    assert proof.environment["language"] == "python"
    assert_keeps_no_places(proof)


async def test_the_same_case_gives_the_same_proof(setting: Setting) -> None:
    first, second = [msgspec.json.encode(await setting.prove(FAILS)) for _ in range(2)]
    assert first == second


async def test_a_test_that_fails_at_both_commits_is_kept_but_convicts_nobody(setting: Setting) -> None:
    proof = await setting.prove(BOTH)
    assert proof.at_deployed and proof.at_deployed.matches_production
    assert proof.at_good and proof.at_good.outcome == "failed"
    assert proof.test == BOTH.test and proof.bisect is None and proof.patch is None


async def test_one_that_tells_both_commits_apart_is_preferred(setting: Setting) -> None:
    proof = await setting.prove(BOTH, FAILS, runs=5)
    assert proof.test == FAILS.test


@pytest.mark.parametrize("chance", ["at the good commit", "at the deployed commit"])
async def test_a_test_that_ends_by_chance_convicts_nobody(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, chance: str
) -> None:
    ends = {"at the good commit": setting.history.good, "at the deployed commit": setting.history.deployed}
    real = Runs.attempt
    other = ends["at the deployed commit" if chance == "at the good commit" else "at the good commit"]
    turns: list[str] = []

    async def attempt(runs: Runs, test: Test, commit: str) -> Attempt:
        turns.append(commit)
        luck = commit == ends[chance] and turns.count(commit) > 1
        return msgspec.structs.replace(await real(runs, test, other if luck else commit), commit=commit)

    monkeypatch.setattr(Runs, "attempt", attempt)
    proof = await setting.prove(FAILS)
    assert proof.bisect and proof.bisect.culprit is None and "same way" in proof.bisect.reason
    assert proof.patch is None
    assert proof.at_good and (proof.at_good.outcome == "failed") == (chance == "at the good commit")


async def test_a_conviction_that_cannot_be_confirmed_is_none(setting: Setting) -> None:
    proof = await setting.prove(FAILS, runs=3)
    assert proof.bisect and proof.bisect.culprit is None and "budget" in proof.bisect.reason


async def test_another_error_than_productions_is_no_proof(setting: Setting) -> None:
    proof = await setting.prove(ELSEWHERE, PASSES, missing=MISSING)
    assert proof.at_deployed and proof.at_deployed.outcome == "failed" and not proof.at_deployed.matches_production
    assert not proof.test and not proof.files and proof.at_good is None
    assert proof.missing == MISSING


async def test_without_a_recorded_input_it_says_what_is_missing(setting: Setting) -> None:
    proof = await setting.prove(missing=MISSING)
    assert proof.missing == MISSING and "no input" in proof.not_run_reason and proof.at_deployed is None


async def test_a_budget_that_is_used_up_is_the_reason(setting: Setting) -> None:
    proof = await setting.prove(FAILS, runs=0)
    assert proof.at_deployed and proof.at_deployed.outcome == "not_run"
    assert "budget" in proof.not_run_reason


async def test_dependencies_that_cannot_be_prepared_are_asked_for(setting: Setting, tmp_path: Path) -> None:
    absent = msgspec.structs.replace(setting.service, environment=str(tmp_path / "absent"))
    proof = await setting.prove(FAILS, case=case_of(setting.history.good, setting.history.deployed, absent))
    assert "dependencies" in proof.not_run_reason and proof.missing[0][0] == "the service's dependencies"


async def test_what_the_case_does_not_hold_is_asked_for(setting: Setting) -> None:
    nothing = await setting.prove(FAILS, case=setting.case(crashes=()))
    assert nothing.missing and "no error" in nothing.not_run_reason
    unknown = await setting.prove(FAILS, case=setting.case(rollout=Rollout()))
    assert unknown.missing[0][2] == "deploys.jsonl: git_sha"
    elsewhere = await setting.prove(FAILS, case=case_of(setting.history.good, "f" * 40, setting.service))
    assert "cannot be read" in elsewhere.not_run_reason and "clone" in elsewhere.missing[0][0]
    foreign = msgspec.structs.replace(setting.service, repo="other")
    case = setting.case(sources=CaseSources(services={"shop": foreign}))
    proof = await prove(case, repositories={}, workshop=setting.workshop(FAILS))
    assert "no repository of shop" in proof.not_run_reason


async def test_a_language_without_a_harness_is_said(setting: Setting) -> None:
    go = msgspec.structs.replace(setting.service, language="go")
    proof = await setting.prove(FAILS, case=case_of(setting.history.good, setting.history.deployed, go))
    assert proof.not_run_reason == "there is no test harness for go yet"


async def test_nothing_is_run_where_the_sandbox_does_not_hold(setting: Setting, cache: Path) -> None:
    closed = Sandbox(SandboxSettings(cache=cache, enabled=False), {})
    proof = await setting.prove(FAILS, sandbox=closed)
    assert "switched off" in proof.not_run_reason and proof.at_deployed is None


async def test_a_bundles_test_runs_again(setting: Setting) -> None:
    test = Test(files=FAILS.files, command=FAILS.command, production=Production(signature=ERROR, frames=FRAMES))
    parts = {
        "repository": await setting.work.repository(),
        "service": setting.service,
        "workshop": setting.workshop(),
    }
    assert (await rerun(test, setting.history.deployed, **parts)).matches_production  # type: ignore[arg-type]
    assert (await rerun(test, setting.history.good, **parts)).outcome == "passed"  # type: ignore[arg-type]
    absent = await rerun(test, "f" * 40, **parts)  # type: ignore[arg-type]
    assert absent.outcome == "not_run" and "cannot be read" in absent.reason


async def test_it_does_not_run_again_where_the_sandbox_does_not_hold(setting: Setting, cache: Path) -> None:
    test = Test(files=FAILS.files, command=FAILS.command, production=Production(signature=ERROR))
    closed = setting.workshop(sandbox=Sandbox(SandboxSettings(cache=cache, enabled=False), {}))
    repository = await setting.work.repository()
    seen = await rerun(test, setting.history.good, repository=repository, service=setting.service, workshop=closed)
    assert seen.outcome == "not_run" and "switched off" in seen.reason


def apply(diff: str, commit: str, work: Work, folder: Path) -> Path:
    """The deployed commit with the patch applied by git itself."""
    subprocess.run(["git", "clone", "-q", str(work.path), str(folder)], check=True, capture_output=True)
    subprocess.run(["git", "checkout", "-q", commit], cwd=folder, check=True, capture_output=True)
    environment = {"PATH": os.defpath, "HOME": str(folder)}
    subprocess.run(
        ["git", "apply", "-"], cwd=folder, input=diff.encode(), check=True, capture_output=True, env=environment
    )
    return folder


def assert_keeps_no_places(proof: Proof) -> None:
    """Apart from what services.json itself declared."""
    kept = msgspec.structs.replace(proof, environment={**proof.environment, "declared": ""})
    text = msgspec.json.encode(kept).decode()
    for place in ("/tmp/", "/root", "/usr/", "/var/", "receipts-cache"):
        assert place not in text, text[max(0, text.find(place) - 80) : text.find(place) + 80]
