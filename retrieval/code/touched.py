"""From lines to symbols: what a commit touched (row A1), and which symbols refer to which (row A4's call graph)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence

from retrieval.errors import Reason, RepositoryError
from retrieval.languages import MAX_SOURCE_BYTES, Language, language_of
from retrieval.model import Commit, FileChange, Symbol
from retrieval.model.signatures import symbol_at
from retrieval.ports import Repository

MODULE = "<module>"
_COMMENTS = ("#", "//", "/*", "*")
_MAX_FILES = 200  # source files of one commit that are parsed
# A name that this many symbols bear says nothing about which of them is meant.
_AMBIGUOUS = 4


async def touched_symbols(repo: Repository, commit: Commit) -> list[Symbol]:
    """The symbols that a commit's hunks touch: as they are at the commit, or at its parent where it removed them.

    A line belongs to the innermost function, method or class around it, else to its module (`path::<module>`); blank
    lines, and comments outside of any symbol, belong to nothing. Files of other languages, larger than the parser's cap
    or absent, are left out. Order: by path, then by line.

    Raises: RepositoryError other than NOT_FOUND and TOO_LARGE.
    """
    found: dict[str, Symbol] = {}
    sources = [(change, language) for change in commit.files if (language := language_of(change.path)) is not None]
    for change, language in sources[:_MAX_FILES]:
        for symbol in await _of_file(repo, commit, change, language):
            found.setdefault(symbol.symbol_id, symbol)
    return sorted(found.values(), key=lambda s: (s.path, s.start_line, s.symbol_id))


async def _of_file(repo: Repository, commit: Commit, change: FileChange, language: Language) -> list[Symbol]:
    if not change.hunks or change.binary:
        return []
    touched: list[Symbol] = []
    now = None if change.status == "deleted" else await _symbols(repo, commit.sha, change.path, language)
    for hunk in change.hunks if now is not None else ():
        touched += _lines(now or [], change.path, language, hunk.new_start, hunk.added)
    old_path = change.old_path or change.path
    removes = commit.parents and any(hunk.removed for hunk in change.hunks)
    then = await _symbols(repo, commit.parents[0], old_path, language) if removes else None
    current = {symbol.qualname: symbol for symbol in now or ()}
    for hunk in change.hunks if then is not None else ():
        for symbol in _lines(then or [], old_path, language, hunk.old_start, hunk.removed):
            touched.append(current.get(symbol.qualname, symbol))
    return touched


async def _symbols(repo: Repository, sha: str, path: str, language: Language) -> list[Symbol] | None:
    """None where the file is absent or too large to be parsed."""
    try:
        source = await repo.read(sha, path)
    except RepositoryError as error:
        if error.reason in (Reason.NOT_FOUND, Reason.TOO_LARGE):
            return None
        raise
    if len(source) > MAX_SOURCE_BYTES:
        return None
    return await asyncio.to_thread(language.symbols, path, source)


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
