"""The redactor against two sets that were labelled by somebody who had not read its rules.

Set `a` was looked at while rules were made, set `b` was not: that is what a stranger's logs may expect.
"""

import pytest

from tests.benchmarks.redaction import PRECISION, RECALL, SETS, judge, read

# Reached on `b` when it was first scored after the rules were made. The goal is RECALL there too; not met yet.
REACHED_UNSEEN = 0.91


@pytest.mark.parametrize(("name", "recall"), [("a", RECALL), ("b", REACHED_UNSEEN)])
def test_what_must_go_goes_and_what_must_stay_stays(name: str, recall: float) -> None:
    figures = judge(sorted((SETS / name).glob("*.jsonl")))

    assert figures.lines >= 2_000
    assert figures.recall >= recall
    assert figures.precision >= PRECISION
    assert figures.kept / figures.keep >= 0.99


@pytest.mark.parametrize("name", ["a", "b"])
def test_the_labels_are_whole(name: str) -> None:
    files = sorted((SETS / name).glob("*.jsonl"))
    assert len(files) == 10
    for path in files:
        for labelled in read(path):
            ends = [0]
            for start, end, kind in labelled.sensitive:
                assert ends[-1] <= start < end <= len(labelled.line)
                assert kind
                ends.append(end)
