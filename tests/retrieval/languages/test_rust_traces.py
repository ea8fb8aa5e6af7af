"""What the captured Rust traces do not show."""

import textwrap

import pytest

from retrieval.languages import LANGUAGES
from retrieval.languages.rust.frames import in_app, plain, qualname
from retrieval.model import StackTrace


def parse(text: str) -> list[StackTrace]:
    return LANGUAGES["rust"].parse(textwrap.dedent(text))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("shop::cart::Cart<T>::get::h5178040775223090", "Cart.get"),
        ("shop::cart::total::{{closure}}::{{closure}}", "total"),
        ("shop::cart::total::{closure#0}", "total"),
        ("<shop::cart::Item as shop::cart::Priced>::price", "Item.price"),
        ("<&mut shop[e28293b1aa0f68bd]::Item as core::fmt::Display>::fmt", "Item.fmt"),
        ("shop::index::<impl core::ops::Index<I> for shop::Row>::index", "index"),
        ("<alloc::vec::Vec<T,A> as core::ops::index::Index<I>>::index", "Vec.index"),
        ("<<a::B>::f::C as d::E>::g", "C.g"),
        ("<a::B", "B"),
        ("shop::main", "main"),
        ("{{}}", "{{}}"),
    ],
)
def test_a_function_is_named_as_its_symbol(printed: str, expected: str) -> None:
    assert qualname(plain(printed)) == expected


@pytest.mark.parametrize(
    ("file", "function", "own"),
    [
        ("/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs", "", False),
        ("/usr/local/cargo/registry/src/index.crates.io-6f17d22bba15001f/serde-1.0.1/src/de.rs", "", False),
        ("/root/.cargo/git/checkouts/x-1/src/lib.rs", "", False),
        ("./csu/../csu/libc-start.c", "", False),
        ("./src/main.rs", "main", True),
        ("", "core::panicking::panic_fmt", False),
        ("", "tokio::runtime::park", False),
        ("", "shop::cart::total", True),
        ("", "<shop::Item as shop::Priced>::price", True),
        ("", "<unknown>", False),
        ("", "main", False),
    ],
)
def test_the_standard_library_and_the_registry_are_not_the_applications_own(
    file: str, function: str, own: bool
) -> None:
    assert in_app(file, function) is own


def test_the_older_way_to_print_a_panic_is_read() -> None:
    first, second = parse(
        """\
        thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', src/main.rs:4:37
        note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
        thread 'worker' panicked at 'line one
        it's line two', src/lib.rs:9:5
        stack backtrace:
           0: shop::work
                     at ./src/lib.rs:9
        """
    )
    assert first.message == "called `Option::unwrap()` on a `None` value"
    assert [(f.file, f.line) for f in first.frames] == [("src/main.rs", 4)]
    assert second.message == "line one\nit's line two"
    assert [(f.function, f.line) for f in second.frames] == [("work", 9)]


def test_a_panic_whose_place_was_cut_off_keeps_its_message() -> None:
    (trace,) = parse("thread 'main' panicked at 'no value\n2026-11-30 22:50:45 INFO on\n")
    assert (trace.message, trace.frames) == ("no value", ())


def test_frames_that_were_inlined_into_one_are_all_kept() -> None:
    (trace,) = parse(
        """\
        thread 'main' panicked at src/lib.rs:9:5:
        no
        stack backtrace:
           0: shop::Cart::get
                     at ./src/lib.rs:9:5
                     at ./src/lib.rs:20:5
           1: shop::main
                     at ./src/main.rs:2:5
           0: shop::other
        """
    )
    assert [(f.function, f.line) for f in trace.frames] == [("main", 2), ("Cart.get", 20), ("Cart.get", 9)]


def test_a_stripped_program_s_innermost_frame_is_where_the_panic_says() -> None:
    (trace,) = parse(
        """\
        thread 'main' panicked at src/cart.rs:36:29:
        no such item
        stack backtrace:
           0: core::option::expect_failed
           1: shop::cart::Cart<T>::get
           2: shop::main
        """
    )
    assert trace.crash is not None
    assert (trace.crash.file, trace.crash.line, trace.crash.function) == ("src/cart.rs", 36, "Cart.get")


def test_a_panic_in_a_field_of_a_json_record_is_found() -> None:
    (trace,) = parse(
        r'{"log":"thread \'main\' panicked at src/a.rs:1:2:\nno value\n","stream":"stderr"}'.replace(r"\'", "'")
    )
    assert (trace.message, trace.frames[0].file) == ("no value", "src/a.rs")
