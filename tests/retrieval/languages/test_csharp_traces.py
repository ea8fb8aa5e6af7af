"""What the captured .NET traces do not show. Those follow the format that .NET documents and its source prints."""

import textwrap

import pytest

from retrieval.languages import LANGUAGES
from retrieval.languages.chain import MAX_CHAIN
from retrieval.languages.csharp.frames import in_app, qualname
from retrieval.model import StackTrace
from tests.contract.language import every


def parse(text: str) -> list[StackTrace]:
    return LANGUAGES["csharp"].parse(textwrap.dedent(text))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Acme.Shop.Cart..ctor", "Acme.Shop.Cart.Cart"),
        ("Acme.Shop.Table`1..cctor", "Acme.Shop.Table.Table"),
        ("Acme.Shop.Cart.<>c.<Total>b__3_0", "Acme.Shop.Cart.Total"),
        ("Acme.Shop.Cart.<>c__DisplayClass3_0`1.<Total>b__0", "Acme.Shop.Cart.Total"),
        ("Acme.Shop.Cart.<PayAsync>d__5.MoveNext", "Acme.Shop.Cart.PayAsync"),
        ("Acme.Shop.Cart.<Pay>g__Once|7_0[T]", "Acme.Shop.Cart.Pay.Once"),
        ("Acme.Shop.Cart+Line.get_Price", "Acme.Shop.Cart.Line.Price"),
        ("Program.<Main>$", "Program.Main"),
        ("get_Price", "Price"),
    ],
)
def test_a_function_is_named_as_its_symbol(printed: str, expected: str) -> None:
    assert qualname(printed) == expected


@pytest.mark.parametrize(
    ("function", "own"),
    [
        ("System.Linq.Enumerable.First", False),
        ("Microsoft.AspNetCore.Mvc.Controller.Do", False),
        ("Npgsql.NpgsqlCommand.Execute", False),
        ("lambda_method5", False),
        ("SystemShop.Cart.Total", True),
        ("Acme.Shop.Cart.Total", True),
    ],
)
def test_the_platform_is_not_the_applications_own(function: str, own: bool) -> None:
    assert in_app(function) is own


def test_a_chain_that_is_cut_inside_its_inner_exception_keeps_what_is_there() -> None:
    (trace,) = parse(
        """\
        Acme.RefusedException: no
         ---> System.FormatException: bad
        of two lines
           at Acme.Sku.Parse(String text)
        2026-11-30 22:50:46 INFO going on
        """
    )
    assert (trace.type, trace.frames, trace.root.message) == ("Acme.RefusedException", (), "bad\nof two lines")


def test_frames_without_an_exception_above_have_no_type() -> None:
    (trace,) = parse("2026-11-30 22:50:45 INFO x\n   at Acme.Cart.Total()\n")
    assert (trace.type, [f.function for f in trace.frames]) == ("", ["Acme.Cart.Total"])


def test_an_exception_whose_name_does_not_say_so_is_known_by_its_namespace() -> None:
    (trace,) = parse("Acme.Shop.Refused: no\n   at Acme.Cart.Total()\n")
    assert (trace.type, trace.message) == ("Acme.Shop.Refused", "no")


def test_inner_exceptions_below_the_deepest_link_are_cut() -> None:
    lines = ["A.TopException: x", *[" ---> A.InnerException: y" for _ in range(200)], "   at A.B.C()"]
    lines += ["   --- End of inner exception stack trace ---"] * 200
    (trace,) = parse("\n".join(lines))
    assert len(every([trace])) <= MAX_CHAIN + 1


def test_what_follows_a_closed_aggregate_is_another_exception() -> None:
    first, second = parse(
        """\
        System.AggregateException: two
         ---> A.OneException: 1
           at A.B.One()
           --- End of inner exception stack trace ---
         ---> (Inner Exception #1) A.TwoException: 2
           at A.B.Two()<---

        A.ThreeException: 3
           at A.B.Three()
        """
    )
    assert [m.message for m in first.members] == ["1", "2"]
    assert second.message == "3"
