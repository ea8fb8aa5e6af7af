"""What a contract format is to the rest of the room."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from msgspec import Struct

from retrieval.model import ContractElement

MAX_BYTES = 4 * 2**20
MAX_ELEMENTS = 20_000
MAX_DEPTH = 60
NAME_CAP = 160


class Unreadable(Exception):
    """A file that is not what its name says, with the 1-based line at which that shows (0: as a whole)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Judged(Struct, frozen=True):
    """Whom a difference breaks (readers|writers|both|""), and the rule that says so, with its source."""

    breaks: str
    rule: str


class Difference(Struct, frozen=True, kw_only=True):
    """An element before and after; `fact` is what of it differs where it is in both."""

    change: str
    before: ContractElement | None
    after: ContractElement | None
    fact: str = ""

    @property
    def element(self) -> ContractElement:
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def old(self) -> str:
        return self.before.facts.get(self.fact, "") if self.before else ""

    @property
    def new(self) -> str:
        return self.after.facts.get(self.fact, "") if self.after else ""


@dataclass(frozen=True)
class Format:
    """`claims` looks at a path and the first few thousand characters; `parse` raises `Unreadable` only; `judge` says
    what a difference means. A format whose files are steps (`steps`) has no second version: what is new in a file was
    done."""

    name: str
    claims: Callable[[PurePosixPath, str], bool]
    parse: Callable[[str], tuple[ContractElement, ...]]
    judge: Callable[[Difference], Judged]
    steps: bool = False


def named(text: str) -> str:
    """A name as it is kept: one line, not longer than `NAME_CAP`."""
    return " ".join(text.split())[:NAME_CAP]
