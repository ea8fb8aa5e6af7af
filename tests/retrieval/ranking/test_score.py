"""The default score: its parts, its weights, what is missing, what never reaches zero."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.index.overlap import jaccard, path_proximity, plain_symbol, symbol_overlap
from retrieval.ranking.score import DEFAULT, Weights, ranked, recency, score
from tests.contract.index_documents import HOUR, document, query

NOW = 1_000_000 * HOUR
ASKED = query(
    "boom", paths=("price/format.py",), symbols=("price/format.py::f",), error_signature="e1", stack_signature="s1"
)
SAME = document(
    "same",
    time_ns=NOW,
    paths=("price/format.py",),
    symbols=("price/format.py::Coupon.f",),
    error_signature="e1",
    stack_signature="s1",
)


def test_what_agrees_in_everything_scores_one() -> None:
    hit = score(ASKED, SAME, {"lexical": 1.0, "dense": 1.0}, NOW)

    assert hit.score == 1.0
    assert hit.parts == {"symbol": 1.0, "path": 1.0, "lexical": 1.0, "dense": 1.0, "recency": 1.0}


def test_what_agrees_in_nothing_scores_zero() -> None:
    hit = score(ASKED, document("other", time_ns=0, paths=("x/y.go",)), {"lexical": 0.0, "dense": -0.5}, NOW)

    assert hit.score == 0.0


@pytest.mark.parametrize(
    ("part", "weight"), [("symbol", 0.35), ("path", 0.2), ("lexical", 0.2), ("dense", 0.2), ("recency", 0.05)]
)
def test_each_part_weighs_what_the_formula_says(part: str, weight: float) -> None:
    assert getattr(DEFAULT, part) == weight


def test_a_missing_leg_is_not_held_against_anything() -> None:
    without = score(ASKED, SAME, {"lexical": 1.0, "dense": None}, NOW)

    assert without.score == 1.0
    assert "dense" not in without.parts


def test_weights_can_be_others() -> None:
    only_words = Weights(symbol=0, path=0, lexical=2.0, dense=0, recency=0)

    assert score(ASKED, SAME, {"lexical": 0.25, "dense": 1.0}, NOW, only_words).score == 0.25
    assert score(ASKED, SAME, {}, NOW, only_words).score == 0.0


def test_age_halves_recency_but_a_matching_signature_keeps_some() -> None:
    plain = document("plain", time_ns=NOW - 6 * HOUR)
    ancient = document("ancient", time_ns=NOW - 100_000 * HOUR, error_signature="e1")

    assert recency(ASKED, plain, NOW) == pytest.approx(0.5)
    assert recency(ASKED, document("same age after", time_ns=NOW + 6 * HOUR), NOW) == pytest.approx(0.5)
    assert recency(ASKED, ancient, NOW) == DEFAULT.floor > 0
    assert recency(ASKED, document("timeless", time_ns=0), NOW) == 0.0
    assert recency(query(), document("no signatures"), NOW) < 1e-9


def test_a_document_s_own_weight_scales_its_words() -> None:
    cause = document("cause", attributes={"weight": 1.3})
    ceremony = document("ceremony", attributes={"weight": 0.7})
    legs = {"lexical": 0.5, "dense": None}

    assert score(ASKED, cause, legs, NOW).parts["lexical"] == pytest.approx(0.65)
    assert score(ASKED, ceremony, legs, NOW).parts["lexical"] == pytest.approx(0.35)


def test_each_document_is_ranked_once_by_its_best_score_and_ties_by_id() -> None:
    hits = [score(ASKED, document(key), {"lexical": value}, NOW) for key, value in (("b", 0.5), ("a", 0.5), ("b", 0.9))]

    assert [h.document.id for h in ranked(hits, 9)] == ["b", "a"]
    assert [h.document.id for h in ranked(list(reversed(hits[:2])), 9)] == ["a", "b"]


@pytest.mark.parametrize(
    ("left", "right", "proximity"),
    [
        ("a/b/c.py", "a/b/c.py", 1.0),
        ("src/a/b/c.py", "a/b/c.py", 0.75),
        ("a/b/c.py", "a/b/d.py", 2 / 3),
        ("a/b.py", "x/y.go", 0.0),
        ("x/shop/price/a.py", "y/shop/price/b.py", 0.5),
    ],
)
def test_paths_are_near_by_their_longest_common_run(left: str, right: str, proximity: float) -> None:
    assert path_proximity([left], [right]) == pytest.approx(proximity)
    assert path_proximity([right], [left]) == pytest.approx(proximity)


def test_no_paths_are_not_near() -> None:
    assert path_proximity([], ["a"]) == path_proximity(["a"], []) == 0.0


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")))
def test_overlap_is_symmetric_and_one_only_for_equals(left: set[str], right: set[str]) -> None:
    value = jaccard(len(left & right), len(left), len(right))

    assert value == jaccard(len(right & left), len(right), len(left))
    assert 0 <= value <= 1
    assert (value == 1) == (left == right and bool(left))


def test_symbols_match_across_the_ways_they_are_printed() -> None:
    assert plain_symbol("a.py::C.D.f") == plain_symbol("a.py::f") == "a.py::f"
    assert symbol_overlap(query(symbols=("a.py::f",)), document("1", symbols=("b.py::f",))) == 0.0
    assert symbol_overlap(query(keys={"t": "1"}), document("1", keys={"t": "1"})) == 1.0
    assert symbol_overlap(query(), document("1")) == 0.0


def test_no_kind_crowds_out_the_others() -> None:
    logs = [score(ASKED, document(f"log{n}"), {"lexical": 1.0}, NOW) for n in range(9)]
    diff = score(ASKED, document("diff", kind="diff"), {"lexical": 0.1}, NOW)

    assert [h.document.id for h in ranked([*logs, diff], 2)] == ["log0", "log1", "diff"]
