"""From a path as a runtime printed it to a path in a repository."""

import re
from collections.abc import Collection
from functools import lru_cache

# Folders that images and hosts unpack a program into; `*` is one folder of any name. A convention, not a standard:
# Docker samples use /app, /code and /usr/src/app, FHS 3.0 gives /srv and /opt one folder per service, AWS Lambda uses
# /var/task, GitHub Actions /github/workspace, GitLab CI /builds/GROUP/PROJECT.
_ROOTS = (
    "app",
    "code",
    "workspace",
    "repo",
    "src",
    "application",
    "function",
    "usr/src/app",
    "usr/src/*",
    "usr/app",
    "var/task",
    "var/www/*",
    "github/workspace",
    "builds/*/*",
    "srv/*",
    "opt/*",
    "tmp/*",
    "root/*",
    "home/*/*",
    "Users/*/*",
)
_ROOT_PARTS = tuple(sorted((tuple(r.split("/")) for r in _ROOTS), key=lambda r: (-len(r), r)))
# What ends a library's or a source set's prefix, wherever it stands in the path.
_MARKERS = re.compile(
    r"^.*/(?:site-packages|dist-packages|python\d(?:\.\d+)?|src/(?:main|test)/(?:java|kotlin|scala|groovy))/"
)
_EGG = re.compile(r"^[^/]+\.egg/")
_STABLE_PARTS = 2


def stable_path(printed: str) -> str:
    """The last two components of a printed path under its deploy root: the same for `/app/x/y.py`, `/srv/shop/x/y.py`
    and `x/y.py`. Two, because what lies above them differs between a checkout, an image and an installed package."""
    return "/".join(_relative(printed).split("/")[-_STABLE_PARTS:])


def module_path(module: str, file: str) -> str:
    """`C.java` of class `a.b.C$D` -> `a/b/C.java`; a file that was printed with its folder is returned as it is."""
    if not file or "/" in file or "\\" in file or "." not in module or not file.endswith(_CLASS_FILES):
        return file
    return "/".join([*module.split(".")[:-1], file])


_CLASS_FILES = (".java", ".kt", ".scala", ".groovy")


def repo_path(printed: str, files: Collection[str]) -> str | None:
    """The repository file that a printed path means, by longest common ending; None where none or several fit.

    A file fits if all of its path ends the printed one (`/app/x/y.py` -> `x/y.py`), if all of the printed path, less a
    known deploy root, ends the file's (`y.py`, `/srv/shop/y.py` -> `src/y.py`), or if two components and more agree.
    A whole file path that fits beats every partial one.
    """
    raw = _slashes(printed)
    if not raw:
        return None
    wanted, relative = raw.strip("/").split("/"), _relative(printed).split("/")
    found: dict[tuple[int, int], list[str]] = {}
    for file in files:
        if not file.endswith(wanted[-1]):
            continue
        parts = file.split("/")
        common = _common_ending(wanted, parts)
        if common == len(parts):
            rank = (2, common)
        elif common and _common_ending(relative, parts) == len(relative):
            rank = (1, common)
        elif common >= 2:
            rank = (0, common)
        else:
            continue
        found.setdefault(rank, []).append(file)
    if not found:
        return None
    best = found[max(found)]
    return best[0] if len(best) == 1 else None


def _common_ending(a: list[str], b: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(a), reversed(b), strict=False):
        if left != right:
            break
        count += 1
    return count


@lru_cache(maxsize=4_096)
def _relative(printed: str) -> str:
    path = _slashes(printed)
    cut = _MARKERS.sub("", path)
    if cut != path:
        return _EGG.sub("", cut)
    if path.startswith("/"):
        parts = path.strip("/").split("/")
        for root in _ROOT_PARTS:
            if len(parts) > len(root) and all(r in ("*", p) for r, p in zip(root, parts, strict=False)):
                parts = parts[len(root) :]
                break
        path = "/".join(parts)
    return path.removeprefix("src/") if path.count("/") > 1 else path


def _slashes(printed: str) -> str:
    path = printed.strip().replace("\\", "/").removeprefix("file://")
    path = re.sub(r"^[A-Za-z]:(?=/)", "", path)
    while path.startswith("./"):
        path = path[2:]
    return re.sub(r"/{2,}", "/", path)
