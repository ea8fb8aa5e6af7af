"""A reader's index, over stores, documents and readers of every make (row B14): no foreign document, ever."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.errors import BadInput
from retrieval.index import open_index
from retrieval.index.reading import Reading
from retrieval.kinds.access import covers, may_read
from retrieval.model import Document, Query
from tests.contract.index_documents import document

TAGS = ("public", "pay", "ship", "ops")
tag_sets = st.sets(st.sampled_from(TAGS), min_size=1, max_size=3).map(lambda tags: tuple(sorted(tags)))
readers = st.sets(st.sampled_from(TAGS), max_size=3).map(lambda tags: tuple(sorted(tags)))


@settings(max_examples=40, deadline=None)
@given(held=st.lists(tag_sets, min_size=1, max_size=8), reader=readers, asked=readers)
async def test_no_query_shows_a_foreign_document_or_counts_it(
    held: list[tuple[str, ...]], reader: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    index = await open_index(None)
    try:
        documents = [document(f"d{n}", "payment failed", acl=tags, paths=("a.py",)) for n, tags in enumerate(held)]
        await index.put(documents)
        reading = Reading(index, reader)
        query = Query(acl=asked, text="payment", paths=("a.py",))
        visible = {d.id for d in documents if set(reader) & set(asked) & set(d.acl)}

        assert {hit.document.id for hit in await reading.lexical(query)} == visible
        assert {hit.document.id for hit in await reading.symbolic(query)} == visible
        assert {d.id for d in await reading.get([d.id for d in documents], acl=asked)} == visible
        assert await reading.dense(query) == []
        assert set(reading.seen) == {d.acl for d in documents if d.id in visible}
        # Whoever may not see one of the documents that were shown is told so by `seen`.
        for other in (("public",), ("pay",), ("ship", "ops"), reader):
            sees_all = all(set(other) & set(d.acl) for d in documents if d.id in visible)
            assert may_read(other, reading.seen) == sees_all
        assert await reading.count(query) == len(visible)
        assert may_read(set(reader) & set(asked), reading.seen)
    finally:
        await index.close()


async def test_an_engine_that_forgets_its_filter_is_corrected() -> None:
    foreign = document("foreign", "payment failed", acl=("pay",), paths=("a.py",))

    class Forgetful:
        name = "forgetful"

        async def get(self, ids: object, *, acl: object) -> list[Document]:
            return [foreign]

    reading = Reading(Forgetful(), ("public",))  # type: ignore[arg-type]

    assert await reading.get(["foreign"], acl=("public", "pay")) == []
    assert reading.seen == ()


async def test_a_reader_writes_nothing_and_closes_nothing() -> None:
    index = await open_index(None)
    await index.put([document("d1", "payment failed")])
    reading = Reading(index, ("public",))

    for attempt in (
        reading.put([document("d2", "x")]),
        reading.delete(Query(acl=("public",))),
        reading.sweep(2**62),
        reading.alias("current", "b1"),
    ):
        with pytest.raises(BadInput, match="changes nothing"):
            await attempt
    await reading.close()

    assert await index.count(Query(acl=("public",))) == 1
    await index.close()


@given(own=tag_sets, other=tag_sets)
def test_a_document_covers_another_where_every_reader_of_it_may_see_that_one(
    own: tuple[str, ...], other: tuple[str, ...]
) -> None:
    every_reader = [{tag for n, tag in enumerate(TAGS) if bits >> n & 1} for bits in range(2 ** len(TAGS))]

    assert covers(own, other) == all(may_read(held, [other]) for held in every_reader if may_read(held, [own]))
