"""What was seen when the code was run."""

from typing import Any

from msgspec import Struct, field


class ErrorSignature(Struct, frozen=True):
    """An error by type and message, as in the JSON contract. `type` may be qualified."""

    type: str
    message: str


class RecoveredInput(Struct, frozen=True, kw_only=True):
    """An input that production recorded, and where. `strategy` is http|call; the rest is what the harness needs.

    `citations` are the `SourceRef`s, as text, of every record that a value came from: nothing is invented.
    """

    strategy: str
    service: str
    language: str
    summary: str  # one line for people: "GET /v2/rates?to=IS&l=64", "parse_amount('1,663.80-')"
    http: dict[str, Any] = field(default_factory=dict)  # method, path, query, headers, body
    call: dict[str, Any] = field(default_factory=dict)  # path, qualname, args, kwargs (source-code literals)
    stubs: tuple[dict[str, Any], ...] = ()  # recorded downstream calls: method, url, status, body
    environment: dict[str, str] = field(default_factory=dict)  # flags and configuration as the process saw them
    citations: tuple[str, ...] = ()


class Attempt(Struct, frozen=True, kw_only=True):
    """One run of the generated test at one commit. `outcome` is passed|failed|error|timeout|not_run."""

    commit: str
    outcome: str
    error_signature: ErrorSignature | None = None
    matches_production: bool = False
    frames: tuple[str, ...] = ()  # in-app `path::function`, outermost first, of the error that was raised
    causes: tuple[str, ...] = ()  # types that production's error wrapped, where this one was held to them too
    log: str = ""  # tail of the output, redacted, no machine paths
    reason: str = ""  # why not run, or why it errored
    seconds: float = 0.0


class Bisect(Struct, frozen=True, kw_only=True):
    """`culprit` is set only where it was seen to fail and its parent was seen to pass."""

    culprit: str | None = None
    tested: tuple[Attempt, ...] = ()
    acquitted: tuple[str, ...] = ()
    reason: str = ""


class Patch(Struct, frozen=True, kw_only=True):
    """A candidate fix. `outcome` is that of the generated test with it; `regression` holds the repository's own tests:
    {"command": [...], "outcome": ..., "passed": n, "failed": n, "failed_before": n}."""

    diff: str
    strategy: str  # revert_hunk | guard
    rationale: str
    outcome: str = "not_run"
    regression: dict[str, Any] = field(default_factory=dict)


class Proof(Struct, frozen=True, kw_only=True):
    """All that was run. `files` are the overlay: path in a checkout -> content."""

    service: str
    repo: str
    test: str = ""
    command: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    input: RecoveredInput | None = None
    at_deployed: Attempt | None = None
    at_good: Attempt | None = None
    bisect: Bisect | None = None
    patch: Patch | None = None
    patches_tried: tuple[Patch, ...] = ()
    missing: tuple[tuple[str, str, str], ...] = ()  # (what, why, where_to_get_it)
    not_run_reason: str = ""
    environment: dict[str, str] = field(default_factory=dict)  # language version, requirements digest, ...
