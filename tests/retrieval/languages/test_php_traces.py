"""What the captured PHP traces do not show."""

import textwrap

import pytest

from retrieval.languages import LANGUAGES
from retrieval.languages.php.frames import in_app, qualname
from retrieval.model import StackTrace
from retrieval.model.signatures import same_type


def parse(text: str) -> list[StackTrace]:
    return LANGUAGES["php"].parse(textwrap.dedent(text))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Acme\\Shop\\Cart->total", "Cart.total"),
        ("Acme\\Shop\\Size::from", "Size.from"),
        ("Acme\\Shop\\Cart->Acme\\Shop\\{closure}", "Cart.<closure>"),
        ("{closure:Acme\\Shop\\Cart::total():40}", "Cart.total"),
        ("Acme\\Shop\\strict", "strict"),
        ("class@anonymous->run", "run"),
        ("{main}", "<main>"),
        ("require_once", "<main>"),
    ],
)
def test_a_function_is_named_as_its_symbol(printed: str, expected: str) -> None:
    assert qualname(printed) == expected


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/srv/shop/vendor/laravel/framework/src/Illuminate/Pipeline/Pipeline.php", False),
        ("/srv/shop/cart.php(57) : eval()'d code", False),
        ("phar:///usr/bin/composer/src/x.php", False),
        ("", False),
        ("/srv/shop/src/Cart.php", True),
    ],
)
def test_packages_and_evaluated_code_are_not_the_applications_own(file: str, own: bool) -> None:
    assert in_app(file) is own


MONOLOG = """\
[2026-11-30 22:50:45] production.ERROR: order refused {"exception":"[object] (Acme\\\\Refused(code: 17): order
refused at /srv/shop/src/Cart.php:42)
[stacktrace]
#0 /srv/shop/src/Pay.php(50): Acme\\\\Cart->total(Array)
#1 {main}

[previous exception] [object] (OutOfBoundsException(code: 0): no item a at /srv/shop/src/Cart.php:30)
[stacktrace]
#0 /srv/shop/src/Cart.php(40): Acme\\\\Cart->get('a')
#1 /srv/shop/src/Pay.php(50): Acme\\\\Cart->total(Array)
#2 {main}

[previous exception] [object] (ValueError(code: 0): deep at /srv/shop/src/Sku.php:3)
[stacktrace]
#0 {main}
"}
"""


def test_what_monolog_prints_has_the_wrapper_first() -> None:
    (trace,) = LANGUAGES["php"].parse(MONOLOG.replace("\\\\", "\\"))
    assert (trace.type, trace.message) == ("Acme\\Refused", "order\nrefused")
    assert [(f.file, f.line, f.function) for f in trace.frames] == [
        ("/srv/shop/src/Pay.php", 50, "<main>"),
        ("/srv/shop/src/Cart.php", 42, "Cart.total"),
    ]
    assert trace.cause is not None and trace.cause.type == "OutOfBoundsException"
    assert trace.root.type == "ValueError"


def test_an_exception_without_a_message_keeps_its_place() -> None:
    (trace,) = parse(
        """\
        PHP Fatal error:  Uncaught Exception in /srv/shop/a.php:3
        Stack trace:
        #0 {main}

        Next Acme\\Shop\\Refused in /srv/shop/a.php:5
        Stack trace:
        #0 {main}
          thrown in /srv/shop/a.php on line 5
        """
    )
    assert (trace.type, trace.message, trace.frames[0].line) == ("Acme\\Shop\\Refused", "", 5)
    assert (trace.root.type, trace.root.frames[0].line) == ("Exception", 3)


def test_a_trace_behind_a_log_prefix_is_named_by_its_error() -> None:
    (trace,) = parse(
        """\
        2026-11-30 22:50:45 ERROR App\\Refused: no in /srv/shop/a.php:3
        Stack trace:
        #0 /srv/shop/b.php(9): f()
        #1 {main}
        """
    )
    assert (trace.type, trace.message) == ("App\\Refused", "no")


def test_a_trace_with_nothing_above_it_has_no_type() -> None:
    (trace,) = parse("2026-11-30 22:50:45 x\n#0 /srv/shop/b.php(9): f()\n#1 {main}\n")
    assert (trace.type, [f.line for f in trace.frames]) == ("", [9])
    (trace,) = parse("\n#0 /srv/shop/b.php(9): f()\n#1 {main}\n")
    assert trace.type == ""


def test_a_trace_in_a_field_of_a_json_record_is_found() -> None:
    (trace,) = parse(
        r'{"msg":"x","trace":"Error: no in \/srv\/a.php:3\nStack trace:\n#0 \/srv\/b.php(9): f()\n#1 {main}"}'
    )
    assert [(f.file, f.line) for f in trace.frames] == [("/srv/b.php", 9), ("/srv/a.php", 3)]


def test_a_type_is_the_same_with_and_without_its_namespace() -> None:
    assert same_type("Acme\\Shop\\Refused", "Refused")
    assert same_type("Shop::Refused", "Refused")
