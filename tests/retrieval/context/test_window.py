"""Durations as people write them, and the window that they make."""

import pytest

from retrieval.context.window import make_window, parse_duration
from retrieval.errors import BadInput
from tests.retrieval.context.scene import MINUTE, at, onset


@pytest.mark.parametrize(
    ("text", "minutes"), [("90s", 1.5), ("45m", 45), ("1h30m", 90), ("24h", 1440), ("2d", 2880), (" 1.5H ", 90)]
)
def test_durations_are_read(text: str, minutes: float) -> None:
    assert parse_duration(text) == minutes * MINUTE


@pytest.mark.parametrize("text", ["", "45", "m", "-5m", "5 m", "5x", "1h junk", "0m", "400d", "9" * 30 + "h", "1h;rm"])
def test_anything_else_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_duration(text)
    assert text[:40] in str(caught.value) and "45m" in caught.value.remedy


def test_the_window_lies_around_the_onset() -> None:
    window = make_window(onset(-5))
    assert (window.from_ns, window.to_ns, window.diffs_from_ns) == (at(-50), at(10), at(-5 - 1440))
    assert make_window(onset(0), before="1h", after="1m", diffs="2h").diffs_from_ns == at(-120)
