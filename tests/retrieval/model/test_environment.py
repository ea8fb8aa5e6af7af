"""Shapes of values, and what differs between two environments."""

from hypothesis import given
from hypothesis import strategies as st

from retrieval.model import EnvironmentDelta, EnvironmentFingerprint, environment_delta, value_shape


def test_a_shape_keeps_the_form_and_nothing_of_the_value() -> None:
    assert value_shape("postgres://ada:hunter2@db:5432/pay") == "aaa://aaa:aaa0@aa:000/aaa"
    assert value_shape("") == ""
    assert value_shape("Zoë\x00\n") == "aa???"


@given(st.text(max_size=200))
def test_a_shape_is_its_own_shape_and_short(value: str) -> None:
    shape = value_shape(value)
    assert value_shape(shape) == shape
    assert len(shape) <= 40
    assert not any(character.isalnum() and character not in "a0" for character in shape)


def test_only_what_both_tell_differs() -> None:
    before = EnvironmentFingerprint(os="Debian 12", kernel="6.1", packages={"a": "1", "b": "2"}, seeds={"x": "1"})
    after = EnvironmentFingerprint(os="Debian 13", interpreter="CPython 3.12", packages={"a": "1", "c": "3"})

    assert environment_delta(before, after) == (
        EnvironmentDelta("os", "Debian 12", "Debian 13"),
        EnvironmentDelta("packages.b", "2", ""),
        EnvironmentDelta("packages.c", "", "3"),
    )
    assert environment_delta(after, after) == ()
