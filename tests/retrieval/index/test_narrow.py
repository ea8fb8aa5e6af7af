"""However few documents a query's filters leave, it finds what the same query finds among all."""

import random
from typing import Any

import pytest

from retrieval.index import open_index
from retrieval.index.embedded.engine import EmbeddedIndex
from retrieval.ports import Index
from tests.contract.index_documents import WordVectors, document, query

COUNT = 1_200
SERVICES = tuple(f"s{n}" for n in range(60))
WORDS = tuple(f"word{n}" for n in range(8))
LEGS = ("lexical", "dense", "symbolic")


async def filled() -> EmbeddedIndex:
    rng = random.Random(5)
    index = await open_index(None, embedder=WordVectors())
    assert isinstance(index, EmbeddedIndex)
    documents = [
        document(
            f"d{n:04}",
            f"common {rng.choice(WORDS)} {rng.choice(WORDS)}",
            time_ns=rng.randrange(1_000),
            service=rng.choice(SERVICES),
            paths=(f"src/{n % 7}.py",),
        )
        for n in range(COUNT)
    ]
    for at in range(0, COUNT, 100):
        await index.put(documents[at : at + 100])
    await index.settle()
    return index


async def asked(leg: str, index: Index, **filters: Any) -> list[tuple[str, float, str, int]]:
    vector = (await WordVectors().embed(["common word3 word7"]))[0]
    wanted = query("common word3 word7", paths=("src/3.py",), vector=vector, limit=COUNT, **filters)
    hits = await getattr(index, leg)(wanted)
    return [(hit.document.id, hit.score, hit.document.service, hit.document.time_ns) for hit in hits]


@pytest.mark.parametrize("deleted", [False, True], ids=["whole", "with deletions"])
@pytest.mark.parametrize("leg", LEGS)
async def test_filters_leave_the_hits_of_the_whole_store_that_pass_them(leg: str, deleted: bool) -> None:
    index = await filled()
    if deleted:
        assert await index.delete(query(services=SERVICES[:20])) > 100
    everything = await asked(leg, index)
    assert everything
    found = 0
    for services, low, high in (
        (SERVICES[40:41], 0, 1_000),
        *((SERVICES[n : n + 1], 0, 250) for n in range(20, 60)),
        (SERVICES[30:33], 400, 600),
        (SERVICES[20:55], 0, 1_000),
        (SERVICES, 990, 1_000),
        (SERVICES[:1], 0, 1),
    ):
        narrow = await asked(leg, index, services=services, from_ns=low, to_ns=high)
        assert narrow == [hit for hit in everything if hit[2] in services and low <= hit[3] < high]
        found += len(narrow)
    assert found > 20
    await index.close()
