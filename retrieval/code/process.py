"""Runs the `git` program so that nothing in a foreign repository, nor in this machine's configuration, can steer it."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from retrieval.errors import Reason, RepositoryError

TIMEOUT_S = 60.0
OUTPUT_LIMIT = 64 * 1024 * 1024
_STDERR_LIMIT = 16 * 1024
_CHUNK = 1024 * 1024

# A repository's own .git/config is read by git and may name programs to run (hooks, fsmonitor, gpg, diff drivers) and
# change what is printed. Settings given with -c outrank it.
_SETTINGS = (
    "core.quotePath=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.commitGraph=false",
    "diff.orderFile=/dev/null",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "log.showRoot=true",
    "protocol.allow=never",
    "safe.directory=*",
)


class GitFailed(Exception):
    """git ended with a failure; the caller knows what that means. Never leaves `retrieval.code`."""

    def __init__(self, code: int, stderr: str) -> None:
        super().__init__(f"git exited with {code}: {stderr[:300]}")
        self.code = code
        self.stderr = stderr


def environment(path: Path) -> dict[str, str]:
    """What git sees: no configuration but the repository's own, no prompts, no lazy fetches, English messages.

    The ceiling keeps git from climbing out of `path` into a repository that happens to surround it.
    """
    return {
        "PATH": os.defpath,
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(path.resolve().parent),
        "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
    }


def command(path: Path, arguments: Sequence[str]) -> list[str]:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return ["git", "--no-pager", *settings, "-C", str(path), *arguments]


async def run_git(
    path: Path,
    arguments: Sequence[str],
    *,
    stdin: bytes = b"",
    limit: int = OUTPUT_LIMIT,
    timeout: float = TIMEOUT_S,
) -> bytes:
    """Standard output of one git command, at most `limit` bytes, within `timeout` seconds.

    Raises: GitFailed (exit status other than 0), RepositoryError TIMEOUT, TOO_LARGE, NOT_INSTALLED.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command(path, arguments),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(path),
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise RepositoryError(
            "the git program is not installed", reason=Reason.NOT_INSTALLED, subject="git", remedy="install git"
        ) from error
    try:
        async with asyncio.timeout(timeout):
            _, out, err = await asyncio.gather(_feed(process, stdin), _output(process, limit), _complaint(process))
            if out is None:
                raise RepositoryError(
                    f"git {arguments[0]} printed more than {limit} bytes",
                    reason=Reason.TOO_LARGE,
                    subject=path.name,
                    remedy="ask for less",
                )
            code = await process.wait()
    except TimeoutError as error:
        raise RepositoryError(
            f"git {arguments[0]} took longer than {timeout:g} s",
            reason=Reason.TIMEOUT,
            subject=path.name,
            remedy="check the disk, or repack the repository with git gc",
        ) from error
    finally:
        await _end(process)
    if code:
        raise GitFailed(code, err)
    return out


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _output(process: asyncio.subprocess.Process, limit: int) -> bytes | None:
    """Standard output, or None once it is more than `limit`; git is then killed, for it would wait to be read."""
    assert process.stdout is not None
    parts: list[bytes] = []
    size = 0
    while chunk := await process.stdout.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            _kill(process)
            return None
        parts.append(chunk)
    return b"".join(parts)


async def _complaint(process: asyncio.subprocess.Process) -> str:
    """The start of standard error; the rest is read and dropped."""
    assert process.stderr is not None
    kept = b""
    while chunk := await process.stderr.read(_CHUNK):
        kept += chunk[: _STDERR_LIMIT - len(kept)]
    return kept.decode("utf-8", "replace").strip()


def _kill(process: asyncio.subprocess.Process) -> None:
    """git and what it started: a transport's helper would keep the pipes open."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def _end(process: asyncio.subprocess.Process) -> None:
    _kill(process)
    # Drained and awaited even then: a transport that is left open warns when it is collected.
    await asyncio.shield(process.communicate())
