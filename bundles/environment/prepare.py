"""Dependencies of a service at one commit, prepared once per content."""

import asyncio
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bundles.environment.discover import Declared, discover
from bundles.environment.install import install
from bundles.sandbox import cache_folder
from bundles.sandbox.cache import appear_whole
from retrieval.errors import Reason, RepositoryError
from retrieval.model import ServiceInfo
from retrieval.ports import Repository

# With nothing declared: the newest pytest whose plugins and helpers still are what suites of the last years use.
_PYTEST = "pytest>=7,<9"
_LAYOUT = "1"  # part of the digest: raise it when what is put into a folder changes


class Environment(Struct, frozen=True, kw_only=True):
    """`site` is a folder of importable packages, to be mounted at `/opt/site`; None when it could not be prepared, and
    `reason` says why, for people. `reason` beside a `site` says what was left out. `digest` identifies the content:
    requirement lines, Python version, platform. `declared` names the files it was read from."""

    site: Path | None
    python: str
    digest: str = ""
    reason: str = ""
    declared: str = ""


class Environments:
    """Prepares environments in the cache. The same declarations give the same folder, whoever asks and however often;
    askers at once wait for one installation. A failure is remembered for as long as this object lives."""

    def __init__(self, environ: Mapping[str, str], cache: Path | None = None) -> None:
        self._environ = environ
        self._cache = (cache or cache_folder(environ, uid=os.geteuid())) / "environments"
        self._locks: dict[str, asyncio.Lock] = {}
        self._failed: dict[str, str] = {}

    async def prepare(
        self,
        repository: Repository,
        commit: str,
        service: ServiceInfo,
        overrides: Mapping[str, str] | None = None,
    ) -> Environment:
        """The environment of a commit. `overrides` are files that a patch changes (path -> text).

        Does not raise for what is declared: an unknown package, a package without wheels, no network become reasons.
        Raises: RepositoryError (the commit cannot be read).
        """
        if service.environment.startswith("/"):
            return _prepared(Path(service.environment))

        async def read(path: str) -> str | None:
            if overrides and path in overrides:
                return overrides[path]
            try:
                return (await repository.read(commit, path)).decode("utf-8", "replace")
            except RepositoryError as error:
                if error.reason in (Reason.NOT_FOUND, Reason.TOO_LARGE):
                    return None
                raise

        declared = await discover(read, declared=service.environment, prefix=service.path_prefix)
        return await self._install(declared)

    async def _install(self, declared: Declared) -> Environment:
        full = [*declared.lines, *declared.dev_lines]
        environment = await self._folder(full, declared)
        if environment.site is None and declared.dev_lines:
            less = await self._folder(list(declared.lines), declared)
            if less.site is not None:
                note = f"without what only its tests need ({environment.reason})"
                return _with_notes(less, declared, note)
        return _with_notes(environment, declared, "")

    async def _folder(self, lines: Sequence[str], declared: Declared) -> Environment:
        wanted = sorted({*lines, *([] if any(_is_pytest(line) for line in lines) else [_PYTEST])})
        digest = _digest(wanted, declared.constraints)
        folder = self._cache / digest[:32]
        async with self._locks.setdefault(digest, asyncio.Lock()):
            reason = self._failed.get(digest, "")
            if not reason and not folder.exists():
                reason = await self._make(folder, wanted, declared.constraints)
                if reason:
                    self._failed[digest] = reason
        return Environment(
            site=None if reason else folder / "site",
            python=_python(),
            digest=digest,
            reason=reason,
            declared=", ".join(declared.files),
        )

    async def _make(self, folder: Path, lines: Sequence[str], constraints: Sequence[str]) -> str:
        try:
            with appear_whole(folder) as stage:
                reason = await install(lines, constraints, stage / "site", self._environ)
                if reason:
                    raise _NotInstalled(reason)
                (stage / "requirements.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        except _NotInstalled as failure:
            return str(failure)
        except OSError as error:
            return f"{error.filename or folder.parent}: {error.strerror} (set RECEIPTS_CACHE)"
        return ""


class _NotInstalled(Exception):
    """Ends the making of a folder; never leaves this file."""


def _is_pytest(line: str) -> bool:
    return line.lower().replace("[", " ").replace("=", " ").replace("<", " ").replace(">", " ").split()[0] == "pytest"


def _with_notes(environment: Environment, declared: Declared, note: str) -> Environment:
    left_out = f"not followed: {', '.join(declared.left_out)}" if declared.left_out else ""
    reasons = [part for part in (environment.reason, note, declared.problem, left_out) if part]
    return Environment(
        site=environment.site,
        python=environment.python,
        digest=environment.digest,
        reason="; ".join(reasons),
        declared=environment.declared,
    )


def _prepared(path: Path) -> Environment:
    """A virtual environment that someone else made."""
    python = _python()
    site = path / "lib" / f"python{python}" / "site-packages"
    if not site.is_dir():
        return Environment(site=None, python=python, reason=f"{path} holds no environment for Python {python}")
    if not (site / "pytest").is_dir():
        return Environment(site=None, python=python, reason=f"{path} has no pytest")
    names = sorted(entry.name for entry in site.iterdir() if entry.name.endswith(".dist-info"))
    return Environment(site=site, python=python, digest=_digest(names, ()), declared=path.name)


def _digest(lines: Sequence[str], constraints: Sequence[str]) -> str:
    parts = [_LAYOUT, _python(), sys.platform, os.uname().machine, *lines, "--", *sorted(constraints)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
