"""Does the sandbox hold on this machine? It is asked by trying to get out, not by looking at versions."""

import asyncio
import contextlib
import json
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from bundles.sandbox.limits import MIB, Limits, RunResult, SandboxStatus
from bundles.sandbox.run import Sandbox
from bundles.sandbox.tools import ToolMissing

_LIMITS = Limits(
    wall_s=20, cpu_s=5, memory=512 * MIB, address_space=1024 * MIB, processes=24, tree=8 * MIB, scratch=4 * MIB
)
_REMEDY = {
    "network": "the network can be reached",
    "host_files": "files of the host can be written",
    "user": "the user was not dropped",
    "privileges": "privileges are left",
    "namespaces": "new user namespaces can be made",
    "memory": "memory is not limited",
    "disk": "disk is not limited",
    "processes": "processes are not limited",
    "tree": "the tree is not private",
    "report": "reports do not come back",
}


async def probe(sandbox: Sandbox) -> SandboxStatus:
    """Runs the attempts of `templates/inside/attempt.py` and says whether every one failed. Does not raise: whatever is
    wrong is the reason. Takes about 0.1 s, once per sandbox; the answer is kept in `sandbox.status`."""
    if sandbox.status is None:
        sandbox.status = await _probe(sandbox)
    return sandbox.status


async def _probe(sandbox: Sandbox) -> SandboxStatus:
    if not sandbox.settings.enabled:
        return SandboxStatus(holds=False, reason="the sandbox is switched off (sandbox.enabled)")
    try:
        equipment = await sandbox.equipment()
        async with sandbox.workspace() as folder:
            result, came_back = await _try(sandbox, folder)
    except ToolMissing as error:
        return SandboxStatus(holds=False, reason=str(error))
    except OSError as error:
        subject = error.filename or sandbox.cache
        return SandboxStatus(
            holds=False, reason=f"{subject}: {error.strerror} (set RECEIPTS_CACHE to a folder that can be written)"
        )
    reason = _verdict(result, came_back)
    return SandboxStatus(
        holds=not reason,
        reason=reason,
        tool=equipment.programs.bwrap,
        version=equipment.programs.version,
        python=equipment.interpreter.executable,
    )


async def _try(sandbox: Sandbox, folder: Path) -> tuple[RunResult, bool]:
    """Returns the result and whether the tree is still as it was."""
    tree, secret = folder / "tree", folder / "secret"
    await asyncio.to_thread(_lay_out, tree, secret)
    # Someone listens on the host's loopback: "connection refused" is only an answer if there was someone to refuse.
    server = await asyncio.start_server(_hang_up, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        result = await sandbox.run(
            ["python", "/opt/attempt/attempt.py", str(port)],
            tree=tree,
            mounts={"/opt/attempt": secret},
            limits=_LIMITS,
        )
    return result, (tree / "file").read_text() == "as it was"


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def _lay_out(tree: Path, secret: Path) -> None:
    tree.mkdir()
    (tree / "file").write_text("as it was")
    (tree / "file").chmod(0o644)
    secret.mkdir()
    (secret / "attempt.py").write_text((files("templates") / "inside" / "attempt.py").read_text())
    (secret / "attempt.py").chmod(0o644)
    (secret / "mine").write_text("only the user who started the program may read this")
    (secret / "mine").chmod(0o600)
    tree.chmod(0o755)
    secret.chmod(0o755)


def _verdict(result: RunResult, tree_is_private: bool) -> str:
    """ "" when everything held."""
    try:
        held: Mapping[str, bool] = json.loads(result.files["attempt.json"])
    except (KeyError, ValueError):
        return _not_started(result)
    broken = [name for name in _REMEDY if name in held and not held[name]]
    missing = [name for name in _REMEDY if name not in held and name not in ("tree", "report")]
    if os.geteuid() != 0 and "user" in broken:
        broken.remove("user")  # there was no user to drop: what is ours can be read by us
    if not tree_is_private:
        broken.append("tree")
    problems = [_REMEDY[name] for name in [*broken, *missing]]
    return f"the sandbox does not hold: {', '.join(problems)}" if problems else ""


def _not_started(result: RunResult) -> str:
    """bwrap's own words are few and known; they are matched, not shown."""
    said = result.output
    if "namespace" in said or "ENOSPC" in said or "Operation not permitted" in said or "uid map" in said:
        return "user namespaces are not available here (kernel.unprivileged_userns_clone, AppArmor, seccomp)"
    if "setpriv" in said:
        return "the user cannot be dropped here (CAP_SETUID and CAP_SETPCAP are needed, or do not start as root)"
    if "No such file" in said or "Permission denied" in said:
        return f"the sandbox could not be set up (exit code {result.exit_code}; a file that it needs cannot be read)"
    return f"the sandbox does not start (exit code {result.exit_code}{', ' + result.limit if result.limit else ''})"
