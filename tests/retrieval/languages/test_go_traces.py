"""What the captured Go traces do not show."""

import textwrap

import pytest

from retrieval.languages import LANGUAGES
from retrieval.languages.go.frames import in_app, qualname
from retrieval.model import StackTrace


def parse(text: str) -> list[StackTrace]:
    return LANGUAGES["go"].parse(textwrap.dedent(text))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("main.main", "main"),
        ("github.com/acme/shop/v2/cart.(*Repo[...]).Get.func1.2", "Repo.Get"),
        ("github.com/acme/shop.Handler.ServeHTTP-fm", "Handler.ServeHTTP"),
        ("gopkg.in/yaml%2ev3.Unmarshal", "Unmarshal"),
        ("main.main.gowrap1", "main"),
        ("main.init.0", "init"),
        ("main.glob..func1", "glob"),
        ("main.func1", "func1"),
        ("panic", "panic"),
    ],
)
def test_a_function_is_named_as_its_symbol(printed: str, expected: str) -> None:
    assert qualname(printed) == expected


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/usr/local/go/src/runtime/panic.go", False),
        ("/opt/hostedtoolcache/go/1.22.1/x64/src/net/http/server.go", False),
        ("/root/go/pkg/mod/github.com/gin-gonic/gin@v1.9.1/context.go", False),
        ("github.com/gin-gonic/gin@v1.9.1/context.go", False),
        ("net/http/server.go", False),
        ("/srv/shop/vendor/github.com/x/y/z.go", False),
        ("/go/src/app/main.go", True),
        ("/root/go/src/github.com/acme/shop/main.go", True),
        ("github.com/acme/shop/cart.go", True),
        ("internal/cart/cart.go", True),
        ("", False),
    ],
)
def test_a_toolchain_and_the_module_cache_are_not_the_applications_own(file: str, own: bool) -> None:
    assert in_app(file) is own


def test_gins_recovery_prints_the_place_before_the_function() -> None:
    (trace,) = parse(
        """\
        2026/11/30 22:50:45 [Recovery] 2026/11/30 - 22:50:45 panic recovered:
        runtime error: index out of range [5] with length 3
        /usr/local/go/src/runtime/panic.go:884 (0x437e1a)
        \tgopanic: done()
        /srv/shop/main.go:14 (0x8d6f1b)
        \t(*Handler).List: return h.rows[5]
        """
    )
    assert (trace.type, trace.message) == ("panic", "runtime error: index out of range [5] with length 3")
    assert [(f.function, f.line, f.code) for f in trace.frames] == [("Handler.List", 14, "return h.rows[5]")]


def test_a_stack_in_a_field_of_a_json_record_is_found() -> None:
    (trace,) = parse(
        r'{"level":"error","msg":"boom","stacktrace":"main.(*Repo).Get\n\t/srv/shop/main.go:12\nmain.main\n\t/srv/shop/main.go:30"}'
    )
    assert [f"{f.function}:{f.line}" for f in trace.frames] == ["main:30", "Repo.Get:12"]
    assert trace.type == ""


def test_an_error_that_was_wrapped_with_its_stack_is_the_cause() -> None:
    (trace,) = parse(
        """\
        no rows
        main.query
        \t/srv/shop/db.go:12
        main.main
        \t/srv/shop/main.go:30
        loading the cart
        main.load
        \t/srv/shop/cart.go:20
        main.main
        \t/srv/shop/main.go:30
        """
    )
    assert (trace.type, trace.message, trace.root.message) == ("error", "loading the cart", "no rows")
    assert trace.root.frames[-1].function == "query"


def test_a_goroutine_without_a_panic_above_it_has_no_type() -> None:
    (trace,) = parse(
        """\
        goroutine 7 [running]:
        main.worker(0x1, {0x2, 0x3})
        \t/srv/shop/main.go:12 +0x1d

        goroutine 8 [select]:
        main.other()
        \t/srv/shop/main.go:40 +0x1d
        """
    )
    assert trace.type == "" and [f.function for f in trace.frames] == ["worker"]


def test_a_signal_and_the_next_log_record_are_no_part_of_a_message() -> None:
    (trace,) = parse(
        """\
        2026/11/30 22:50:45 starting
        panic: first
        [signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]

        goroutine 1 [running, locked to thread]:
        main.main()
        \t/srv/shop/main.go:1 +0x1
        2026/11/30 22:50:46 main.go:12
        """
    )
    assert trace.message == "first"
    assert len(trace.frames) == 1


def test_what_only_looks_like_a_place_is_passed_over() -> None:
    assert parse("see main.go:12\n\tmain.go:13\n(x)\n\tmain.go:14\n") == []
