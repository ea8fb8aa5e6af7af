"""Foreign text can neither mention, link, format, hide nor steer."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.text import clean, cut, file_name, mrkdwn, web_address


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("<!channel> now", "‹!channel> now"),
        ("<@U123> <#C1> <!subteam^S1>", "‹@U123> ‹#C1> ‹!subteam^S1>"),
        ("@here @Channel @everyone @heresy", "＠here ＠Channel ＠everyone @heresy"),
        ("a\x1b[31mred\x1b[0m \x1b]0;title\x07b\x9b1mc", "ared bc"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("user\u202egpj.exe\u202c \u2066x\u2069", "usergpj.exe x"),
        ("ze\u200bro\u200d wi\ufeffdth\u00ad", "zero width"),
        ("tag\U000e0041\U000e0042s \ufe0f\u3164", "tags"),
        ("one\r\ntwo\u2028three\x0bfour\tfive", "one two three four five"),
        ("\x00\x07\x08\x7f\ud800\ue000l\ue001", "l"),
        ("{{ 7*7 }}{% raw %}", "{{ 7*7 }}{% raw %}"),
    ],
)
def test_what_acts_is_taken_out_and_the_rest_stays(foreign: str, shown: str) -> None:
    assert clean(foreign) == shown


def test_lines_are_kept_where_lines_are_wanted() -> None:
    assert clean("a\r\n\tb\x1b[1m\n", keep_lines=True) == "a\n\tb"


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("*bold* ~no~ `code`", "∗bold∗ ∼no∼ ˋcodeˋ"),
        ("_it_ snake_case __init__", "＿it＿ snake_case ＿＿init＿＿"),
        ("<https://evil.example|click>", "&lt;https://evil.example|click&gt;"),
        ("<!here|x>", "‹!here|x&gt;"),
    ],
)
def test_where_slack_parses_nothing_is_left_to_parse(foreign: str, shown: str) -> None:
    assert mrkdwn(foreign) == shown


def test_a_cut_never_tears_a_character_apart() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abcde…"
    assert cut("abcde\u0301fg", 6) == "abcd…"
    assert cut("🇩🇪🇫🇷🇪🇸", 4) == "🇩🇪…"
    assert cut("👍🏽👍🏽", 3) == "👍🏽…"
    assert cut("anything", 0) == ""


@given(st.text(), st.integers(0, 50))
def test_a_cut_is_never_too_long(text: str, most: int) -> None:
    assert len(cut(text, most)) <= most


@given(st.text())
def test_clean_text_is_clean_for_good(text: str) -> None:
    once = clean(text)

    assert clean(once) == once
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") for c in once)
    assert not any(form in once for form in ("<!", "<@", "<#", "\n"))


@given(st.text())
def test_mrkdwn_holds_no_bare_angle(text: str) -> None:
    assert "<" not in mrkdwn(text) and ">" not in mrkdwn(text)


def test_a_file_name_is_no_path() -> None:
    assert file_name("../../etc/passwd") == "etc-passwd"
    assert file_name("-rf .. \x00") == "rf"
    assert file_name("///") == "incident"
    assert len(file_name("x" * 500)) == 80


@pytest.mark.parametrize(
    "foreign",
    [
        "javascript:alert(1)",
        "https://user:pw@evil.example/",
        "https://evil.example/<!channel>",
        "https://evil.example/a b",
        "ftp://x",
        "https://x/" + "a" * 3000,
        "",
    ],
)
def test_only_plain_web_addresses_become_links(foreign: str) -> None:
    assert web_address(foreign) == ""
    assert web_address(" https://wiki.example.com:8443/r/7?x=1#y ") == "https://wiki.example.com:8443/r/7?x=1#y"
