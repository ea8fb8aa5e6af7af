"""Runs one program in the sandbox."""

import asyncio
import contextlib
import io
import os
import resource
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bundles.sandbox.cache import cache_folder, larger_than, make_folder, open_up, reachable
from bundles.sandbox.command import NO_SPACE, SITE, Plan, Room, command_line, room_for, variables
from bundles.sandbox.limits import MIB, Limits, RunResult, SandboxSettings, SandboxStatus
from bundles.sandbox.tools import Interpreter, Programs, ToolMissing, find_interpreter, find_programs, unprivileged_user
from bundles.sandbox.watch import descendants, resident_memory, tasks_of

_COPY_BELOW = 64 * MIB  # trees above are laid under an overlay, where bwrap has one
_LOOK_S = 0.05
_FILE_LIMIT = 1 * MIB
_FILES = 64
_PASSWD = "sandbox:x:65534:65534:sandbox:/tmp:/bin/sh\n"
_ETC = {"passwd": _PASSWD, "group": "sandbox:x:65534:\n", "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n"}


class Equipment(Struct, frozen=True, kw_only=True):
    programs: Programs
    interpreter: Interpreter
    user: int
    is_root: bool
    etc: Path


class Sandbox:
    """Runs programs over a tree that they see as `/repo` and cannot change: each run has a private writable layer that
    is thrown away. Nothing of the host can be written, nothing but /usr, the interpreter and `mounts` be read, and no
    network be reached but its own loopback. Any number of runs may be going at once."""

    def __init__(self, settings: SandboxSettings, environ: Mapping[str, str]) -> None:
        self.settings = settings
        self.cache = settings.cache or cache_folder(environ, uid=os.geteuid())
        self._equipment: Equipment | None = None
        self._lock = asyncio.Lock()
        self.status: SandboxStatus | None = None  # what `probe` saw, once

    async def equipment(self) -> Equipment:
        """What runs are made with, found once. Raises: ToolMissing."""
        async with self._lock:
            if self._equipment is None:
                self._equipment = await asyncio.to_thread(self._find)
            return self._equipment

    def _find(self) -> Equipment:
        uid = os.geteuid()
        mapped = Path("/proc/self/uid_map").read_text()
        user = unprivileged_user(self.settings.user, uid=uid, mapped=mapped, salt=os.getpid())
        etc = make_folder(self.cache / "etc")
        for name, content in _ETC.items():
            if not (etc / name).exists() or (etc / name).read_text() != content:
                _write_whole(etc / name, content)
        if not reachable(etc, user):
            raise ToolMissing(
                f"{self.cache} cannot be read by the user that tests run as (set RECEIPTS_CACHE elsewhere)"
            )
        return Equipment(
            programs=find_programs(self.cache, user),
            interpreter=find_interpreter(self.cache, user),
            user=user,
            is_root=uid == 0,
            etc=etc,
        )

    @contextlib.asynccontextmanager
    async def workspace(self) -> AsyncIterator[Path]:
        """An empty folder that runs can read, removed afterwards. Raises: ToolMissing, OSError (no space)."""
        await self.equipment()
        folder = await asyncio.to_thread(self._make_workspace)
        try:
            yield folder
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, True)

    def _make_workspace(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=make_folder(self.cache / "work")))
        folder.chmod(0o755)
        return folder

    async def run(
        self,
        argv: Sequence[str],
        *,
        tree: Path,
        mounts: Mapping[str, Path] | None = None,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        python_path: Sequence[str] = (),
    ) -> RunResult:
        """Run `argv` in `/repo`, a private copy of `tree`.

        `mounts` are read-only (inside -> host); what is mounted at `/opt/site` takes the place of the interpreter's
        site-packages. `environment` is added to fixed variables. A tree that the dropped user cannot reach is copied
        to where it can. Whatever the program does ends in a result; the whole group is dead when this returns.

        Raises: ToolMissing, OSError (no space for a copy).
        """
        limits = limits or Limits()
        equipment = await self.equipment()
        async with contextlib.AsyncExitStack() as stack:
            if not await asyncio.to_thread(reachable, tree, equipment.user):
                copy = await stack.enter_async_context(self.workspace()) / "tree"
                await asyncio.to_thread(_copy_tree, tree, copy)
                tree = copy
            inside = {SITE: SITE} if mounts and SITE in mounts and not equipment.interpreter.site else {}
            plan = Plan(
                argv=tuple(argv),
                tree=tree,
                etc=equipment.etc,
                mounts=dict(mounts or {}),
                environment=variables(equipment.interpreter, environment or {}, [*python_path, *inside]),
                overlay=equipment.programs.has_overlay and await asyncio.to_thread(larger_than, tree, _COPY_BELOW),
            )
            command = command_line(
                plan,
                programs=equipment.programs,
                interpreter=equipment.interpreter,
                user=equipment.user,
                is_root=equipment.is_root,
                limits=limits,
                room=await asyncio.to_thread(_room, equipment.user, limits),
            )
            return await _execute(command, limits)


