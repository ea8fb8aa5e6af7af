"""Terms of a text: whole tokens and their parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.index.analyzer import analyze


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Payment declined!", ["payment", "declined"]),
        (
            "PaymentGatewayClient.authorizeCharge",
            [
                "paymentgatewayclient.authorizecharge",
                "paymentgatewayclient",
                "payment",
                "gateway",
                "client",
                "authorizecharge",
                "authorize",
                "charge",
            ],
        ),
        ("db_pool_size=4", ["db_pool_size", "db", "pool", "size", "4"]),
        ("(/srv/a/b.py:412)", ["srv/a/b.py:412", "srv", "a", "b", "py", "412"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("4bf92f3577b34da6 10.0.0.1:80 -12.5", ["4bf92f3577b34da6", "10.0.0.1:80", "12.5"]),
        ("order-4BF92F3577B34DA6", ["order-4bf92f3577b34da6", "order", "4bf92f3577b34da6"]),
        ("ＦＯＯ naïve", ["foo", "naïve"]),
        ("支付失败", ["支付失败", "支付", "付失", "失败"]),
        ("--- ... ___ !", []),
        ("", []),
    ],
)
def test_a_text_has_these_terms(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


@given(st.text(max_size=300))
def test_any_text_gives_terms_without_capitals_spaces_or_nul(text: str) -> None:
    for term in analyze(text):
        assert term and "\0" not in term
        assert not any(c.isspace() for c in term)
        assert len(term) <= 600


@given(st.text(max_size=200), st.text(max_size=200))
def test_terms_of_two_lines_are_those_of_each(first: str, second: str) -> None:
    assert analyze(f"{first}\n{second}") == analyze(first) + analyze(second)


def test_a_blob_is_known_by_its_beginning() -> None:
    assert len(analyze("x" * 100_000)) == 1
