"""The folder of prepared things: interpreters, dependencies, work trees. All of it can be deleted at any time."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str], *, uid: int) -> Path:
    """`$RECEIPTS_CACHE`, else `/var/cache/receipts` for root, else `~/.cache/receipts` (XDG).

    A folder under root's home cannot be reached once the user is dropped, hence the difference.
    """
    if environ.get("RECEIPTS_CACHE"):
        return Path(environ["RECEIPTS_CACHE"]).absolute()
    if uid == 0:
        return Path("/var/cache/receipts")
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or tempfile.gettempdir(), ".cache")
    return Path(base).absolute() / "receipts"


def make_folder(path: Path) -> Path:
    """Make a folder that everyone may read, whatever the umask is."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        folder.chmod(0o755)
    return path


@contextlib.contextmanager
def appear_whole(wanted: Path) -> Iterator[Path]:
    """A folder to fill, which everyone can read and which appears under its name whole or not at all, also when several
    processes make it at once (the first wins). After an error nothing is left."""
    stage = Path(tempfile.mkdtemp(prefix=".new-", dir=make_folder(wanted.parent)))
    try:
        yield stage
        open_up(stage)
        with contextlib.suppress(OSError):  # someone was faster; theirs is as good
            stage.rename(wanted)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def open_up(tree: Path) -> None:
    """Let everyone read a tree that is ours; links are left alone."""
    for folder, _, names in os.walk(tree):
        _allow(folder, stat.S_IRUSR | stat.S_IXUSR | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        for name in names:
            _allow(os.path.join(folder, name), stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)


def _allow(path: str, bits: int) -> None:
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode) and mode & bits != bits:
        os.chmod(path, stat.S_IMODE(mode) | bits | (0o111 if mode & 0o100 else 0))


def reachable(path: Path, uid: int) -> bool:
    """Whether a user that owns nothing and is in no group can open this file or list this folder."""
    if uid == os.geteuid():
        return os.access(path, os.R_OK)
    try:
        real = path.resolve(strict=True)
        modes = [(p == real, p.stat()) for p in (real, *real.parents)]
    except OSError:
        return False
    for itself, status in modes:
        wanted = 0o1 if stat.S_ISDIR(status.st_mode) else 0o4
        if itself and stat.S_ISDIR(status.st_mode):
            wanted = 0o5
        if status.st_uid == uid:
            wanted <<= 6
        if status.st_mode & wanted != wanted:
            return False
    return True


def larger_than(tree: Path, limit: int) -> bool:
    """Whether the files of a tree take more than `limit` bytes; stops counting there."""
    total = 0
    for folder, _, names in os.walk(tree):
        for name in names:
            total += os.lstat(os.path.join(folder, name)).st_size + 512
            if total > limit:
                return True
    return False
