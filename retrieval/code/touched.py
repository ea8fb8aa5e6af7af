"""From lines to symbols: what a commit touched (row A1), and which symbols refer to which (row A4's call graph)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from retrieval.languages import MAX_SOURCE_BYTES, Language, language_of
from retrieval.model import Commit, FileChange, Symbol
from retrieval.model.signatures import symbol_at
from retrieval.ports import Repository

MODULE = "<module>"
_COMMENTS = ("#", "//", "/*", "*")
_MAX_FILES = 200  # source files of one commit that are parsed
_AT_ONCE = 400  # files, each in one or two versions, whose symbols are held at once
_PARSED_TOGETHER = 32
# A name that this many symbols bear says nothing about which of them is meant.
_AMBIGUOUS = 4


async def touched_symbols(repo: Repository, commit: Commit) -> list[Symbol]:
    """`touched_by` of one commit."""
    return (await touched_by(repo, [commit]))[commit.sha]


async def touched_by(repo: Repository, commits: Sequence[Commit]) -> dict[str, list[Symbol]]:
    """By commit the symbols that its hunks touch: as they are at the commit, or at its parent where it removed them.

    A line belongs to the innermost function, method or class around it, else to its module (`path::<module>`); blank
    lines, and comments outside of any symbol, belong to nothing. Files of other languages, larger than the parser's cap
    or absent, are left out. Order: by path, then by line.

    All versions of all files are read by a few processes and each is parsed once, however many commits share it.

    Raises: RepositoryError.
    """
    found: dict[str, list[Symbol]] = {}
    for some in _portions(commits):
        wanted = dict.fromkeys(
            key for commit in some for change in _sources(commit) for key in _versions(commit, change)
        )
        symbols = await _parsed(repo, list(wanted))
        found.update((commit.sha, _of_commit(commit, symbols)) for commit in some)
    return found


_Version = tuple[str, str]  # commit, path


def _portions(commits: Sequence[Commit]) -> Iterator[list[Commit]]:
    some: list[Commit] = []
    size = 0
    for commit in commits:
        if some and size >= _AT_ONCE:
            yield some
            some, size = [], 0
        some.append(commit)
        size += len(_sources(commit))
    if some:
        yield some


def _sources(commit: Commit) -> list[FileChange]:
    known = [change for change in commit.files if language_of(change.path) is not None]
    return [change for change in known[:_MAX_FILES] if change.hunks and not change.binary]


def _versions(commit: Commit, change: FileChange) -> list[_Version]:
    """The file at the commit, unless it went; and at its parent, if lines were removed."""
    now = [] if change.status == "deleted" else [(commit.sha, change.path)]
    if commit.parents and any(hunk.removed for hunk in change.hunks):
        return [*now, (commit.parents[0], change.old_path or change.path)]
    return now


async def _parsed(repo: Repository, wanted: Sequence[_Version]) -> dict[_Version, list[Symbol]]:
    found: dict[_Version, list[Symbol]] = {}
    read: list[tuple[list[_Version], bytes]] = []
    async for version in repo.read_versions(wanted, limit=MAX_SOURCE_BYTES):
        read.append(version)
        if len(read) == _PARSED_TOGETHER:
            found.update(await asyncio.to_thread(_symbols, read))
            read = []
    found.update(await asyncio.to_thread(_symbols, read))
    return found


def _symbols(read: Sequence[tuple[list[_Version], bytes]]) -> dict[_Version, list[Symbol]]:
    found: dict[_Version, list[Symbol]] = {}
    for keys, source in read:
        by_path: dict[str, list[Symbol]] = {}
        for key in keys:
            path = key[1]
            language = language_of(path)
            if path not in by_path and language is not None:
                by_path[path] = language.symbols(path, source)
            found[key] = by_path.get(path, [])
    return found


def _of_commit(commit: Commit, symbols: Mapping[_Version, list[Symbol]]) -> list[Symbol]:
    found: dict[str, Symbol] = {}
    for change in _sources(commit):
        language = language_of(change.path)
        for symbol in _of_file(commit, change, language, symbols) if language is not None else ():
            found.setdefault(symbol.symbol_id, symbol)
    return sorted(found.values(), key=lambda s: (s.path, s.start_line, s.symbol_id))


def _of_file(
    commit: Commit, change: FileChange, language: Language, symbols: Mapping[_Version, list[Symbol]]
) -> list[Symbol]:
    touched: list[Symbol] = []
    now = symbols.get((commit.sha, change.path)) if change.status != "deleted" else None
    for hunk in change.hunks if now is not None else ():
        touched += _lines(now or [], change.path, language, hunk.new_start, hunk.added)
    old_path = change.old_path or change.path
    then = symbols.get((commit.parents[0], old_path)) if commit.parents else None
    current = {symbol.qualname: symbol for symbol in now or ()}
    for hunk in change.hunks if then is not None else ():
        for symbol in _lines(then or [], old_path, language, hunk.old_start, hunk.removed):
            touched.append(current.get(symbol.qualname, symbol))
    return touched


def _lines(symbols: list[Symbol], path: str, language: Language, start: int, lines: Iterable[str]) -> list[Symbol]:
    """The innermost symbol around each line, the module for the rest."""
    found: dict[str, Symbol] = {}
    for number, text in enumerate(lines, start):
        stripped = text.strip()
        symbol = symbol_at(symbols, path, number)
        if not stripped or (symbol is None and stripped.startswith(_COMMENTS)):
            continue
        symbol = symbol or _module(path, language)
        found.setdefault(symbol.symbol_id, symbol)
    return list(found.values())


def _module(path: str, language: Language) -> Symbol:
    return Symbol(
        symbol_id=f"{path}::{MODULE}",
        language=language.name,
        kind="module",
        path=path,
        name=MODULE,
        qualname=MODULE,
        start_line=1,
        end_line=1,
    )


def references(symbols: Sequence[Symbol]) -> dict[str, set[str]]:
    """Which symbols each symbol refers to by the names in its body: an over-approximation, cheap and static.

    A name means the symbol of that last component: of the same class where it is called on `self` or `this`, else of
    the same file, else wherever few enough symbols bear it. A class stands for its constructor as well.
    """
    by_name: dict[str, list[Symbol]] = defaultdict(list)
    for symbol in symbols:
        by_name[symbol.name].append(symbol)
    by_id = {symbol.symbol_id: symbol for symbol in symbols}
    found: dict[str, set[str]] = {}
    for symbol in symbols:
        targets: set[str] = set()
        for call in symbol.calls:
            for target in _meant(symbol, call, by_name):
                targets.add(target.symbol_id)
                targets.update(
                    constructor
                    for name in ("__init__", "__post_init__", target.name)
                    if target.kind == "class" and (constructor := f"{target.symbol_id}.{name}") in by_id
                )
        found[symbol.symbol_id] = targets - {symbol.symbol_id}
    return found


def _meant(symbol: Symbol, call: str, by_name: dict[str, list[Symbol]]) -> list[Symbol]:
    receiver, _, name = call.rpartition(".")
    bearers = by_name.get(name, [])
    if receiver in ("self", "cls", "this", "super()"):
        owner = symbol.qualname.rpartition(".")[0]
        own = [b for b in bearers if b.path == symbol.path and b.qualname == f"{owner}.{name}"]
        if own:
            return own
    near = [b for b in bearers if b.path == symbol.path]
    if near and not receiver:
        return near
    return bearers if len(bearers) <= _AMBIGUOUS else near
