"""What was changed: commits, deploys, flags, configuration."""

from typing import Any

from msgspec import Struct

from retrieval.model.telemetry import SourceRef


class Hunk(Struct, frozen=True, kw_only=True):
    """One hunk of a zero-context diff: 1-based starts, line counts, the lines without their sign."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


class FileChange(Struct, frozen=True, kw_only=True):
    """One file of a commit. `status` is added|modified|deleted|renamed|copied|typechange."""

    path: str
    status: str
    old_path: str = ""
    binary: bool = False
    hunks: tuple[Hunk, ...] = ()


class Commit(Struct, frozen=True, kw_only=True):
    """One commit of one repository; merges list their parents and no files."""

    repo: str
    sha: str
    author: str
    author_ns: int
    committed_ns: int
    subject: str
    body: str = ""
    parents: tuple[str, ...] = ()
    files: tuple[FileChange, ...] = ()


class Deploy(Struct, frozen=True, kw_only=True):
    """One roll-out step of one service; `percent` None means all of it."""

    service: str
    git_sha: str
    started_ns: int
    finished_ns: int | None = None
    previous_sha: str = ""
    image_digest: str = ""
    deployment_id: str = ""
    region: str = ""
    environment: str = ""
    percent: float | None = None
    source: SourceRef = SourceRef("")


class FlagChange(Struct, frozen=True, kw_only=True):
    at_ns: int
    flag: str
    value: Any
    service: str = ""
    region: str = ""
    source: SourceRef = SourceRef("")


class ConfigChange(Struct, frozen=True, kw_only=True):
    at_ns: int
    service: str
    key: str
    value: str
    source: SourceRef = SourceRef("")
