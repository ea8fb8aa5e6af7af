"""Three legs over a real store: one ranking, and what is missing is said."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from retrieval.errors import EmbeddingUnavailable, StoreError, StoreUnavailable
from retrieval.index import open_index
from retrieval.model import Hit, Query
from retrieval.ports import Index
from retrieval.ranking.legs import Missing, Search, retrieve, search
from tests.contract.index_documents import FixedClock, WordVectors, document, query

SEARCH = Search(now_ns=100, timeout_s=30.0)


@pytest.fixture
async def index() -> AsyncIterator[Index]:
    opened = await open_index(None, clock=FixedClock(), embedder=WordVectors())
    await opened.put(
        [
            document("frame", "unrelated words", paths=("a/b.py",), symbols=("a/b.py::f",)),
            document("words", "coupon declined here"),
            document("both", "coupon declined", paths=("a/b.py",), symbols=("a/b.py::f",)),
            document("neither", "the weather is fine", kind="diff"),
        ]
    )
    assert await opened.settle() == ""  # type: ignore[attr-defined]
    yield opened
    await opened.close()


ASKED = [query("coupon declined", kinds=("log",), paths=("a/b.py",), symbols=("a/b.py::f",))]


class Broken:
    """A store of which one leg is as it is told to be."""

    def __init__(self, index: Index, leg: str, trouble: BaseException | None) -> None:
        self.name = "elsewhere"
        self._index, self._leg, self._trouble = index, leg, trouble

    def __getattr__(self, name: str) -> object:
        return self._fail if name == self._leg else getattr(self._index, name)

    async def _fail(self, query: Query) -> list[Hit]:
        if self._trouble is not None:
            raise self._trouble
        await asyncio.Event().wait()
        return []


class SlowModel(WordVectors):
    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        await self.let_go.wait()
        raise EmbeddingUnavailable("too late")


class NoModel(WordVectors):
    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        raise EmbeddingUnavailable("none")


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.document.id for hit in hits]


async def test_what_all_legs_find_comes_first(index: Index) -> None:
    found = await search(index, ASKED, SEARCH, WordVectors())

    assert ids(found.hits) == ["both", "frame", "words"]
    assert found.missing == ()
    assert found.hits[0].parts["symbol"] == 1.0
    assert set(found.hits[0].parts) == {"symbol", "path", "lexical", "dense", "recency"}
    assert ids((await retrieve(index, ASKED, at_ns=100, embedder=WordVectors())).hits) == ids(found.hits)


async def test_order_of_queries_and_repetition_change_nothing(index: Index) -> None:
    more = [*ASKED, query("weather", kinds=("diff",)), query("", kinds=("diff",))]

    there = await search(index, more, SEARCH)
    back = await search(index, [*reversed(more), *more], SEARCH)

    assert there.hits == back.hits
    assert "neither" in ids(there.hits)


async def test_without_a_model_the_dense_leg_is_named_and_its_weight_spread(index: Index) -> None:
    found = await search(index, ASKED, SEARCH)

    assert found.missing == (Missing("dense", "log", "no_vectors"),)
    assert found.hits[0].score == 1.0
    assert "dense" not in found.hits[0].parts


async def test_a_model_that_fails_or_is_late_is_named(index: Index) -> None:
    assert (await search(index, ASKED, SEARCH, NoModel())).missing[0].reason == "unavailable"

    slow = SlowModel()
    found = await search(index, ASKED, Search(now_ns=100, timeout_s=0.02), slow)
    assert Missing("dense", "log", "timeout") in found.missing
    slow.let_go.set()
    await asyncio.sleep(0)


@pytest.mark.parametrize("leg", ["symbolic", "lexical", "dense"])
async def test_a_leg_that_hangs_or_is_away_costs_only_itself(index: Index, leg: str) -> None:
    hangs = Broken(index, leg, None)
    away = Broken(index, leg, StoreUnavailable("away"))
    patience = Search(now_ns=100, timeout_s=0.3)

    for store, reason in ((hangs, "timeout"), (away, "unavailable")):
        found = await search(store, ASKED, patience, WordVectors())  # type: ignore[arg-type]
        assert found.missing == (Missing(leg, "log", reason),)
        assert "both" in ids(found.hits)
        assert leg not in found.hits[0].parts  # the symbol overlap needs no leg: the document itself tells


async def test_a_broken_store_is_not_hidden(index: Index) -> None:
    with pytest.raises(StoreError):
        await search(Broken(index, "lexical", StoreError("broken")), ASKED, SEARCH)  # type: ignore[arg-type]


async def test_nothing_is_asked_nothing_is_found(index: Index) -> None:
    assert (await search(index, [], SEARCH)).hits == ()
    assert ids((await search(index, ASKED, Search(now_ns=100, limit=1))).hits) == ["both"]
