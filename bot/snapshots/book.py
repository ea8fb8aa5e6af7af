"""Which snapshots there are and which is in force: a small file in the data folder, read anew by every triage, so that
a running server follows a switch without a restart. Decisions are pure; the file is replaced as a whole."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from retrieval.errors import BadInput, Reason
from retrieval.model import LIVE

BOOK = "snapshots.json"
WINDOW = 3  # snapshots that one can roll back to (row C5)
MOST_EMPTY, LEAST_FAITHFUL = 0.18, 0.82  # the gates of row C5


class Evaluation(Struct, frozen=True, kw_only=True):
    """What probes found. `empty_hits`: share of the probes that found nothing. `faithfulness`: share of what was found
    that a reader finds again where its citation says. `failed` are probes to look at."""

    probes: int
    empty_hits: float
    faithfulness: float
    failed: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.probes > 0 and self.empty_hits <= MOST_EMPTY and self.faithfulness >= LEAST_FAITHFUL


class Snapshot(Struct, frozen=True, kw_only=True):
    """One that was built. `heads` are the commits that its repositories were read at."""

    id: str
    built_ns: int
    heads: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    evaluation: Evaluation | None = None


class Book(Struct, frozen=True, kw_only=True):
    """`active` is `live` until one was published; `earlier` are those to roll back to, the last one first."""

    snapshots: tuple[Snapshot, ...] = ()
    active: str = LIVE
    earlier: tuple[str, ...] = ()

    def of(self, name: str) -> Snapshot | None:
        return next((s for s in self.snapshots if s.id == name), None)

    def known(self, name: str) -> Snapshot:
        """Raises: BadInput."""
        found = self.of(name)
        if found is None:
            there = ", ".join(s.id for s in self.snapshots) or "none yet"
            raise BadInput(
                f"there is no snapshot {name[:40]!r}",
                reason=Reason.NOT_FOUND,
                subject=name[:40],
                remedy=f"there are: {there}; build one with `receipts snapshot build`",
            )
        return found

    def with_one(self, snapshot: Snapshot) -> "Book":
        """The newest last; one of the same id is replaced."""
        return replace(self, snapshots=(*(s for s in self.snapshots if s.id != snapshot.id), snapshot))

    def published(self, name: str) -> "Book":
        """Raises: BadInput (no such snapshot, not evaluated, a gate not met)."""
        evaluation = self.known(name).evaluation
        if evaluation is None:
            raise BadInput(f"{name} was not evaluated", subject=name, remedy=f"receipts snapshot evaluate {name}")
        if not evaluation.passed:
            raise BadInput(
                f"{name} may not be published: empty hits {evaluation.empty_hits:.2f} (at most {MOST_EMPTY}), "
                f"faithfulness {evaluation.faithfulness:.2f} (at least {LEAST_FAITHFUL})",
                subject=name,
                remedy="see what `receipts snapshot evaluate` names, and build again",
            )
        if name == self.active:
            return self
        return replace(self, active=name, earlier=self._window(name))

    def _window(self, name: str) -> tuple[str, ...]:
        before = (self.active, *self.earlier)
        return tuple(one for one in before if one != name)[:WINDOW]

    def rolled_back(self) -> "Book":
        """Raises: BadInput (nothing to roll back to)."""
        if not self.earlier:
            raise BadInput("nothing was published before", remedy="publish another snapshot instead")
        return replace(self, active=self.earlier[0], earlier=self.earlier[1:])

    def unneeded(self) -> tuple[str, ...]:
        """Snapshots that are neither in force, nor in the window, nor newer than the one in force."""
        needed = {self.active, *self.earlier}
        newest = next((at for at, s in enumerate(self.snapshots) if s.id == self.active), -1)
        return tuple(s.id for at, s in enumerate(self.snapshots) if s.id not in needed and at < newest)

    def without(self, names: tuple[str, ...]) -> "Book":
        return replace(self, snapshots=tuple(s for s in self.snapshots if s.id not in names))


def read_book(data: Path) -> Book:
    """Raises: BadInput (the file is damaged)."""
    path = data / BOOK
    try:
        return msgspec.json.decode(path.read_bytes(), type=Book)
    except FileNotFoundError:
        return Book()
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(
            f"{path}: cannot be read", subject=str(path), remedy="restore it, or remove it to search live documents"
        ) from error


def write_book(data: Path, book: Book) -> None:
    partial = data / f".{BOOK}.{os.getpid()}"
    with partial.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(book, order="sorted")))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(data / BOOK)
