"""Runs tests of one repository at its commits: trees, environments, the sandbox, and a budget over all of it."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import Path, PurePosixPath

from msgspec import Struct

from bundles.environment import Environment, Environments
from bundles.judge import Production, Report, answers_of, crash_line, judge, read_report
from bundles.sandbox import SITE, Limits, RunResult, Sandbox, open_up
from bundles.tidy import tidy
from retrieval.errors import RepositoryError
from retrieval.model import Attempt, ServiceInfo
from retrieval.ports import Redactor, Repository

PLUGIN, PLUGINS = "receipts_report", "/opt/receipts"
OWN_TESTS = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")

Changes = Mapping[str, str | None]
"""Path in a checkout -> its text, None: it is removed."""


class Budget:
    """How much may be run for one proof: `runs` test runs and `seconds` of running, whichever ends first."""

    def __init__(self, runs: int = 40, seconds: float = 120.0) -> None:
        self.runs = runs
        self.seconds = seconds

    @property
    def left(self) -> bool:
        return self.runs > 0 and self.seconds > 0

    def spend(self, seconds: float) -> None:
        self.seconds -= seconds


class Test(Struct, frozen=True, kw_only=True):
    """A generated test: overlay, command, and how production failed."""

    __test__ = False

    files: dict[str, str]
    command: tuple[str, ...]
    production: Production


class OwnTests(Struct, frozen=True, kw_only=True):
    """The repository's own tests at one state. `outcome` is passed|failed|error|timeout|not_run."""

    outcome: str
    passed: int = 0
    failures: tuple[str, ...] = ()
    reason: str = ""


class Observation(Struct, frozen=True, kw_only=True):
    """One run: the attempt; where a matching failure was raised (path and line of the application); what the calls of a
    passing test gave back."""

    attempt: Attempt
    crash_at: tuple[str, int] | None = None
    answers: tuple[tuple[str, str], ...] | None = None


