"""What a run may use, and what came of it."""

from pathlib import Path

from msgspec import Struct, field

MIB = 1024 * 1024


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds of one run; bytes and seconds. `cpu_s`, `address_space` and `file_size` hold per process (rlimits); the
    others for the run as a whole. `memory` is the resident memory of all processes together, looked at many times a
    second."""

    wall_s: float = 60.0
    cpu_s: int = 60
    memory: int = 1024 * MIB
    address_space: int = 4096 * MIB
    processes: int = 128
    open_files: int = 256
    file_size: int = 64 * MIB
    tree: int = 256 * MIB
    scratch: int = 64 * MIB
    report: int = 4 * MIB
    output: int = 256 * 1024


class RunResult(Struct, frozen=True, kw_only=True):
    """`output` is what the program printed (both streams, as a terminal shows it), its middle left out when it is
    longer than the limit. `exit_code` follows the shell (128 + signal). `limit` names the bound that ended the run:
    wall|cpu|memory|tree, or "". `files` are the small regular files that the program left in `/report`."""

    exit_code: int
    output: str = ""
    timed_out: bool = False
    limit: str = ""
    seconds: float = 0.0
    files: dict[str, bytes] = field(default_factory=dict)


class SandboxStatus(Struct, frozen=True, kw_only=True):
    """Whether the sandbox holds here, as it was seen to; `reason` says what does not and what to do about it."""

    holds: bool
    reason: str = ""
    tool: str = ""
    version: str = ""
    python: str = ""


class SandboxSettings(Struct, frozen=True, kw_only=True):
    """`user` is a user's name or number (used when the program runs as root; "": a number that owns nothing is chosen,
    see `tools.unprivileged_user`). `cache` keeps prepared environments; None: see `cache.cache_folder`."""

    user: str = ""
    cache: Path | None = None
    enabled: bool = True
