"""One error is one error, and one stack is one stack, whoever prints them and wherever they run."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.languages import parse_stack_traces
from retrieval.model import ErrorSignature, Frame, StackTrace
from retrieval.model.signatures import (
    MESSAGE_CAP,
    error_signature,
    normalise_message,
    origins,
    same_error,
    same_type,
    stack_signature,
)


@pytest.mark.parametrize(
    ("message", "normal"),
    [
        ("order 1234 of 0x7f3a failed at /srv/app/x.py", "order <num> of <addr> failed at <path>"),
        ("could not convert string to float: '1,663.80-'", "could not convert string to float: <str>"),
        ("user 9f8b3c1e-1111-4222-8333-444455556666 is gone", "user <uuid> is gone"),
        ("no route to 10.0.0.7:8080 for ada@example.org", "no route to <ip> for <email>"),
        ("GET https://shop.test/a?b=1 failed after 3.5 s", "GET <url> failed after <num> s"),
        ("at 2026-11-30T22:50:45.435Z nothing", "at <time> nothing"),
        (
            "can't compare offset-naive and offset-aware datetimes",
            "can't compare offset-naive and offset-aware datetimes",
        ),
        ("don't take 'this' or 'that'", "don't take <str> or <str>"),
        ("b'\\x00' is no json", "<str> is no json"),
        ("maximum recursion depth exceeded while calling a Python object", "maximum recursion depth exceeded"),
        ("\n\n  first line \nsecond line", "first line"),
        ("no token token:a1b2c3d4e5f60718 here", "no token <id> here"),
        ("", ""),
    ],
)
def test_values_are_taken_out_of_a_message(message: str, normal: str) -> None:
    assert normalise_message(message) == normal


@pytest.mark.parametrize(
    "message",
    [
        "'NoneType' object has no attribute 'strip'",
        "unsupported operand type(s) for +: 'int' and 'NoneType'",
        "name 'rate' is not defined",
        "total() got an unexpected keyword argument 'vat'",
        'Cannot invoke "Order.id()" because "<local4>" is null',
    ],
)
def test_names_of_the_program_are_kept(message: str) -> None:
    assert normalise_message(message) == message


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from("ab0 19./-_'\"`@:<>x\\\n\x00{}é"), max_size=80))
def test_a_normalised_message_is_bounded_and_has_no_second_line(text: str) -> None:
    normal = normalise_message(text)
    assert len(normal) <= MESSAGE_CAP
    assert "\n" not in normal and "\x00" not in normal
    assert normal == normalise_message(text)


def test_a_long_message_is_capped() -> None:
    assert len(normalise_message("word " * 5_000)) <= MESSAGE_CAP


def test_types_are_compared_by_their_last_component() -> None:
    assert same_type("packaging.version.InvalidVersion", "InvalidVersion")
    assert same_type("com.acme.Checkout$Rejected", "Rejected")
    assert not same_type("KeyError", "IndexError")
    assert not same_type("", "")


def test_the_same_error_may_carry_other_values_but_no_other_words() -> None:
    produced = ErrorSignature("packaging.version.InvalidVersion", "Invalid version: 'r38-lts'")
    assert same_error(produced, ErrorSignature("InvalidVersion", "Invalid version: 'hub2'"))
    assert not same_error(produced, ErrorSignature("InvalidVersion", "No version at all"))
    assert not same_error(produced, ErrorSignature("ValueError", "Invalid version: 'r38-lts'"))


def test_a_message_that_was_cut_off_matches_what_it_begins() -> None:
    whole = ErrorSignature("ValueError", "the parcel has no weight and the carrier wants one")
    assert same_error(whole, ErrorSignature("ValueError", "the parcel has no weight and the..."))
    assert same_error(ErrorSignature("ValueError", "the parcel has no weight and the…"), whole)
    assert not same_error(whole, ErrorSignature("ValueError", "the..."))


def test_an_error_signature_depends_on_language_type_and_message_only() -> None:
    one = error_signature("python", "a.b.Gone", "item 7 is gone")
    assert one == error_signature("python", "Gone", "item 1234 is gone")
    assert len({one, error_signature("java", "Gone", "item 7 is gone"), error_signature("python", "Gone", "no")}) == 3
    assert len(one) == 16


def trace(*frames: tuple[str, str, int], own: bool = True) -> StackTrace:
    found = tuple(Frame(file=f, function=n, line=line, in_app=own) for f, n, line in frames)
    return StackTrace(language="python", type="E", message="", frames=found)


def test_a_stack_signature_survives_a_move_and_other_lines() -> None:
    here = stack_signature(trace(("/app/shop/price.py", "total", 3), ("/app/shop/vat.py", "rate", 9)))
    assert here == stack_signature(trace(("shop/price.py", "total", 30), ("shop/vat.py", "rate", 1)))
    assert here == stack_signature(
        trace(("/srv/store/shop/price.py", "total", 4), ("/srv/store/shop/vat.py", "rate", 2))
    )
    assert here != stack_signature(trace(("shop/price.py", "total", 3), ("shop/vat.py", "other", 9)))
    assert here != stack_signature(trace(("shop/price.py", "total", 3), ("orders/vat.py", "rate", 9)))


def test_a_stack_signature_looks_at_the_innermost_frames_of_the_application() -> None:
    inner = [("shop/a.py", f"f{n}", n) for n in range(8)]
    assert stack_signature(trace(*inner)) == stack_signature(trace(("shop/main.py", "main", 1), *inner))
    library = Frame(file="/usr/lib/python3.11/json/decoder.py", function="decode", in_app=False)
    plain = trace(*inner)
    below = StackTrace(language="python", type="E", message="", frames=(*plain.frames, library))
    assert stack_signature(below) == stack_signature(plain)
    assert stack_signature(trace(*inner, own=False)) == stack_signature(plain)


def test_recursion_of_any_depth_is_one_stack() -> None:
    deep = [("a.py", "start", 1), *[("a.py", "again", n) for n in range(50)]]
    assert stack_signature(trace(*deep)) == stack_signature(trace(*deep[:5]))


def test_a_trace_without_frames_has_no_stack_signature() -> None:
    assert stack_signature(trace()) == ""


def test_the_number_of_a_lambda_does_not_matter() -> None:
    text = "java.lang.Error: x\n\tat a.b.C.lambda$price${}(C.java:4)\n\tat a.b.C.main(C.java:9)"
    one, other = (parse_stack_traces(text.format(n))[0] for n in (0, 3))
    assert stack_signature(one) == stack_signature(other)


def test_origins_are_the_bottoms_of_causes_and_of_the_members_of_groups() -> None:
    leaf = [StackTrace(language="python", type=name, message="", cause_kind="member") for name in "ABC"]
    inner = StackTrace(language="python", type="G", message="", members=(leaf[0], leaf[1]), cause_kind="member")
    group = StackTrace(language="python", type="G", message="", members=(inner, leaf[2]))
    assert [t.type for t in origins(group)] == ["A", "B", "C"]
    closed = StackTrace(language="java", type="S", message="", cause_kind="suppressed")
    cause = StackTrace(language="java", type="Root", message="", members=(closed,), cause_kind="cause")
    assert [t.type for t in origins(StackTrace(language="java", type="Top", message="", cause=cause))] == ["Root"]
