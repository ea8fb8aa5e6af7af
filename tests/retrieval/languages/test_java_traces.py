"""Java stack traces in the places where they turn up."""

import json
import textwrap

from retrieval.languages import LANGUAGES
from retrieval.languages.chain import MAX_CHAIN
from retrieval.model import StackTrace


def parse(text: str) -> list[StackTrace]:
    return LANGUAGES["java"].parse(textwrap.dedent(text))


def test_a_log_record_with_logback_extras() -> None:
    (trace,) = parse(
        """
        2026-11-30 22:50:45.101 ERROR [shop,4bf9,00f0] 1 --- [nio-8080-exec-1] c.a.s.Orders : order failed
        org.springframework.web.client.ResourceAccessException: I/O; nested exception is java.io.IOException: x
        \tat org.springframework.web.client.RestTemplate.doExecute(RestTemplate.java:785) ~[spring-web-5.3.9.jar!/:5.3]
        \tat com.acme.shop.Orders$$EnhancerBySpringCGLIB$$a1.load(<generated>) ~[classes!/:na]
        \tat com.acme.shop.Orders.load(Orders.java:42) ~[classes!/:na]
        \tat app//com.acme.shop.Web.get(Web.java:7)
        \tat java.base@17.0.15/java.lang.Thread.run(Thread.java:840)
        \tat com.sun.proxy.$Proxy12.call(Unknown Source)
        Caused by: java.io.IOException: x
        \tat com.acme.net.Client.send(Client.java:9)
        \t... 3 common frames omitted
        2026-11-30 22:50:45.102  INFO next
        """
    )
    assert trace.type == "org.springframework.web.client.ResourceAccessException"
    assert [f.function for f in trace.frames if f.in_app] == ["get", "load"]
    assert trace.crash is not None and trace.crash.line == 42
    assert trace.frames[-1].module == "org.springframework.web.client.RestTemplate"
    assert [f.module for f in trace.root.frames][-1] == "com.acme.net.Client"
    assert len(trace.root.frames) == 4


def test_an_exception_behind_its_log_message_on_one_line() -> None:
    (trace,) = parse("22:50:45 ERROR shop - failed: java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\n")
    assert (trace.type, trace.message) == ("java.lang.IllegalStateException", "no")


def test_a_trace_without_its_exception() -> None:
    (trace,) = parse("2026-11-30 22:50:45 something happened\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\n")
    assert (trace.type, [f.function for f in trace.frames]) == ("", ["d", "c"])


def test_a_message_of_many_lines_keeps_its_end_out_of_the_frames() -> None:
    (trace,) = parse("org.junit.ComparisonFailure: \nexpected: a\n\nbut was: b\n\tat a.B.c(B.java:1)\n")
    assert trace.message == "expected: a\n\nbut was: b"


def test_a_cause_with_a_message_of_many_lines() -> None:
    (trace,) = parse("a.X: one\n\tat a.B.c(B.java:1)\nCaused by: a.Y: two\n  and more\n\tat a.B.d(B.java:1)\n")
    assert trace.root.message == "two\n  and more"


def test_a_cause_after_which_the_text_ends() -> None:
    (trace,) = parse("a.X: one\n\tat a.B.c(B.java:1)\n\nCaused by: a.Y: two\nnot a frame\n")
    assert (trace.root.type, trace.root.message, trace.root.frames) == ("a.Y", "two", ())


def test_traces_one_after_the_other() -> None:
    text = "a.X: one\n\tat a.B.c(B.java:1)\n\na.Y: two\n\tat a.B.c(B.java:2)\n"
    assert [(t.type, t.message, len(t.frames)) for t in parse(text)] == [("a.X", "one", 1), ("a.Y", "two", 1)]


def test_a_trace_that_was_quoted_whole_in_one_line() -> None:
    text = "java.lang.Error: x\n\tat a.B.c(B.java:1)\nCaused by: a.Y: z\n\t... 1 more"
    assert parse(f"22:50:45 err={json.dumps(text)} next=1") == parse(text)


def test_names_outside_of_ascii_and_lines_that_are_none() -> None:
    (trace,) = parse("größe.Fehler: x\n\tat größe.Maß.prüfe(Maß.java:-1)\n\tat größe.Maß.los(Maß.java)\n")
    assert [(f.function, f.line) for f in trace.frames] == [("los", None), ("prüfe", None)]


def test_a_small_text_cannot_ask_for_any_number_of_frames() -> None:
    frames = "\tat a.B.c(B.java:1)\n" * 3_000
    text = (
        "a.X: one\n"
        + frames
        + "Caused by: a.Y: two\n\t... 3000 more\n" * 500
        + "\tSuppressed: a.Z: s\n\t\t... 3000 more\n" * 500
    )
    (trace,) = parse(text)
    total, depth = 0, 0
    level: StackTrace | None = trace
    while level is not None:
        total += len(level.frames) + sum(len(m.frames) for m in level.members)
        level, depth = level.cause, depth + 1
    assert depth <= MAX_CHAIN + 1
    assert total <= 100_000


def test_traces_of_dotnet_are_none_of_java() -> None:
    assert (
        parse("System.Exception: x\n   at Shop.Orders.Load(String id) in /src/Orders.cs:line 5\n   at Shop.Main()\n")
        == []
    )
