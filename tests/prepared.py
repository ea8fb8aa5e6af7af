"""A prepared environment with pytest in it and nothing else, copied from the one that runs: no network is needed, and
no plug-in of ours is loaded in the runs."""

import shutil
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path


def world_readable_folder() -> Path:
    """Not below pytest's own folders, which are closed to the user that runs are dropped to."""
    folder = Path(tempfile.mkdtemp(prefix="receipts-cache-"))
    folder.chmod(0o755)
    return folder


def prepare_environment(folder: Path) -> Path:
    """The path to declare as a service's `environment`."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "prepared" / "lib" / python / "site-packages"
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for file in distribution(name).files or ():
            source = Path(str(file.locate()))
            if ".." not in file.parts and source.is_file():
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, site / file)
    return folder / "prepared"
