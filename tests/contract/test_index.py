"""What every engine of `retrieval.index.ENGINES` promises (see `retrieval.ports.Index`)."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval.errors import BadInput, SecretSurvived
from retrieval.index.overlap import symbol_overlap
from retrieval.model import Document, Hit
from retrieval.ports import Index
from tests.contract.index_documents import FixedClock, Open, RefusesHunter2, WordVectors, document, query


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
async def index(open_store: Open, clock: FixedClock) -> AsyncIterator[Index]:
    opened = await open_store(None, clock=clock, embedder=WordVectors(), redactor=RefusesHunter2())
    yield opened
    await opened.close()


def ids(hits: list[Hit]) -> list[str]:
    return [hit.document.id for hit in hits]


async def test_an_empty_store_finds_nothing(index: Index) -> None:
    asked = query("anything", vector=(1.0,) * 64, paths=("a.py",))

    assert await index.lexical(asked) == []
    assert await index.dense(asked) == []
    assert await index.symbolic(asked) == []
    assert await index.count(query()) == 0
    assert await index.put([]) == 0


async def test_what_was_put_comes_back_whole(index: Index) -> None:
    put = document(
        "ü/1",
        "naïve 支付失败 🙂",
        title="Titel",
        service="settle",
        environment="prod",
        region="eu",
        language="python",
        acl=("b", "a"),
        severity=17,
        paths=("a/b.py",),
        symbols=("a/b.py::C.f",),
        error_signature="e1",
        stack_signature="s1",
        keys={"trace_id": "t1"},
        source="logs/x.jsonl:3",
        attributes={"record": {"n": 1, "deep": [1.5, None, True]}},
    )

    assert await index.put([put]) == 1
    assert await index.get(["ü/1"], acl=("a",)) == [put]
    assert ids(await index.lexical(query("支付", acl=("a",)))) == ["ü/1"]


async def test_a_second_put_replaces_the_first(index: Index) -> None:
    await index.put([document("1", "first wording")])
    await index.put([document("1", "second wording")])

    assert await index.count(query()) == 1
    assert ids(await index.lexical(query("first"))) == []
    assert ids(await index.lexical(query("second"))) == ["1"]


async def test_of_one_id_in_a_batch_the_last_counts(index: Index) -> None:
    assert await index.put([document("1", "first"), document("1", "second")]) == 1
    assert [hit.document.text for hit in await index.lexical(query())] == ["second"]


@pytest.mark.parametrize("shuffle", range(4))
async def test_ties_come_by_time_then_id_however_they_were_ingested(index: Index, shuffle: int) -> None:
    documents = [document(f"d{n:02}", "same words here", time_ns=100 + n % 3) for n in range(30)]
    expected = sorted(documents, key=lambda d: (-d.time_ns, d.id))
    order = random.Random(shuffle)
    order.shuffle(documents)
    while documents:
        size = order.randint(1, 7)
        batch, documents = documents[:size], documents[size:]
        await index.put(batch)

    for limit in (5, 12, 30, 100):
        for text in ("", "words"):
            assert ids(await index.lexical(query(text, limit=limit))) == [d.id for d in expected][:limit]


async def test_scores_do_not_depend_on_the_way_of_ingest(open_store: Open, clock: FixedClock) -> None:
    documents = [document(f"d{n}", f"alpha {'beta ' * (n % 5)} gamma{n % 3}", time_ns=n) for n in range(40)]
    answers = []
    for size in (40, 7, 1):
        index = await open_store(None, clock=clock)
        put = documents if size == 40 else list(reversed(documents))
        for at in range(0, len(put), size):
            await index.put(put[at : at + size])
        answers.append(
            [(hit.document.id, hit.score) for hit in await index.lexical(query("beta gamma1 alpha", limit=9))]
        )
        await index.close()

    assert answers[0] == answers[1] == answers[2]


async def test_rarer_and_denser_words_score_higher(index: Index) -> None:
    await index.put(
        [document("rare", "timeout common"), *[document(f"c{n}", "common common filler") for n in range(5)]]
    )

    hits = await index.lexical(query("timeout common"))
    assert ids(hits)[0] == "rare"
    assert hits[0].score > hits[1].score > 0


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"kinds": ("diff",)}, ["other"]),
        ({"services": ("settle", "edge")}, ["here", "other"]),
        ({"services": ("settle",)}, ["here"]),
        ({"environment": "prod"}, ["here"]),
        ({"language": "python"}, ["here"]),
        ({"from_ns": 100, "to_ns": 200}, ["here"]),
        ({"from_ns": 101}, ["other"]),
        ({"to_ns": 100}, []),
        ({"keys": {"trace_id": "t1"}}, ["here"]),
        ({"keys": {"trace_id": "t1", "span_id": "s9"}}, []),
        ({"snapshot": "build-2"}, ["built"]),
        ({"kinds": ("unknown",)}, []),
        ({"services": ("unknown",)}, []),
        ({"environment": "unknown"}, []),
        ({"snapshot": "unknown"}, []),
    ],
)
async def test_filters_are_hard(index: Index, fields: dict[str, object], wanted: list[str]) -> None:
    await index.put(
        [
            document(
                "here",
                service="settle",
                environment="prod",
                language="python",
                keys={"trace_id": "t1", "span_id": "s1"},
                paths=("a.py",),
            ),
            document("other", kind="diff", service="edge", time_ns=200, keys={"trace_id": "t2"}, paths=("a.py",)),
            document("built", snapshot="build-2", paths=("a.py",)),
        ]
    )
    vector = (await WordVectors().embed(["payment declined"]))[0]
    await settled(index)

    assert sorted(ids(await index.lexical(query("payment", **fields)))) == wanted
    assert sorted(ids(await index.lexical(query("", **fields)))) == wanted
    assert sorted(ids(await index.dense(query("", vector=vector, **fields)))) == wanted
    assert sorted(ids(await index.symbolic(query("", paths=("a.py",), **fields)))) == wanted
    assert await index.count(query("", **fields)) == len(wanted)


async def settled(index: Index) -> None:
    """Engines that embed in the background say when they are done."""
    settle = getattr(index, "settle", None)
    if settle is not None:
        assert await settle() == ""


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    held=st.lists(st.frozensets(st.sampled_from("abcd"), max_size=3), min_size=1, max_size=6),
    reader=st.frozensets(st.sampled_from("abcde"), max_size=3),
)
async def test_nobody_sees_what_no_tag_of_theirs_allows(
    open_store: Open, held: list[frozenset[str]], reader: frozenset[str]
) -> None:
    index = await open_store(None, clock=FixedClock(), embedder=WordVectors())
    documents = [document(f"d{n}", acl=tuple(sorted(tags)), paths=("a.py",)) for n, tags in enumerate(held)]
    await index.put(documents)
    await settled(index)
    visible = {d.id for d in documents if reader & set(d.acl)}
    vector = (await WordVectors().embed(["payment declined"]))[0]
    asked = query("payment", acl=tuple(reader), vector=vector, paths=("a.py",))

    for leg in (index.lexical, index.dense, index.symbolic):
        assert set(ids(await leg(asked))) == visible
    assert {d.id for d in await index.get([d.id for d in documents], acl=tuple(reader))} == visible
    assert await index.count(asked) == len(visible)
    assert await index.delete(asked) == len(visible)
    await index.close()


async def test_the_symbolic_score_is_the_jaccard_overlap(index: Index) -> None:
    documents = [
        document("same", paths=("a.py",), symbols=("a.py::C.f",), error_signature="e"),
        document("half", paths=("a.py", "b.py"), symbols=("a.py::g",)),
        document("none", paths=("z.py",)),
        document("keyed", keys={"commit_sha": "abc"}, paths=("z.py",)),
    ]
    await index.put(documents)
    asked = query(paths=("a.py",), symbols=("a.py::f",), error_signature="e")

    hits = await index.symbolic(asked)

    assert ids(hits) == ["same", "half"]
    assert [hit.score for hit in hits] == pytest.approx([symbol_overlap(asked, d) for d in documents[:2]])
    assert hits[0].score == 1.0
    keyed = query(keys={"commit_sha": "abc"})
    assert [(h.document.id, h.score) for h in await index.symbolic(keyed)] == [
        ("keyed", pytest.approx(symbol_overlap(keyed, documents[3])))
    ]


async def test_the_dense_score_is_the_cosine(index: Index) -> None:
    await index.put([document("near", "card declined by bank"), document("far", "weather is fine today")])
    await settled(index)
    near, far, asked = await WordVectors().embed(["card declined by bank", "weather is fine today", "card declined"])

    hits = await index.dense(query(vector=asked))

    assert ids(hits) == ["near", "far"]
    for hit, vector in zip(hits, (near, far), strict=True):
        assert hit.score == pytest.approx(sum(a * b for a, b in zip(vector, asked, strict=True)), abs=2e-3)


async def test_a_vector_of_another_length_is_refused(index: Index) -> None:
    await index.put([document("1")])
    await settled(index)

    with pytest.raises(BadInput, match="64"):
        await index.dense(query(vector=(1.0, 0.0)))


async def test_what_expired_is_not_found_and_is_swept(index: Index, clock: FixedClock) -> None:
    await index.put([document("short", expires_ns=2_000), document("long", expires_ns=9_000), document("ever")])
    assert await index.count(query()) == 3

    clock.at_ns = 2_000

    assert sorted(ids(await index.lexical(query("payment")))) == ["ever", "long"]
    assert await index.get(["short"], acl=("public",)) == []
    assert await index.sweep(2_000) == 1
    assert await index.sweep(2_000) == 0
    assert await index.sweep(10_000) == 1
    assert ids(await index.lexical(query())) == ["ever"]


async def test_delete_takes_what_passes_the_filters(index: Index) -> None:
    await index.put([document("1", service="a"), document("2", service="b"), document("3", service="a", acl=("x",))])

    assert await index.delete(query(services=("a",))) == 1
    assert ids(await index.lexical(query("declined"))) == ["2"]
    assert len(await index.get(["3"], acl=("x",))) == 1


async def test_an_alias_moves_from_snapshot_to_snapshot(index: Index) -> None:
    await index.put([document("old", snapshot="b1"), document("new", snapshot="b2")])

    await index.alias("current", "b1")
    assert ids(await index.lexical(query("", snapshot="current"))) == ["old"]
    await index.alias("current", "b2")
    assert ids(await index.lexical(query("", snapshot="current"))) == ["new"]


@pytest.mark.parametrize(
    "hidden",
    [
        document("bad", "it is hunter2"),
        document("bad", title="hunter2"),
        document("bad", keys={"endpoint": "/hunter2"}),
        document("bad", attributes={"record": [{"password": ["x", "hunter2"]}]}),
    ],
    ids=["text", "title", "key", "attribute"],
)
async def test_a_surviving_secret_refuses_the_whole_batch_and_is_not_repeated(index: Index, hidden: Document) -> None:

    with pytest.raises(SecretSurvived, match="bad") as refused:
        await index.put([document("good"), hidden])

    assert "hunter2" not in str(refused.value)
    assert await index.count(query()) == 0


async def test_hostile_text_is_only_text(index: Index) -> None:
    texts = ["'; DROP TABLE documents; --", "\x00\x1b[31m", "\ud800 lone", "a" * 5_000, "{{ 7*7 }}", ""]
    await index.put([document(f"h{n}", text, attributes={"big": 10**30, "text": text}) for n, text in enumerate(texts)])

    assert await index.count(query()) == len(texts)
    for text in texts:
        await index.lexical(query(text * 3, services=(text,), keys={text: text}, paths=(text,)))
    assert ids(await index.lexical(query("DROP TABLE"))) == ["h0"]


async def test_get_keeps_the_order_that_was_asked_for(index: Index) -> None:
    await index.put([document(str(n)) for n in range(5)])

    assert [d.id for d in await index.get(["3", "0", "9", "3"], acl=("public",))] == ["3", "0", "3"]


async def test_a_limit_of_nothing_is_nothing(index: Index) -> None:
    await index.put([document("1")])

    assert await index.lexical(query("payment", limit=0)) == []


async def test_a_store_in_a_folder_is_there_when_it_is_opened_again(open_store: Open, tmp_path: Path) -> None:
    first = await open_store(tmp_path / "store", clock=FixedClock(), embedder=WordVectors())
    await first.put([document(f"d{n}", f"text number {n} declined", keys={"n": str(n)}) for n in range(20)])
    await first.delete(query(keys={"n": "3"}))
    await first.alias("current", "live")
    await settled(first)
    vector = (await WordVectors().embed(["text number 7 declined"]))[0]
    asked = query("number 7", vector=vector, snapshot="current")
    before = [await first.lexical(asked), await first.dense(asked)]
    await first.close()

    second = await open_store(tmp_path / "store", clock=FixedClock(), embedder=WordVectors())

    assert [await second.lexical(asked), await second.dense(asked)] == before
    assert await second.count(query()) == 19
    await second.close()
