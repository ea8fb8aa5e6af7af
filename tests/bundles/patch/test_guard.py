"""Repairs at the place of the crash: what they say, and that they run."""

import pytest

from bundles.patch.guard import guards
from retrieval.model import ErrorSignature

NONE = "'NoneType' object has no attribute '{}'"


def lines(code: str, error: str, message: str, line: int, removed: tuple[str, ...] = ()) -> list[str]:
    """The mended line of each repair; nothing else may have changed."""
    found = []
    for guard in guards(code.encode(), line, ErrorSignature(error, message), removed):
        now, then = guard.text.split("\n"), code.split("\n")
        changed = [n for n, (a, b) in enumerate(zip(now, then, strict=True)) if a != b]
        assert len(changed) == 1
        found.append(now[changed[0]].strip())
    return found


@pytest.mark.parametrize(
    ("code", "error", "message", "wanted"),
    [
        ("def f(a, b):\n    return a / b\n", "ZeroDivisionError", "division by zero", "return (a / b if b else 0)"),
        ("def f(a, b):\n    return a % b.n\n", "ZeroDivisionError", "x", "return (a % b.n if b.n else 0)"),
        (
            "def f(c):\n    return c.text.upper()\n",
            "AttributeError",
            NONE.format("upper"),
            "return (c.text or '').upper()",
        ),
        ("def f(c):\n    return c.get('a')\n", "AttributeError", NONE.format("get"), "return (c or {}).get('a')"),
        (
            "def f(c):\n    return c.owner.name\n",
            "AttributeError",
            NONE.format("name"),
            "return (c.owner.name if c.owner is not None else None)",
        ),
        (
            "def f(c):\n    return c['a']\n",
            "TypeError",
            "'NoneType' object is not subscriptable",
            "return (c['a'] if c is not None else None)",
        ),
        ("def f(d):\n    return d['k']\n", "KeyError", "'k'", "return d.get('k')"),
        ("def f(r):\n    return r[0].id\n", "IndexError", "list index out of range", "return (r[0].id if r else None)"),
        (
            "def f(r, n):\n    return r[n]\n",
            "IndexError",
            "list index out of range",
            "return (r[n] if -len(r) <= n < len(r) else None)",
        ),
    ],
)
def test_the_failing_expression_gets_an_empty_value(code: str, error: str, message: str, wanted: str) -> None:
    assert wanted in lines(code, error, message, 2)


def test_a_boundary_comes_before_a_guard() -> None:
    code = "def f(rows, last):\n    total = len(rows)\n    if last <= total:\n        return rows[last].id\n"
    assert lines(code, "IndexError", "list index out of range", 4)[0] == "if last < total:"


def test_a_constant_that_was_taken_away_near_the_name_comes_before_zero() -> None:
    code = "def f(v, zone):\n    return v / zone.divisor\n"
    removed = ("PRICE = 390", "DIVISOR = 5000", "DIVISORS = {1: 6000, 2: 0}")
    found = guards(code.encode(), 2, ErrorSignature("ZeroDivisionError", "division by zero"), removed)
    assert [g.value for g in found] == ["5000", "1", "6000", "2", "0"]
    assert [g.donor for g in found] == [True, True, True, True, False]
    assert "return v / (zone.divisor or 5000)" in found[0].text


def test_a_default_that_was_taken_away_is_offered_for_its_key() -> None:
    found = lines("def f(d):\n    return d['size']\n", "KeyError", "'size'", 2, ("DEFAULTS = {'size': 20}",))
    assert found == ["return d.get('size', 20)", "return d.get('size')"]


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("def f(a):\n    return a / g()\n", "ZeroDivisionError", "division by zero"),
        ("def f(d):\n    d['k'] = 1\n", "KeyError", "'k'"),
        ("def f(d):\n    return d['other']\n", "KeyError", "'k'"),
        ("def f(d):\n    return d[1:2]\n", "IndexError", "list index out of range"),
        ("def f(a):\n    return a + 1\n", "ValueError", "no"),
        ("def f(:\n    return a / b\n", "ZeroDivisionError", "division by zero"),
        ("def f():\n    return 1\n", "AttributeError", NONE.format("x")),
    ],
)
def test_where_nothing_can_be_mended_safely_nothing_is(code: str, error: str, message: str) -> None:
    assert guards(code.encode(), 2, ErrorSignature(error, message)) == []


def test_a_file_that_is_no_utf8_is_left_alone() -> None:
    error = ErrorSignature("ZeroDivisionError", "division by zero")
    assert guards(b"# -*- coding: latin-1 -*-\nx = 'caf\xe9'\ny = a / b\n", 3, error) == []


def test_the_other_lines_keep_every_byte() -> None:
    code = "# odd   spacing\nx = {  'a':1 }\r\n\ndef f( a,b ):\n\treturn a/b   # why\n"
    (guard,) = guards(code.encode(), 5, ErrorSignature("ZeroDivisionError", "division by zero"))
    assert guard.text == code.replace("a/b   #", "(a/b if b else 0)   #")
