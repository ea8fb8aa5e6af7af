"""Which healthy traces are kept."""

import random

import pytest

from retrieval.ingest.sampling import sampled

IDS = [f"{random.Random(5).getrandbits(128) + n:032x}" for n in range(20_000)]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_about_the_share_is_kept_also_of_ids_that_count_up(share: float) -> None:
    kept = sum(sampled(i, share) for i in IDS)

    assert abs(kept - share * len(IDS)) < 4 * (share * (1 - share) * len(IDS)) ** 0.5


def test_none_is_kept_of_nothing_and_all_of_all() -> None:
    assert not any(sampled(i, 0.0) for i in IDS)
    assert all(sampled(i, 1.0) for i in IDS)


def test_a_larger_share_keeps_what_a_smaller_one_keeps() -> None:
    assert {i for i in IDS if sampled(i, 0.1)} < {i for i in IDS if sampled(i, 0.2)}


def test_the_same_trace_is_decided_the_same_way_by_every_process() -> None:
    assert [i for i in IDS[:40] if sampled(i, 0.1)] == [i for i in reversed(IDS[:40]) if sampled(i, 0.1)][::-1]
    assert sampled("4bf92f3577b34da6a3ce929d0e0e4736", 0.1) is False
