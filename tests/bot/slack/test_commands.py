"""The `/triage` grammar: what is typed at three in the morning, on a phone too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model import Rerun
from bot.slack.commands import Again, Help, Judge, Look, NotYet, Wrong, parse

NOW = 1_796_047_500 * 10**9  # 2026-11-30 14:05 UTC
H14_02 = 1_796_047_320 * 10**9


def read(text: str) -> object:
    return parse(text, user="U1", now_ns=NOW)


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("", Help()),
        ("  HELP ", Help()),
        ("status", Look("status")),
        ("evidence inc-42", Look("evidence", "inc-42")),
        ("bundle inc-42", Look("bundle", "inc-42")),
        ("ask why", NotYet("ask")),
        ("flaky com.acme.Test", NotYet("flaky")),
        ("feedback right", Judge(user="U1", verdict="right")),
        ("feedback inc-42 Wrong", Judge(user="U1", incident="inc-42", verdict="wrong")),
        ("feedback inc-42 wrong A1B2C3D", Judge(user="U1", incident="inc-42", verdict="wrong", commit="a1b2c3d")),
        ("rerun", Again(wish=Rerun(user="U1"))),
        ("rerun inc-42 --window 45m..15m", Again(incident="inc-42", wish=Rerun(user="U1", before="45m", after="15m"))),
        ("rerun --window 2h", Again(wish=Rerun(user="U1", before="2h"))),
        ("rerun --window=..30m", Again(wish=Rerun(user="U1", after="30m"))),
        ("rerun —service checkout", Again(wish=Rerun(user="U1", service="checkout"))),
        (
            "rerun --service “checkout” --snapshot s-42",
            Again(wish=Rerun(user="U1", service="checkout", snapshot="s-42")),
        ),
        ("rerun --as-of 14:02", Again(wish=Rerun(user="U1", as_of_ns=H14_02))),
        ("rerun --as-of 23:59", Again(wish=Rerun(user="U1", as_of_ns=H14_02 - (14 * 60 + 3) * 60 * 10**9))),
        ("rerun --as-of 2026-11-30T14:02", Again(wish=Rerun(user="U1", as_of_ns=H14_02))),
        ("rerun --as-of 2026-11-30T15:02+01:00", Again(wish=Rerun(user="U1", as_of_ns=H14_02))),
        ("rerun --as-of 1796047320", Again(wish=Rerun(user="U1", as_of_ns=H14_02))),
        ("rerun --as-of 3m", Again(wish=Rerun(user="U1", as_of_ns=H14_02))),
    ],
)
def test_it_reads_what_is_meant(text: str, wish: object) -> None:
    assert read(text) == wish


@pytest.mark.parametrize(
    "text",
    [
        "sttaus",
        "status a b",
        "status <!channel>",
        "rerun a b",
        "rerun --window",
        "rerun --window 0m",
        "rerun --window 99d",
        "rerun --window 5m..",
        "rerun --window 1m..2m..3m",
        "rerun --window ..",
        "rerun --service ../etc/passwd",
        "rerun --service",
        "rerun --as-of soon",
        "rerun --as-of 25:00",
        "rerun --colour red",
        "feedback",
        "feedback inc-42",
        "feedback inc-42 maybe",
        "feedback a b right",
        "feedback right not-a-commit",
        "feedback right a1b2c3d extra",
        "feedback --x right",
    ],
)
def test_what_it_cannot_read_it_names_with_an_example(text: str) -> None:
    wish = read(text)
    if text == "rerun --window 5m..":
        assert wish == Again(wish=Rerun(user="U1", before="5m"))
        return

    assert isinstance(wish, Wrong)
    assert wish.word and (wish.example or wish.options)


@given(st.text(max_size=300))
def test_nothing_that_is_typed_breaks_it(text: str) -> None:
    read(text)
    read("rerun " + text)
    read("feedback " + text)
