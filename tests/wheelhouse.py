"""Wheels made from what is installed, so that an installer can be run for real where no package index is reached.

A wheel gets the version that is asked for: the tests that install do not care which release of a package they run on,
and a new lock file must not break a repository whose history is fixed.
"""

import re
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path


def fill(folder: Path, pins: Iterable[str]) -> list[str]:
    """A wheel for each `name==version` and for whatever those need; returns the names of what is not installed."""
    wanted = {_normal(name): version for name, _, version in (pin.partition("==") for pin in pins)}
    missing, made, waiting = [], set[str](), list(wanted)
    while waiting:
        name = waiting.pop()
        if name in made:
            continue
        made.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            missing.append(name)
            continue
        _wheel(folder, found, wanted.get(name, found.version))
        waiting += [
            _normal(re.split(r"[^\w.-]", r, maxsplit=1)[0]) for r in found.requires or () if "extra ==" not in r
        ]
    return sorted(set(missing) & wanted.keys())


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _wheel(folder: Path, found: Distribution, version: str) -> None:
    name = found.metadata["Name"]
    stem = f"{re.sub(r'[-.]+', '_', name)}-{version}"
    tag = next((t for t in re.findall(r"^Tag: (\S+)$", found.read_text("WHEEL") or "", re.M)), "py3-none-any")
    record = []
    with zipfile.ZipFile(folder / f"{stem}-{tag}.whl", "w") as wheel:
        for file in found.files or ():
            source = Path(str(file.locate()))
            if ".." in file.parts or not source.is_file() or file.suffix == ".pyc":
                continue
            inside = re.sub(r"^[^/]+\.dist-info(?=/)", f"{stem}.dist-info", file.as_posix())
            if inside.endswith(("/RECORD", "/INSTALLER", "/REQUESTED", "/direct_url.json")):
                continue
            content = source.read_bytes()
            if inside == f"{stem}.dist-info/METADATA":
                content = re.sub(rb"(?m)^Version: .*$", b"Version: " + version.encode(), content, count=1)
            wheel.writestr(inside, content)
            record.append(f"{inside},,")
        wheel.writestr(f"{stem}.dist-info/RECORD", "\n".join([*record, f"{stem}.dist-info/RECORD,,", ""]))


def environment(folder: Path, cache: Path) -> dict[str, str]:
    """What tells the installer to look nowhere else, and where prepared things are kept."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "PIP_CONFIG_FILE": "/dev/null",
        "RECEIPTS_CACHE": str(cache),
    }
