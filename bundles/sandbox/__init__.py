"""Where foreign code is run: no network, no host files, no privileges, bounded in time, memory, processes and disk.

It is `bwrap` (bubblewrap) behind `setpriv` and `prlimit`. It is not a virtual machine: a kernel bug is an escape. Where
it does not hold, nothing is run; there is no fallback to a plain subprocess.
"""

from bundles.sandbox.cache import cache_folder, open_up, reachable
from bundles.sandbox.command import REPORT, SITE, TREE
from bundles.sandbox.limits import Limits, RunResult, SandboxSettings, SandboxStatus
from bundles.sandbox.probe import probe
from bundles.sandbox.run import Sandbox
from bundles.sandbox.tools import ToolMissing

__all__ = [
    "REPORT",
    "SITE",
    "TREE",
    "Limits",
    "RunResult",
    "Sandbox",
    "SandboxSettings",
    "SandboxStatus",
    "ToolMissing",
    "cache_folder",
    "open_up",
    "probe",
    "reachable",
]
