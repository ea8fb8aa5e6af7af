"""The command line of a run, as a pure function.

Order and every option were checked by hostile programs (`tests/bundles/sandbox/test_hostile.py`). Two things matter
most. The user is dropped *before* bwrap starts: a sandbox that root starts has host root inside, whatever its uid says
(bubblewrap issue 313). And `/proc/sys` is mounted read-only, for its files check the uid and not the capabilities.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bundles.sandbox.limits import MIB, Limits
from bundles.sandbox.tools import Interpreter, Programs

TREE, REPORT, SITE = "/repo", "/report", "/opt/site"
INSIDE_UID = "65534"
_ETC = ("ld.so.cache", "alternatives", "ssl/certs", "mime.types")

# Copies the tree into its bounded private folder, runs the program with both streams on stderr, and at last writes
# /report to stdout as an archive. 124 to 127 are the shell's own.
_LAUNCH = """\
cp -R --preserve=mode,timestamps,links /source/. /repo/ >&2 || exit 123
cd /repo && "$@" </dev/null >&2
code=$?
tar -C /report -cf - . 2>/dev/null
exit $code"""
_LAUNCH_OVERLAY = _LAUNCH.split("\n", 1)[1]
NO_SPACE = 123
_SPARE = 512  # for what the user starts while a run is going


class Plan(Struct, frozen=True, kw_only=True):
    """What one run needs to know; paths are the host's. `etc` is a folder with passwd, group and hosts."""

    argv: tuple[str, ...]
    tree: Path
    etc: Path
    mounts: dict[str, Path]
    environment: dict[str, str]
    overlay: bool = False


class Room(Struct, frozen=True, kw_only=True):
    """How many processes the user may have. `outside`: on the machine, with all that is the user's already (a person's
    desktop runs hundreds). `inside`: in the sandbox, which Linux counts by itself since 5.14."""

    outside: int
    inside: int


def room_for(limits: Limits, *, others: int, hard: int, release: str) -> Room:
    """`others` are the user's tasks now, `hard` the limit that cannot be raised (-1: none), `release` Linux's."""
    numbers = [int(part) for part in re.findall(r"\d+", release)[:2]]
    outside = others + limits.processes + _SPARE
    outside = outside if hard < 0 else min(outside, hard)
    return Room(outside=outside, inside=limits.processes if numbers >= [5, 14] else outside)


def command_line(
    plan: Plan, *, programs: Programs, interpreter: Interpreter, user: int, is_root: bool, limits: Limits, room: Room
) -> list[str]:
    """argv of the whole chain: setpriv, prlimit, bwrap, sh, prlimit, the program."""
    return [
        *_privileges(programs, user, is_root),
        *_rlimits(programs, limits, room),
        programs.bwrap,
        *_isolation(),
        *_system(plan),
        *_python(plan, interpreter),
        *_mounts(plan, interpreter),
        *_folders(plan, limits),
        *_variables(plan.environment),
        *("--remount-ro", "/"),
        *("/bin/sh", "-c", _LAUNCH_OVERLAY if plan.overlay else _LAUNCH, "run"),
        *(programs.prlimit, f"--nproc={room.inside}", *plan.argv),
    ]


def _privileges(programs: Programs, user: int, is_root: bool) -> list[str]:
    if not is_root:
        return [programs.setpriv, "--no-new-privs"]
    return [
        programs.setpriv,
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--no-new-privs",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ]


def _rlimits(programs: Programs, limits: Limits, room: Room) -> list[str]:
    return [
        programs.prlimit,
        f"--cpu={limits.cpu_s}:{limits.cpu_s + 2}",
        f"--as={limits.address_space}",
        f"--fsize={limits.file_size}",
        f"--nofile={limits.open_files}",
        f"--nproc={room.outside}",
        "--core=0",
    ]


def _isolation() -> list[str]:
    return [
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"),
        *("--cap-drop", "ALL", "--uid", INSIDE_UID, "--gid", INSIDE_UID, "--hostname", "sandbox"),
    ]


def _system(plan: Plan) -> list[str]:
    """/usr as it is, the old names beside it as this machine has them, and next to nothing of /etc."""
    argv = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            argv += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            argv += ["--ro-bind", str(path), str(path)]
    for name in _ETC:
        argv += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in ("passwd", "group", "hosts"):
        argv += ["--ro-bind", str(plan.etc / name), f"/etc/{name}"]
    return [*argv, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]


def _python(plan: Plan, interpreter: Interpreter) -> list[str]:
    argv: list[str] = []
    for inside, host in sorted(interpreter.mounts.items()):
        argv += ["--ro-bind", host, inside]
    for name in ("python", "python3", f"python{interpreter.version}"):
        argv += ["--symlink", interpreter.executable, f"/opt/bin/{name}"]
    emptied = (
        interpreter.masked if interpreter.site and SITE in plan.mounts else (interpreter.site, *interpreter.masked)
    )
    for folder in emptied:
        if folder:
            argv += ["--tmpfs", folder, "--remount-ro", folder]
    return argv


def _mounts(plan: Plan, interpreter: Interpreter) -> list[str]:
    argv: list[str] = []
    for inside, host in sorted(plan.mounts.items()):
        at = interpreter.site if inside == SITE and interpreter.site else inside
        argv += ["--ro-bind", str(host), at]
    return argv


def _folders(plan: Plan, limits: Limits) -> list[str]:
    """The places that can be written: all in memory, all bounded. A large tree is laid under an overlay instead of
    copied; what is written over it is then bounded by `memory` of the machine only."""
    tree = ["--overlay-src", str(plan.tree), "--tmp-overlay", TREE]
    if not plan.overlay:
        tree = ["--ro-bind", str(plan.tree), "/source", "--size", str(limits.tree), "--tmpfs", TREE]
    return [
        *("--size", str(16 * MIB), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *("--size", str(limits.scratch), "--tmpfs", "/tmp"),
        *("--size", str(limits.report), "--tmpfs", REPORT),
        *tree,
        *("--chdir", "/"),
    ]


def _variables(environment: Mapping[str, str]) -> list[str]:
    return [part for name, value in sorted(environment.items()) for part in ("--setenv", name, value)]


def variables(interpreter: Interpreter, extra: Mapping[str, str], python_path: Sequence[str]) -> dict[str, str]:
    """The whole environment of the program: fixed values, so that no run depends on this machine. `extra` may not
    change what holds the sandbox's interpreter together."""
    reserved = {
        "PATH": "/opt/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": ":".join(python_path),
        "PYTHONNOUSERSITE": "1",
    }
    if interpreter.library_path:
        reserved["LD_LIBRARY_PATH"] = interpreter.library_path
    defaults = {"LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "CI": "1"}
    return {**defaults, **{k: v for k, v in extra.items() if not k.startswith("LD_")}, **reserved}
