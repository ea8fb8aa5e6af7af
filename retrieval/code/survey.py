"""The symbols of one service at the commit that ran, and what they refer to: read once, for ranking and for frames."""

import asyncio
from collections.abc import Mapping, Sequence

from retrieval.code.touched import references
from retrieval.languages import language_of
from retrieval.model import ServiceInfo, Symbol
from retrieval.ports import Repository

MAX_FILES = 1_500
_SLICE = 100  # files held in memory at once


async def survey(repo: Repository, sha: str, service: ServiceInfo, near: Sequence[str] = ()) -> tuple[Symbol, ...]:
    """Symbols of every source file of the service at a commit, by path; files in `near` (those on the stack) come
    first when there are more than 1,500. A file that cannot be read is left out.

    Raises: RepositoryError when the commit itself cannot be read.
    """
    wanted = [p for p in await repo.files(sha) if p.startswith(service.path_prefix) and language_of(p)]
    first = set(near)
    chosen = sorted(wanted, key=lambda p: (p not in first, p.count("/"), p))[:MAX_FILES]
    found: list[Symbol] = []
    for start in range(0, len(chosen), _SLICE):
        sources = await repo.read_many(sha, chosen[start : start + _SLICE])
        found += await asyncio.to_thread(_symbols, sources)
    return tuple(sorted(found, key=lambda s: (s.path, s.start_line, s.symbol_id)))


def _symbols(sources: Mapping[str, bytes]) -> list[Symbol]:
    found: list[Symbol] = []
    for path, source in sorted(sources.items()):
        language = language_of(path)
        found += language.symbols(path, source) if language else []
    return found


def calls_of(symbols: Sequence[Symbol]) -> dict[str, tuple[str, ...]]:
    """Symbol id -> the ids that it refers to, sorted."""
    return {caller: tuple(sorted(callees)) for caller, callees in sorted(references(symbols).items())}
