"""Test-to-code coverage: a document a test (or a whole run), with the paths and symbols that it executed (row A1)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from retrieval.kinds.base import Kind, Material, kept, restoring
from retrieval.model import Document, FileCoverage, Symbol
from retrieval.model.paths import repo_path

_FILES = 200  # of one document
_SYMBOLS = 500


def documents(material: Material) -> Iterator[Document]:
    files = [path for repo in sorted(material.files) for path in material.files[repo]]
    symbols: dict[str, list[Symbol]] = defaultdict(list)
    for repo in sorted(material.symbols):
        for symbol in material.symbols[repo]:
            symbols[symbol.path].append(symbol)
    grouped: dict[tuple[str, str], list[tuple[int, FileCoverage]]] = defaultdict(list)
    for number, covered in enumerate(material.sources.coverage):
        grouped[covered.test_id, covered.source.file].append((number, covered))
    for test, source in sorted(grouped):
        members = grouped[test, source]
        for part in (members[at : at + _FILES] for at in range(0, len(members), _FILES)):
            named = [(repo_path(c.path, files) or c.path, c) for _, c in part]
            yield material.document(
                "coverage",
                (test, [c for _, c in part]),
                title=f"{test or 'whole run'} executes {len(part)} files",
                text="\n".join(f"{path} {_lines(c)}" for path, c in named),
                paths=tuple(dict.fromkeys(path for path, _ in named)),
                symbols=_executed(named, symbols),
                keys={"test_id": test},
                source=source,
                attributes=kept(part),
            )


def _lines(covered: FileCoverage) -> str:
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in covered.lines[:20])


def _executed(named: Sequence[tuple[str, FileCoverage]], symbols: dict[str, list[Symbol]]) -> tuple[str, ...]:
    """Functions of which more than the line that defines them ran."""
    found = [
        symbol.symbol_id
        for path, covered in named
        for symbol in symbols.get(path, ())
        if symbol.kind != "class" and any(a <= symbol.end_line and b > symbol.start_line for a, b in covered.lines)
    ]
    return tuple(dict.fromkeys(found))[:_SYMBOLS]


KIND = Kind("coverage", documents, restoring("coverage", FileCoverage), timeless=True)
