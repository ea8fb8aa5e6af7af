"""Two thousand bodies that nobody should send; a hundred thousand: `python -m tests.benchmarks fuzz`."""

import random
from pathlib import Path

from tests.benchmarks.fuzz import PEAK_MB, fuzz, mutated, seeds


async def test_no_body_brings_the_server_down_and_every_refusal_says_why(tmp_path: Path) -> None:
    report = await fuzz(2_000, tmp_path)

    assert report.sent == 2_000
    assert report.faults == []
    assert report.peak_mb <= PEAK_MB
    assert (report.left, report.marked) == (0, True)
    told = {status.split()[1] for status in report.statuses}
    assert {"202", "200", "400", "401", "404", "415"} <= told, "the bodies reach what they are for"


def test_the_same_seed_makes_the_same_bodies() -> None:
    first, second = (
        [mutated(random.Random(n), body) for bodies in seeds().values() for n, body in enumerate(bodies)]
        for _ in range(2)
    )

    assert first == second
