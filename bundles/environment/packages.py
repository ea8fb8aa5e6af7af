"""What is installed in a prepared environment, as a lock file lists it."""

from importlib.metadata import distributions
from pathlib import Path


def installed(site: Path) -> tuple[str, ...]:
    """`name==version` of every distribution in the folder, sorted, without repeats."""
    found = {
        f"{str(d.metadata['Name']).lower().replace('_', '-')}=={d.version}"
        for d in distributions(path=[str(site)])
        if d.metadata["Name"]
    }
    return tuple(sorted(found))
