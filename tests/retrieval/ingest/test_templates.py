"""Repetitive lines become templates, the same ones in any order."""

import random
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.ingest.templates import mask, mine, template_id

LINES = [
    *[f"2026-11-30T22:50:{n:02d}Z GET /v2/rates?to={to} 200 {n}.5ms" for n, to in enumerate(("DE", "PT", "IS", "NL"))],
    *[f"worker {n} took job {n:08x} of account acme" for n in range(30)],
    "cache warmed",
    "cache warmed",
    "connection from 10.0.0.7:4711 closed",
    "connection from 10.0.0.9:4712 closed",
]


def test_lines_that_differ_in_values_are_one_template() -> None:
    mined = mine(LINES)
    assert {t.text: t.count for t in mined.templates} == {
        "worker <num> took job <*> of account acme": 30,
        "<time> GET <*> <num> <num>ms": 4,
        "cache warmed": 2,
        "connection from <ip> closed": 2,
    }


def test_templates_come_most_frequent_first_with_their_first_and_last_line() -> None:
    mined = mine(LINES)
    counts = [t.count for t in mined.templates]
    assert counts == sorted(counts, reverse=True)
    gets = next(t for t in mined.templates if "GET" in t.text)
    assert (gets.first, gets.last) == (LINES[0], LINES[3])


def test_every_line_knows_its_template() -> None:
    mined = mine(LINES)
    for line in LINES:
        assert mined.template_of(line) in mined.by_id
    assert mined.by_id[mined.template_of(LINES[0])].count == 4
    assert mined.template_of("never seen") == template_id("never seen")


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(st.lists(st.text(alphabet="ab 1/=<", max_size=12), max_size=30), st.randoms())
def test_the_order_of_lines_changes_neither_templates_nor_ids(lines: list[str], shuffler: random.Random) -> None:
    other = list(lines)
    shuffler.shuffle(other)
    one, two = mine(lines), mine(other)
    assert [(t.id, t.text, t.count) for t in one.templates] == [(t.id, t.text, t.count) for t in two.templates]
    assert sum(t.count for t in one.templates) == len(lines)


def test_a_mask_is_bounded_and_one_line() -> None:
    assert len(mask("word\n" * 100_000).split()) <= 60
    assert mask("id 9f8b3c1e-1111-4222-8333-444455556666 at 0xdeadbeef, ord_9f3a2c7") == "id <uuid> at <hex>, <id>"


def test_a_batch_of_nothing_alike_takes_time_in_proportion() -> None:
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(3_000)]
    lines = ["start " + " ".join(rng.choices(words, k=9)) for _ in range(5_000)]
    began = time.process_time()
    mined = mine(lines)
    assert time.process_time() - began < 5
    assert sum(t.count for t in mined.templates) == len(lines)


def test_many_first_words_share_a_branch() -> None:
    lines = [
        f"{a}{b}{c}x went up"
        for a in "abcdefghijklmnopqrstuvwxyz"
        for b in "abcdefghijklmnopqrst"
        for c in "abcdefghijklmnopqrstu"
    ]
    mined = mine(lines)
    assert sum(t.count for t in mined.templates) == len(lines)
    assert len(mined.templates) <= 10_001
