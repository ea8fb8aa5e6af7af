"""Which snapshots there are, which may be published, and the way back."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.snapshots.book import BOOK, Book, Evaluation, Snapshot, read_book, write_book
from retrieval.errors import BadInput, Reason

GOOD = Evaluation(probes=100, empty_hits=0.18, faithfulness=0.82)


def book(*names: str, evaluation: Evaluation | None = GOOD) -> Book:
    return Book(snapshots=tuple(Snapshot(id=n, built_ns=at, evaluation=evaluation) for at, n in enumerate(names)))


def published(start: Book, *names: str) -> Book:
    for name in names:
        start = start.published(name)
    return start


def test_three_can_be_rolled_back_to_and_no_more() -> None:
    at = published(book("a", "b", "c", "d", "e"), "a", "b", "c", "d", "e")
    assert (at.active, at.earlier) == ("e", ("d", "c", "b"))

    seen = []
    while at.earlier:
        at = at.rolled_back()
        seen.append(at.active)
    assert seen == ["d", "c", "b"]
    with pytest.raises(BadInput, match="nothing was published before"):
        at.rolled_back()


def test_the_first_one_goes_back_to_what_is_live() -> None:
    assert published(book("a"), "a").rolled_back().active == "live"


def test_publishing_the_one_in_force_changes_nothing() -> None:
    at = published(book("a", "b"), "a", "b")
    assert at.published("b") == at


def test_publishing_an_earlier_one_again_is_no_second_entry() -> None:
    at = published(book("a", "b"), "a", "b", "a")
    assert (at.active, at.earlier) == ("a", ("b", "live"))


@pytest.mark.parametrize(
    ("evaluation", "why"),
    [
        (None, "was not evaluated"),
        (replace(GOOD, empty_hits=0.1801), "may not be published"),
        (replace(GOOD, faithfulness=0.8199), "may not be published"),
        (Evaluation(probes=0, empty_hits=0.0, faithfulness=1.0), "may not be published"),
    ],
)
def test_a_gate_that_is_not_met_keeps_it_out(evaluation: Evaluation | None, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refusal:
        book("a", evaluation=evaluation).published("a")
    assert refusal.value.remedy


def test_an_unknown_one_is_named_with_those_that_there_are() -> None:
    with pytest.raises(BadInput, match="no snapshot 'x'") as refusal:
        book("a", "b").known("x")
    assert refusal.value.reason is Reason.NOT_FOUND
    assert "a, b" in refusal.value.remedy


def test_only_what_nobody_can_go_back_to_is_unneeded() -> None:
    at = published(book("a", "b", "c", "d", "e", "f"), "a", "b", "c", "d", "e")

    assert at.unneeded() == ("a",)
    assert [s.id for s in at.without(("a",)).snapshots] == ["b", "c", "d", "e", "f"]
    assert book("a", "b").unneeded() == ()


def test_it_is_kept_in_one_file_that_is_whole_or_the_one_before(tmp_path: Path) -> None:
    assert read_book(tmp_path) == Book()
    at = published(book("a"), "a")
    write_book(tmp_path, at)
    assert read_book(tmp_path) == at
    assert [p.name for p in tmp_path.iterdir()] == [BOOK]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / BOOK).write_text("{")
    with pytest.raises(BadInput, match="cannot be read") as refusal:
        read_book(tmp_path)
    assert refusal.value.remedy
