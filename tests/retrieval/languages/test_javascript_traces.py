"""What the captured JavaScript traces do not show."""

import textwrap

import pytest

from retrieval.languages import LANGUAGES
from retrieval.languages.javascript.frames import in_app, qualname
from retrieval.model import StackTrace


def parse(text: str) -> list[StackTrace]:
    return LANGUAGES["javascript"].parse(textwrap.dedent(text))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Repo.get [as fetch]", "Repo.get"),
        ("async Repo.get", "Repo.get"),
        ("new Cart", "Cart.constructor"),
        ("get size [as size]", "size"),
        ("Object.<anonymous>", "<anonymous>"),
        ("", "<anonymous>"),
    ],
)
def test_a_function_is_named_as_its_symbol(printed: str, expected: str) -> None:
    assert qualname(printed) == expected


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("node:internal/fs/promises", False),
        ("internal/modules/cjs/loader.js", False),
        ("timers.js", False),
        ("/srv/shop/node_modules/express/lib/router/layer.js", False),
        ("C:\\shop\\node_modules\\express\\index.js", False),
        ("webpack:///webpack/bootstrap", False),
        ("[eval]", False),
        ("", False),
        ("/srv/shop/src/cart.ts", True),
        ("file:///srv/shop/cart.mjs", True),
        ("webpack-internal:///./src/cart.ts", True),
    ],
)
def test_the_runtime_and_installed_packages_are_not_the_applications_own(file: str, own: bool) -> None:
    assert in_app(file) is own


def test_bundled_code_keeps_its_path_and_loses_its_hash() -> None:
    (trace,) = parse(
        """\
        TypeError: x is undefined
            at Cart.total (webpack-internal:///./src/cart.ts:12:5)
            at eval (webpack:///./src/main.ts?1a2b:3:4)
            at C:\\shop\\src\\main.js:5:6
        """
    )
    assert [f"{f.file}:{f.line}" for f in trace.frames] == [
        "C:\\shop\\src\\main.js:5",
        "webpack:///./src/main.ts:3",
        "webpack-internal:///./src/cart.ts:12",
    ]


def test_an_error_behind_a_log_prefix_is_named() -> None:
    (trace,) = parse(
        """\
        2026-11-30T22:50:45Z ERROR ValidationError [ERR_QTY]: qty: too many
            at check (/srv/shop/cart.js:1:2)
        2026-11-30T22:50:46Z INFO going on
        """
    )
    assert (trace.type, trace.message) == ("ValidationError", "qty: too many")


def test_an_error_of_an_unusual_name_is_known_by_its_place() -> None:
    (trace,) = parse("request failed Refused: no\n    at check (/srv/shop/cart.js:1:2)\n")
    assert (trace.type, trace.message) == ("Refused", "no")


def test_frames_without_an_error_above_have_no_type() -> None:
    (trace,) = parse("    at check (/srv/shop/cart.js:1:2)\n    at run (/srv/shop/cart.js:9:2)\n")
    assert (trace.type, [f.function for f in trace.frames]) == ("", ["run", "check"])


def test_properties_that_were_cut_off_end_where_the_next_record_begins() -> None:
    first, second = parse(
        """\
        Error: a
            at f (/srv/shop/cart.js:1:2) {
          code: 'E_A',
          [cause]: 'only a word',
        Error: b
            at g (/srv/shop/cart.js:2:2)
        """
    )
    assert (first.message, first.cause, second.message) == ("a", None, "b")


def test_nested_causes_below_the_deepest_link_are_cut() -> None:
    lines = ["Error: top", "    at f (/srv/shop/a.js:1:2) {"]
    for depth in range(200):
        pad = "  " * (depth + 1)
        lines += [f"{pad}[cause]: Error: deep", f"{pad}    at f (/srv/shop/a.js:1:2) {{"]
    (trace,) = parse("\n".join(lines))
    assert trace.root.message == "deep"


def test_a_quoted_name_in_a_message_is_part_of_the_field_of_a_json_record() -> None:
    (trace,) = parse(
        r'{"msg":"x","stack":"TypeError: no \"a\" (reading \'id\')\n    at f (/srv/shop/a.js:1:2)"}'.replace(r"\'", "'")
    )
    assert (trace.type, trace.message) == ("TypeError", "no \"a\" (reading 'id')")
