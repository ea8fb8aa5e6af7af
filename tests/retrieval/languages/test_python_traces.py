"""Python tracebacks in the places where they turn up."""

import json
import textwrap
from collections.abc import Callable

import pytest

from retrieval.languages import LANGUAGES
from retrieval.languages.chain import MAX_CHAIN
from retrieval.model import StackTrace
from tests.contract.language import CAPTURED

CHAINED = (CAPTURED / "stack-traces" / "python" / "chained.txt").read_text()


def parse(text: str) -> list[StackTrace]:
    return LANGUAGES["python"].parse(textwrap.dedent(text))


def brief(trace: StackTrace) -> tuple[str, str, list[str]]:
    return trace.type, trace.message, [f"{f.file}:{f.line} {f.function}" for f in trace.frames]


def test_a_message_ends_where_the_next_log_record_starts() -> None:
    for following in (
        "2026-11-30 22:50:46,001 INFO next",
        "[2026-11-30T22:50:46Z] next",
        "INFO:root:next",
        '{"message": "next"}',
        "127.0.0.1 - - [30/Nov/2026 22:50:46] GET /",
        "Nov 30 22:50:46 host shop[1]: next",
        "E1130 22:50:46.001 next",
        "----------------------------------------------------------------------",
        "level=info msg=next",
    ):
        (trace,) = parse(
            f'Traceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: one\ntwo\n\n{following}\n'
        )
        assert trace.message == "one\ntwo", following


def test_what_introduces_the_next_trace_is_not_part_of_a_message() -> None:
    first, second = parse(
        """
        Traceback (most recent call last):
          File "a.py", line 3, in f
        ValueError: one
        Exception in thread worker-1:
        Traceback (most recent call last):
          File "b.py", line 4, in g
        KeyError: 2
        """
    )
    assert brief(first) == ("ValueError", "one", ["a.py:3 f"])
    assert brief(second) == ("KeyError", "2", ["b.py:4 g"])


def test_a_trace_behind_its_log_message_on_one_line() -> None:
    (trace,) = parse(
        """
        2026-11-30 22:50:45 ERROR shop order 7: Traceback (most recent call last):
          File "/app/a.py", line 3, in f
            g()
        shop.errors.Gone
        2026-11-30 22:50:46 INFO next
        """
    )
    assert brief(trace) == ("shop.errors.Gone", "", ["/app/a.py:3 f"])
    assert trace.frames[0].code == "g()"


@pytest.mark.parametrize("quote", [json.dumps, repr])
def test_a_trace_that_was_quoted_whole_in_one_line(quote: Callable[[str], str]) -> None:
    (trace,) = parse(f"level=error msg={quote(CHAINED.strip())} order=7\nnext\n")
    assert trace == parse(CHAINED)[0]


def test_an_indented_trace() -> None:
    (trace,) = LANGUAGES["python"].parse(textwrap.indent(CHAINED, "        "))
    assert trace.root.message == "division by zero"
    assert len(trace.root.frames) == 2


def test_the_layout_of_loguru() -> None:
    (trace,) = parse(
        """
        Traceback (most recent call last):

          File "/app/main.py", line 9, in <module>
            run(0)
            └ <function run at 0x7f>

        > File "/app/main.py", line 5, in run
            return 1 / value
                       └ 0

        ZeroDivisionError: division by zero
        """
    )
    assert brief(trace) == ("ZeroDivisionError", "division by zero", ["/app/main.py:9 <module>", "/app/main.py:5 run"])
    assert trace.frames[1].code == "return 1 / value"


def test_the_line_that_twisted_puts_between_frames() -> None:
    (trace,) = parse(
        """
        Unhandled Error
        Traceback (most recent call last):
          File "a.py", line 1, in f
            g()
        --- <exception caught here> ---
          File "b.py", line 2, in g
            h()
        builtins.TypeError: no
        """
    )
    assert brief(trace) == ("builtins.TypeError", "no", ["a.py:1 f", "b.py:2 g"])


