"""Stack traces and symbols, whatever the language."""

from typing import Any

from msgspec import Struct, field


class Frame(Struct, frozen=True, kw_only=True):
    """One frame. `file` is as printed; `in_app` says that it is neither a library nor the runtime.

    `locals` holds recorded local variables: each value either the text of its repr, or a nested dict or list of such
    texts, as the recorder wrote it. Never evaluated as code.
    """

    file: str
    function: str
    line: int | None = None
    module: str = ""
    code: str = ""
    in_app: bool = True
    locals: dict[str, Any] = field(default_factory=dict)


class StackTrace(Struct, frozen=True, kw_only=True):
    """One thrown exception with its frames **outermost first**; `cause` is what it was raised from.

    `cause_kind` says how this one hangs below the one that holds it ("" on top): as its `cause` (raised from it), its
    `context` (being handled when it was raised), `suppressed` by it, or as a `member` of a group.
    """

    language: str
    type: str  # as printed, qualified where the runtime qualifies it
    message: str
    frames: tuple[Frame, ...] = ()
    cause: "StackTrace | None" = None
    cause_kind: str = ""  # cause | context | suppressed | member
    members: "tuple[StackTrace, ...]" = ()  # exception groups, suppressed
    notes: tuple[str, ...] = ()

    @property
    def root(self) -> "StackTrace":
        """The exception at the bottom of the cause chain."""
        trace = self
        while trace.cause is not None:
            trace = trace.cause
        return trace

    @property
    def crash(self) -> Frame | None:
        """The innermost frame of the application's own code, else the innermost frame."""
        own = [f for f in self.frames if f.in_app]
        return own[-1] if own else (self.frames[-1] if self.frames else None)


class Symbol(Struct, frozen=True, kw_only=True):
    """A function, method or class. `symbol_id` is `path::Qual.name`; lines are 1-based and inclusive."""

    symbol_id: str
    language: str
    kind: str  # function | method | class
    path: str
    name: str
    qualname: str
    start_line: int
    end_line: int
    signature: str = ""
    parameters: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()  # names as written in the body
    doc: str = ""
