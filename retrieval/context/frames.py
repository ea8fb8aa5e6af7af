"""From a recorded exception to the places in the repository that it passed through."""

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from retrieval.model import Frame, StackTrace, Symbol
from retrieval.model.signatures import frame_path, short_type, stable_path, symbol_at

_DEPTH = 32
# CPython names the frames of comprehensions so; the frame of the function around them is on the stack as well.
_COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})


class Place(Struct, frozen=True):
    """One frame of the application: a path in the repository, the function as printed, the line."""

    path: str
    function: str
    line: int | None = None

    @property
    def id(self) -> str:
        return f"{self.path}::{self.function}"


def own_places(trace: StackTrace | None, files: Collection[str]) -> tuple[Place, ...]:
    """The application's frames, outermost first, those of the causes after those of what they caused.

    A frame counts when the language's rule says so and its file is in the repository; where no frame is both, being in
    the repository is enough (a service that was installed as a package), and without a repository the rule is.
    Neighbours that are the same function are one.
    """
    frames = [frame for part in _chain(trace) for frame in part.frames]
    mapped = [(frame, frame_path(frame, files) if files else None) for frame in frames]
    places = [_place(f, path) for f, path in mapped if f.in_app and path]
    if not places:
        places = [_place(f, path) for f, path in mapped if path and "/" in path]
    if not places:
        places = [_place(f, stable_path(f.file)) for f in frames if f.in_app]
    kept = [p for p in places if p.function not in _COMPREHENSIONS] or places
    return tuple(
        p for n, p in enumerate(kept) if not n or (p.path, p.function) != (kept[n - 1].path, kept[n - 1].function)
    )


class Places:
    """`own_places` of many records in one repository: equal stacks, which errors mostly have, are looked up once."""

    def __init__(self, files: Collection[str]) -> None:
        self._files = files
        self._known: dict[tuple[tuple[object, ...], ...], tuple[Place, ...]] = {}

    def of(self, trace: StackTrace | None) -> tuple[Place, ...]:
        key = tuple((f.file, f.function, f.line, f.module, f.in_app) for part in _chain(trace) for f in part.frames)
        if key not in self._known:
            self._known[key] = own_places(trace, self._files)
        return self._known[key]


def _place(frame: Frame, path: str | None) -> Place:
    return Place(path or frame.file, frame.function, frame.line)


def _chain(trace: StackTrace | None) -> Iterator[StackTrace]:
    """The exception and what lies below it, as long as that is where it came from.

    `raise ... from` and `Caused by` say so. An exception that was raised while another was handled came from it if it
    was raised in the function that caught the other; otherwise the handler failed by itself. A group comes from its
    first member.
    """
    for _ in range(_DEPTH):
        if trace is None:
            return
        yield trace
        if trace.cause is not None and (trace.cause_kind != "context" or _wraps(trace, trace.cause)):
            trace = trace.cause
        elif trace.members and short_type(trace.type).endswith("Group"):
            trace = trace.members[0]
        else:
            return


def _wraps(outer: StackTrace, inner: StackTrace) -> bool:
    if not outer.frames or not inner.frames:
        return False
    last, first = outer.frames[-1], inner.frames[0]
    return (last.file, last.function) == (first.file, first.function)


def with_symbols(places: Sequence[Place], symbols: Collection[Symbol]) -> tuple[str, ...]:
    """Ids of the frames as the symbol index writes them (`path::Class.method`): runtimes print the bare name.

    The symbol at the line counts if its name agrees or the printed one is anonymous; else the only symbol of that name
    in the file; else the name as printed.
    """
    by_path: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_path.setdefault(symbol.path, []).append(symbol)
    found = (_symbol_id(place, by_path.get(place.path, [])) for place in places)
    return tuple(dict.fromkeys(found))


def _symbol_id(place: Place, symbols: list[Symbol]) -> str:
    name = place.function.split(".")[-1]
    around = symbol_at(symbols, place.path, place.line)
    if (
        around is not None
        and (around.name == name or name.startswith(("<lambda", "lambda$", "<")))
        and name != "<module>"
    ):
        return around.symbol_id
    named = [symbol for symbol in symbols if symbol.name == name and symbol.kind != "class"]
    exact = [symbol for symbol in named if symbol.qualname == place.function]
    if len(exact or named) == 1:
        return (exact or named)[0].symbol_id
    return place.id