def test_a_trace_that_was_cut_off_before_its_exception() -> None:
    (trace,) = parse('Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n')
    assert brief(trace) == ("", "", ["a.py:1 f"])


def test_a_trace_that_was_cut_off_at_its_beginning() -> None:
    (trace,) = parse('    g()\n  File "a.py", line 1, in f\n    h()\nKeyError: 1\n')
    assert brief(trace) == ("KeyError", "1", ["a.py:1 f"])


def test_an_exception_line_without_frames_is_no_trace() -> None:
    assert parse("ValueError: nothing to see") == []
    assert parse("Traceback (most recent call last):\nnothing File here") == []
    assert parse("Fatal Python error: x\nno File thread") == []


def test_a_class_that_was_made_in_a_function() -> None:
    (trace,) = parse('  File "a.py", line 1, in f\nmod.make.<locals>.Odd: hm\n')
    assert trace.type == "mod.make.<locals>.Odd"


def test_a_chain_without_end_is_cut() -> None:
    one = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1\n'
    text = (one + "\nDuring handling of the above exception, another exception occurred:\n\n") * (3 * MAX_CHAIN)
    traces = parse(text)
    assert len(traces) == 3
    depth, trace = 1, traces[0]
    while trace.cause is not None:
        depth, trace = depth + 1, trace.cause
    assert depth == MAX_CHAIN


def test_a_group_that_is_nested_without_end_is_survived() -> None:
    text = "  + Exception Group Traceback (most recent call last):\n  | EG: a (1 sub-exception)\n"
    text += "".join(
        f"{'  ' * n}+-+---------------- 1 ----------------\n{'  ' * n}  | EG: b (1 sub-exception)\n"
        for n in range(1, 500)
    )
    assert all(trace.type for trace in parse(text + "  | File x\n"))


def test_a_group_that_was_cut_off_keeps_what_is_there() -> None:
    (trace,) = parse(
        """
          + Exception Group Traceback (most recent call last):
          |   File "a.py", line 1, in f
          | ExceptionGroup: two (2 sub-exceptions)
          +-+---------------- 1 ----------------
            | Traceback (most recent call last):
            |   File "b.py", line 2, in g
            | KeyError: 1
            +---------------- ... ----------------
            | and 1 more exception
        """
    )
    assert trace.type == "ExceptionGroup"
    assert [brief(m) for m in trace.members] == [("KeyError", "1", ["b.py:2 g"])]


def test_a_chain_in_a_report_of_pytest() -> None:
    (trace,) = parse(
        """
        ____________________________ test_it ____________________________

            def test_it():
                try:
        >           inner()

        test_a.py:5:
        _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

            async def inner():
        >       raise KeyError(1)
        E       KeyError: 1

        shop/a.py:9: KeyError

        During handling of the above exception, another exception occurred:

            def test_it():
        >           outer()
        E           shop.errors.Gone: it is
        E             gone

        test_a.py:7: Gone
        ------------------------ Captured log call ------------------------
        ERROR shop:a.py:3 E   no
        """
    )
    assert brief(trace) == ("shop.errors.Gone", "it is\ngone", ["test_a.py:7 test_it"])
    assert trace.cause is not None
    assert brief(trace.cause) == ("KeyError", "1", ["test_a.py:5 test_it", "shop/a.py:9 inner"])


def test_an_assertion_that_pytest_rewrote() -> None:
    (trace,) = parse(
        "=== x ===\ntest_a.py:3: in test_x\n    assert 3 == 4\nE   assert 3 == 4\nE    +  where 3 = total()\n"
    )
    assert (trace.type, trace.frames[0].code) == ("AssertionError", "assert 3 == 4")
    assert trace.message.startswith("assert 3 == 4\n")


def test_an_error_of_pytest_without_a_class() -> None:
    (trace,) = parse("____ test_x ____\n>   raises()\nE   Failed: DID NOT RAISE\n\ntest_a.py:3: Failed\n")
    assert brief(trace) == ("Failed", "DID NOT RAISE", ["test_a.py:3 test_x"])
