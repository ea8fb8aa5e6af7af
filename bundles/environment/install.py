"""Runs the installer: pip, for wheels only, into a folder.

A wheel is unpacked, never executed, so nothing that a repository declares runs outside the sandbox; a source
distribution would (its build script), hence `--only-binary=:all:`. What pip prints is read for its reason and never
shown: it may quote an index address with credentials.
"""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

TIMEOUT_S = 300.0
_OUTPUT = 256 * 1024

# pip is configured as on this machine (PIP_INDEX_URL and the like); nothing else of the environment reaches it.
_PASSED = re.compile(
    r"PIP_\w+|(https?|no|all)_proxy|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|HOME|PATH|LANG|TMPDIR", re.I
)

_UNREACHABLE = re.compile(
    r"Failed to establish a new connection|name resolution|timed out|Connection (refused|reset|aborted)"
    r"|ProxyError|SSLError"
)
_ABSENT = re.compile(r"No matching distribution found for ([^\n]{1,200})")
_CONFLICT = re.compile(r"ResolutionImpossible|conflicting dependencies")


async def install(lines: Sequence[str], constraints: Sequence[str], target: Path, environ: Mapping[str, str]) -> str:
    """Install requirement lines into `target`; returns "" or the reason for people. Raises: OSError."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, bounds = Path(folder, "requirements.txt"), Path(folder, "constraints.txt")
        wanted.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        bounds.write_text("".join(f"{line}\n" for line in constraints), encoding="utf-8")
        code, said = await _pip(["-r", str(wanted), "-c", str(bounds), "--target", str(target)], environ)
    return "" if code == 0 else _reason(code, said)


async def _pip(arguments: Sequence[str], environ: Mapping[str, str]) -> tuple[int | None, str]:
    """Exit code (None: it took too long) and what was printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pip", "install", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"),
        *("--no-warn-script-location", "--no-color", "--quiet", "--retries=2", *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={name: value for name, value in environ.items() if _PASSED.fullmatch(name)},
        start_new_session=True,
    )
    assert process.stdout is not None
    said = bytearray()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while chunk := await process.stdout.read(65536):
                said += chunk[: _OUTPUT - len(said)]
            return await process.wait(), said.decode("utf-8", "replace")
    except TimeoutError:
        return None, said.decode("utf-8", "replace")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.communicate())


def _reason(code: int | None, said: str) -> str:
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    if code is None:
        return f"the installer took longer than {TIMEOUT_S:g} s"
    if "No module named pip" in said:
        return "pip is not installed beside this program"
    if _UNREACHABLE.search(said):
        return "the package index cannot be reached"
    if absent := _ABSENT.search(said):
        name = re.sub(r"[^\w.\[\],<>=!~ -]", "", absent[1])[:80].strip()
        return f"{name} is not on the package index as a wheel for {python}"
    if _CONFLICT.search(said):
        return "the declared versions contradict each other"
    return f"the installer failed (exit code {code})"