def _room(user: int, limits: Limits) -> Room:
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    return room_for(limits, others=tasks_of(user), hard=hard, release=os.uname().release)


def _copy_tree(tree: Path, copy: Path) -> None:
    shutil.copytree(tree, copy, symlinks=True)
    open_up(copy)


def _write_whole(path: Path, content: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
    os.chmod(name, 0o644)
    os.replace(name, path)


async def _execute(command: Sequence[str], limits: Limits) -> RunResult:
    """Raises: OSError when the first program of the chain cannot be started."""
    started = time.monotonic()
    process = await _start(command)
    assert process.stdout is not None and process.stderr is not None
    archive = asyncio.create_task(_head(process.stdout, limits.report + MIB))
    output = asyncio.create_task(_ends(process.stderr, limits.output))
    try:
        limit = await _watch(process, limits)
    finally:
        _kill(process.pid)
        # Awaited even when we are cancelled: a pipe that is left open warns when it is collected.
        _, files, printed = await asyncio.shield(asyncio.gather(process.wait(), archive, output))
    code = process.returncode if process.returncode is not None else -1
    code = 128 - code if code < 0 else code
    return RunResult(
        exit_code=code,
        output=printed,
        timed_out=limit == "wall",
        limit=limit or _limit_of(code),
        seconds=time.monotonic() - started,
        files=await asyncio.to_thread(_unpack, files),
    )


async def _start(command: Sequence[str]) -> asyncio.subprocess.Process:
    """Started, and ended again when we are cancelled meanwhile: asyncio would forget it and leave it running."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        _kill(process.pid)
        await process.communicate()
        raise


async def _watch(process: asyncio.subprocess.Process, limits: Limits) -> str:
    """Wait for the end; returns the limit that was passed, or ""."""
    loop = asyncio.get_running_loop()
    end = loop.time() + limits.wall_s
    ended = asyncio.ensure_future(process.wait())
    try:
        while True:
            left = end - loop.time()
            done, _ = await asyncio.wait({ended}, timeout=max(0.0, min(_LOOK_S, left)))
            if done:
                return ""
            if left <= 0:
                return "wall"
            if await asyncio.to_thread(resident_memory, process.pid) > limits.memory:
                return "memory"
    finally:
        ended.cancel()


def _limit_of(code: int) -> str:
    return {128 + signal.SIGXCPU: "cpu", NO_SPACE: "tree"}.get(code, "")


def _kill(group: int) -> None:
    """bwrap dies with its parent, and all inside with it: they are a process namespace of their own. But a bwrap that
    was only just started has not asked for that yet, so what it started is stopped, found and ended too."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGSTOP)
    started = [pid for pid in descendants(group) if pid != group]
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    for pid in started:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


async def _head(stream: asyncio.StreamReader, limit: int) -> bytes:
    """The start of a stream; the rest is read and dropped, so that the writer never blocks."""
    kept = bytearray()
    while chunk := await stream.read(65536):
        kept += chunk[: limit - len(kept)]
    return bytes(kept)


async def _ends(stream: asyncio.StreamReader, limit: int) -> str:
    """The first and the last half of what is allowed."""
    half = limit // 2
    head, tail, dropped = bytearray(), bytearray(), 0
    while chunk := await stream.read(65536):
        room = half - len(head)
        head += chunk[:room] if room > 0 else b""
        tail += chunk[max(room, 0) :]
        if len(tail) > half:
            dropped += len(tail) - half
            del tail[:-half]
    gap = f"\n[... {dropped} bytes left out ...]\n".encode() if dropped else b""
    return (bytes(head) + gap + bytes(tail)).decode("utf-8", "replace")


def _unpack(archive: bytes) -> dict[str, bytes]:
    """The small regular files at the top of an archive. It was written by foreign code: anything else is left out."""
    files: dict[str, bytes] = {}
    with (
        contextlib.suppress(tarfile.TarError, EOFError, OSError, ValueError),
        tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as members,
    ):
        for member in members:
            name = member.name.removeprefix("./")
            if member.isreg() and "/" not in name and member.size <= _FILE_LIMIT and len(files) < _FILES:
                source = members.extractfile(member)
                files[name] = source.read(_FILE_LIMIT) if source else b""
    return files
