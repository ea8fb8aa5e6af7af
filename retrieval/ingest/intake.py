"""What a reader is given: a file of the case, a place to report what can't be used, the moment that it is about."""

from collections import Counter
from pathlib import Path

from msgspec import Struct

from retrieval.model import Problem, SourceRef

PROBLEMS_PER_FILE = 50
_REASON_CAP = 300


class SourceFile(Struct, frozen=True):
    """`name` is the path relative to the case folder, in POSIX form: what a `SourceRef` shows."""

    path: Path
    name: str

    @property
    def stem(self) -> str:
        """The file's name without any of its extensions."""
        return self.path.name.split(".")[0]


class Intake:
    """Collects problems while files are read. `reference_ns` is a moment near the incident, 0 where none is known: it
    completes times that were written without a year or a day."""

    def __init__(self, reference_ns: int = 0) -> None:
        self.reference_ns = reference_ns
        self._problems: list[Problem] = []
        self._counts: Counter[str] = Counter()
        self._told: Counter[str] = Counter()

    def forget(self) -> None:
        """The problems were told; those of a file that come later still count towards its cap."""
        self._problems = []
        self._told = Counter(self._counts)

    def problem(self, file: str, line: int, reason: str) -> None:
        """Of one file the first `PROBLEMS_PER_FILE` are kept one by one; the others are counted."""
        self._counts[file] += 1
        if self._counts[file] <= PROBLEMS_PER_FILE:
            self._problems.append(Problem(source=SourceRef(file, line), reason=reason[:_REASON_CAP]))

    def problems(self) -> tuple[Problem, ...]:
        more = tuple(
            Problem(source=SourceRef(file), reason=f"{more} more lines could not be used")
            for file, count in sorted(self._counts.items())
            if (more := count - max(PROBLEMS_PER_FILE, self._told[file])) > 0
        )
        return tuple(sorted(self._problems, key=lambda p: (p.source.file, p.source.line))) + more
