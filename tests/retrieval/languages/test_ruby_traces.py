"""What the captured Ruby traces do not show."""

import textwrap

import pytest

from retrieval.languages import LANGUAGES
from retrieval.languages.ruby.frames import in_app, qualname
from retrieval.model import StackTrace


def parse(text: str) -> list[StackTrace]:
    return LANGUAGES["ruby"].parse(textwrap.dedent(text))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("total", "total"),
        ("block in total", "total"),
        ("block (2 levels) in <main>", "<main>"),
        ("rescue in block in total", "total"),
        ("block in Shop::Cart#total", "Shop.Cart.total"),
        ("Shop::Cart.open", "Shop.Cart.open"),
        ("<top (required)>", "<top (required)>"),
    ],
)
def test_a_function_is_named_as_its_symbol(printed: str, expected: str) -> None:
    assert qualname(printed) == expected


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/usr/lib/ruby/3.1.0/json/common.rb", False),
        ("/usr/local/bundle/gems/rack-3.0.8/lib/rack/builder.rb", False),
        ("<internal:kernel>", False),
        ("(eval at cart.rb:63)", False),
        ("/srv/shop/bin/rails", False),
        ("", False),
        ("app/models/cart.rb", True),
    ],
)
def test_gems_and_the_interpreter_are_not_the_applications_own(file: str, own: bool) -> None:
    assert in_app(file) is own


def test_quotes_and_qualified_names_of_ruby_3_4_are_read() -> None:
    (trace,) = parse(
        """\
        cart.rb:19:in 'Hash#fetch': key not found: "a" (KeyError)
        \tfrom cart.rb:19:in 'Shop::Cart#get'
        \tfrom (eval at cart.rb:63):1:in '<main>'
        \tfrom <internal:kernel>:187:in 'loop'
        """
    )
    assert [(f.file, f.function) for f in trace.frames] == [
        ("<internal:kernel>", "loop"),
        ("(eval at cart.rb:63)", "<main>"),
        ("cart.rb", "Shop.Cart.get"),
        ("cart.rb", "Hash.fetch"),
    ]


def test_an_exception_as_rails_logs_it_is_read() -> None:
    (trace,) = parse(
        """\
        Started GET "/carts/17" for 10.0.0.1 at 2026-11-30 22:50:45 +0000

        ActionView::Template::Error (undefined method `price' for nil:NilClass
        Did you mean?  print):

        app/models/cart.rb:12:in `total'
        app/controllers/carts_controller.rb:7:in `show'
        """
    )
    assert (trace.type, trace.frames[-1].function) == ("ActionView::Template::Error", "total")
    assert trace.message == "undefined method `price' for nil:NilClass\nDid you mean?  print"
    (trace,) = parse(
        """\
        NoMethodError (undefined method `price' for nil:NilClass):

        app/models/cart.rb:12:in `total'
        app/controllers/carts_controller.rb:7:in `show'
        """
    )
    assert (trace.type, trace.message) == ("NoMethodError", "undefined method `price' for nil:NilClass")


def test_a_logger_s_message_goes_back_to_the_start_of_its_record() -> None:
    (trace,) = parse("E, [2026-12-01T05:08:13.6 #1] ERROR -- app: no item (KeyError)\ncart.rb:1:in `get'\n")
    assert (trace.type, trace.message) == ("KeyError", "no item")
    (trace,) = parse("no item (KeyError)\ncart.rb:1:in `get'\n")
    assert (trace.type, trace.message) == ("KeyError", "no item")
    (trace,) = parse("started\nno item (KeyError)\ncart.rb:1:in `get'\n")
    assert trace.type == "KeyError"


def test_an_error_without_a_message_keeps_its_class() -> None:
    (trace,) = parse("cart.rb:1:in `get': unhandled exception\n\tfrom cart.rb:2:in `<main>'\n")
    assert (trace.type, trace.message) == ("RuntimeError", "")


def test_one_place_alone_is_no_trace() -> None:
    assert parse("cart.rb:1:in `get'\n") == []
    assert parse("cart.rb:1:in `get': warning: x is not used\n") == []


def test_a_list_of_places_has_no_type() -> None:
    (trace,) = parse("\ncart.rb:1:in `get'\ncart.rb:2:in `<main>'\n")
    assert (trace.type, len(trace.frames)) == ("", 2)


def test_numbered_frames_that_were_cut_off_are_kept() -> None:
    (trace,) = parse("Traceback (most recent call last):\n\t2: from a.rb:6:in `<main>'\n\t1: from a.rb:3:in `a'\n")
    assert (trace.type, [f.function for f in trace.frames]) == ("", ["<main>", "a"])


def test_a_backtrace_in_a_field_of_a_json_record_is_found() -> None:
    (trace,) = parse(r'{"msg":"x","stack":"app/cart.rb:1:in `get\'\napp/cart.rb:2:in `run\'"}'.replace(r"\'", "'"))
    assert [f.function for f in trace.frames] == ["run", "get"]