class Runs:
    """Every run of one service's code. At most `parallel` at once; a tree is checked out once per commit."""

    def __init__(
        self,
        repository: Repository,
        service: ServiceInfo,
        *,
        sandbox: Sandbox,
        environments: Environments,
        folder: Path,
        budget: Budget,
        redactor: Redactor | None = None,
        parallel: int = 2,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.repository = repository
        self.service = service
        self._sandbox = sandbox
        self._environments = environments
        self._folder = folder
        self._budget = budget
        self._redactor = redactor
        self._now = now
        self._slots = asyncio.Semaphore(parallel)
        self._trees: dict[str, asyncio.Task[Path]] = {}
        self._laid = 0
        self._plugin: asyncio.Task[Path] | None = None

    @property
    def affordable(self) -> bool:
        """Whether the incident's budget allows another run."""
        return self._budget.left

    async def tree(self, commit: str) -> Path:
        """A clean checkout, shared: it must not be written. Raises: RepositoryError, OSError."""
        if commit not in self._trees:
            self._trees[commit] = asyncio.create_task(self._checkout(commit))
        return await asyncio.shield(self._trees[commit])

    async def _checkout(self, commit: str) -> Path:
        path = self._folder / f"commit-{commit}"
        await self.repository.checkout(commit, path)
        await asyncio.to_thread(open_up, path)
        return path

    async def environment(self, commit: str, changes: Changes | None = None) -> Environment:
        overrides = {path: text for path, text in (changes or {}).items() if text is not None}
        return await self._environments.prepare(self.repository, commit, self.service, overrides)

    async def attempt(self, test: Test, commit: str) -> Attempt:
        """Run the generated test at a commit. Does not raise."""
        return (await self.observe(test, commit)).attempt

    async def observe(
        self, test: Test, commit: str, changes: Changes | None = None, *, answers: bool = False
    ) -> "Observation":
        """Run it, with a patch's changes where given, and look closer. Does not raise."""
        wanted = {"RECEIPTS_ANSWERS": "1"} if answers else {}
        result = await self._run(test.command, commit, {**(changes or {}), **test.files}, environment=wanted)
        if isinstance(result, str):
            return Observation(attempt=Attempt(commit=commit, outcome="not_run", reason=result))
        attempt = judge(
            result,
            commit=commit,
            production=test.production,
            overlay=test.files,
            log=await self._log(result),
        )
        crash_at = crash_line(result, test.production, test.files)
        return Observation(attempt=attempt, crash_at=crash_at, answers=answers_of(result) if answers else None)

    async def own_tests(self, commit: str, changes: Changes | None = None) -> OwnTests:
        """Run the repository's own tests. Does not raise."""
        result = await self._run(self.own_command, commit, changes or {}, limits=Limits(wall_s=90, cpu_s=90))
        if isinstance(result, str):
            return OwnTests(outcome="not_run", reason=result)
        return summarise(result)

    @property
    def own_command(self) -> tuple[str, ...]:
        prefix = self.service.path_prefix.strip("/")
        return (*OWN_TESTS, prefix) if prefix else OWN_TESTS

    async def _run(
        self,
        command: Sequence[str],
        commit: str,
        changes: Changes,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> RunResult | str:
        """The result, or why nothing was run."""
        async with self._slots:
            if not self._budget.left:
                return "the budget of runs for this incident is used up"
            self._budget.runs -= 1
            try:
                prepared = await self.environment(commit, changes)
                if prepared.site is None:
                    return f"its dependencies could not be prepared: {prepared.reason}"
                tree = await self.tree(commit)
                if changes:
                    self._laid += 1
                    tree = await asyncio.to_thread(lay_over, tree, changes, self._folder / f"laid-{self._laid}")
                result = await self._execute(command, tree, prepared.site, environment or {}, limits)
                if changes:
                    await asyncio.to_thread(shutil.rmtree, tree, True)
            except RepositoryError as error:
                return f"the commit cannot be checked out ({error.reason.value})"
            except OSError as error:
                return f"no work tree could be made ({error.strerror})"
            self._budget.spend(result.seconds)
            return result

    async def _execute(
        self, command: Sequence[str], tree: Path, site: Path, environment: Mapping[str, str], limits: Limits | None
    ) -> RunResult:
        if self._plugin is None:
            self._plugin = asyncio.create_task(asyncio.to_thread(_lay_out_plugin, self._folder / "plugin"))
        return await self._sandbox.run(
            command,
            tree=tree,
            mounts={SITE: site, PLUGINS: await asyncio.shield(self._plugin)},
            environment={"PYTEST_PLUGINS": PLUGIN, **environment},
            limits=limits,
            python_path=[PLUGINS],
        )

    async def _log(self, result: RunResult) -> str:
        interpreter = (await self._sandbox.equipment()).interpreter
        places = [
            (interpreter.site or SITE, "<site-packages>"),
            (f"{interpreter.prefix}/lib/python{interpreter.version}", "<python>"),
            (interpreter.executable, "python"),
        ]
        text = tidy(result.output, places, now_s=self._now())
        return self._redactor.text(text) if self._redactor else text


def _lay_out_plugin(folder: Path) -> Path:
    folder.mkdir()
    folder.chmod(0o755)
    text = (package_files("templates") / "inside" / f"{PLUGIN}.py").read_text("utf-8")
    (folder / f"{PLUGIN}.py").write_text(text, "utf-8")
    (folder / f"{PLUGIN}.py").chmod(0o644)
    return folder


def summarise(result: RunResult) -> OwnTests:
    """A suite's run in figures. Files that cannot be loaded count as failures by their name, so that a suite that was
    broken before can be compared with itself."""
    if result.limit:
        outcome = "timeout" if result.timed_out or result.limit == "cpu" else "error"
        return OwnTests(outcome=outcome, reason=f"stopped by its {result.limit} limit")
    report: Report | None = read_report(result.files)
    if report is None:
        return OwnTests(outcome="error", reason=f"the test runner ended early (exit code {result.exit_code})")
    failures = {test.id for test in report.tests if test.outcome in ("failed", "error")}
    failures |= {name for name, _ in report.broken}
    passed = sum(1 for test in report.tests if test.outcome == "passed")
    if not failures and not passed:
        return OwnTests(outcome="not_run", reason="the repository has no tests that run here")
    return OwnTests(outcome="failed" if failures else "passed", passed=passed, failures=tuple(sorted(failures)))


def lay_over(base: Path, changes: Changes, destination: Path) -> Path:
    """A copy of `base` (hard links, so that it costs next to nothing) with files written over it or removed. A path
    that would leave the tree, also through a link in it, or that needs a file to be a folder, is ignored."""
    shutil.copytree(base, destination, symlinks=True, copy_function=_link)
    destination.chmod(0o755)
    for path, text in sorted(changes.items()):
        pure = PurePosixPath(path)
        target = destination / pure
        if pure.is_absolute() or ".." in pure.parts or not _stays(destination, target):
            continue
        if target.is_symlink() or target.is_file():
            target.unlink()  # never through a hard link: the other end is the shared tree
        if text is not None:
            for folder in [p for p in reversed(target.parents) if destination in p.parents and not p.exists()]:
                folder.mkdir()
                folder.chmod(0o755)
            target.write_text(text, "utf-8", "surrogateescape", newline="")
            target.chmod(0o644)
    return destination


def _link(source: str, destination: str) -> None:
    try:
        os.link(source, destination)
    except OSError:  # a file system without hard links
        shutil.copy2(source, destination)


def _stays(root: Path, target: Path) -> bool:
    """Whether what holds the target is a folder of the tree, or will be made one, and the target is none itself."""
    real, top = os.path.realpath(target.parent), os.path.realpath(root)
    inside = real == top or real.startswith(top + os.sep)
    standing = next(folder for folder in target.parents if os.path.lexists(folder))
    return inside and standing.is_dir() and (target.is_symlink() or not target.is_dir())
