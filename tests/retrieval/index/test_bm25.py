"""BM25 against the formula written out, over whatever was written, replaced and deleted before."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.index import open_index
from retrieval.index.analyzer import analyze
from retrieval.index.bm25 import rounded_length
from retrieval.index.embedded import postings
from retrieval.model import Document
from tests.contract.index_documents import FixedClock, document, query

WORDS = ["pay", "cart", "userId", "db_pool", "x", "支付", "a/b.py:4"]
texts = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.tuples(st.integers(0, 9), texts, st.integers(0, 3)), max_size=5)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
    ),
    max_size=8,
)


def written_out(held: dict[str, Document], asked: str) -> list[tuple[str, float]]:
    """Score every document by the formula of Robertson and Zaragoza as Lucene has it, in plain Python."""
    terms = {key: Counter(analyze(f"\n{d.text}")) for key, d in held.items()}
    lengths = {key: sum(counts.values()) for key, counts in terms.items()}
    average = sum(lengths.values()) / len(held) if held else 0
    found = []
    for key, counts in terms.items():
        score = 0.0
        for term in set(analyze(asked)):
            if counts[term]:
                frequency = sum(term in other for other in terms.values())
                idf = math.log(1 + (len(held) - frequency + 0.5) / (frequency + 0.5))
                norm = 1.2 * (0.25 + 0.75 * rounded_length(lengths[key]) / average)
                score += idf * counts[term] / (counts[term] + norm)
        if score > 0:
            found.append((key, score))
    return sorted(found, key=lambda f: (-round(f[1], 9), -held[f[0]].time_ns, f[0]))


@settings(max_examples=60, deadline=None)
@given(steps=steps, asked=texts, limit=st.integers(1, 12))
async def test_scores_and_order_are_the_formula_s(steps: list[tuple[str, object]], asked: str, limit: int) -> None:
    index = await open_index(None, clock=FixedClock())
    held: dict[str, Document] = {}
    for action, value in steps:
        if action == "put":
            documents = [document(f"d{n}", text, time_ns=at) for n, text, at in value]  # type: ignore[attr-defined]
            held.update((d.id, d) for d in documents)
            await index.put(documents)
        else:
            victim = held.pop(f"d{value}", None)
            doomed = query(keys={"none": "none"}) if victim is None else query(from_ns=-1, to_ns=-1)
            assert await index.delete(doomed) == 0
            if victim is not None:
                await index.put([document(victim.id, "", keys={"doomed": "yes"})])
                assert await index.delete(query(keys={"doomed": "yes"})) == 1

    hits = await index.lexical(query(asked, limit=limit))
    await index.close()

    if asked.strip():
        expected = written_out(held, asked)[:limit]
    else:
        newest = sorted(held.values(), key=lambda d: (-d.time_ns, d.id))
        expected = [(d.id, 0.0) for d in newest][:limit]
    assert [h.document.id for h in hits] == [key for key, _ in expected]
    assert [h.score for h in hits] == pytest.approx([score for _, score in expected])


@pytest.mark.parametrize(("length", "rounded"), [(0, 0), (23, 23), (40, 40), (41, 40), (100, 96), (1000, 984)])
def test_lengths_are_rounded_as_lucene_s_byte_does(length: int, rounded: int) -> None:
    assert rounded_length(length) == rounded


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=40))
def test_merged_segments_hold_what_one_segment_would(documents: list[list[str]]) -> None:
    packed = [postings.pack(terms, []) for terms in documents]
    grown: tuple[postings.Segment, ...] = ()
    for slot, one in enumerate(packed):
        grown = postings.append(grown, postings.build([one], slot))
    whole = postings.build(packed, 0)

    assert len(grown) <= 1 + math.log2(len(packed) + 1)
    for term in "abcdefg":
        pieces = [segment.entries(postings.term_hash(term)) for segment in grown]
        slots = [int(s) for found, _ in pieces for s in found]
        counts = [int(c) for _, found in pieces for c in found]
        assert slots == whole.entries(postings.term_hash(term))[0].tolist()
        assert counts == whole.entries(postings.term_hash(term))[1].tolist()
