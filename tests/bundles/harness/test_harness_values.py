"""Recorded texts become source code, or nothing: only literals, known constructors and the repository's own records."""

import pytest

from bundles.harness.python.source import Source
from bundles.harness.python.values import UNKNOWN, decode, decode_repr, literal

MODELS = """
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, NamedTuple

class Color(Enum):
    RED = "red"

@dataclass
class Shift:
    start: str
    end: str = ""
    limit: ClassVar[int] = 3
    cache: dict = field(default_factory=dict, init=False)

class Point(NamedTuple):
    x: int
    y: int

class Plain:
    def __init__(self, a): ...
"""


@pytest.fixture
def source(source_of) -> Source:
    return source_of({"pkg/__init__.py": ""}, pkg__models=MODELS)


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "-2.5",
        "'a\\'b'",
        "None",
        "True",
        "b'\\x00'",
        "[1, (2,), {'a': {3}}]",
        "(1+2j)" if False else "2j",
        "()",
        "{}",
    ],
)
def test_literals_come_back_as_they_are(source, text):
    value = decode_repr(text, source)
    assert value is not None
    assert eval(value.code) == eval(text)


@pytest.mark.parametrize(
    ("text", "code", "plain"),
    [
        ("datetime.datetime(2025, 3, 28, 5, 0)", "datetime.datetime(2025, 3, 28, 5, 0)", "2025-03-28T05:00:00"),
        (
            "datetime.datetime(2025, 3, 27, 17, 0, tzinfo=zoneinfo.ZoneInfo(key='Europe/Berlin'))",
            "datetime.datetime(2025, 3, 27, 17, 0, tzinfo=zoneinfo.ZoneInfo(key='Europe/Berlin'))",
            "2025-03-27T17:00:00+01:00",
        ),
        (
            "datetime.datetime(2025, 3, 27, 17, 0, tzinfo=<UTC>)",
            "datetime.datetime(2025, 3, 27, 17, 0, tzinfo=datetime.timezone.utc)",
            "2025-03-27T17:00:00+00:00",
        ),
        ("datetime.timedelta(seconds=90)", "datetime.timedelta(seconds=90)", 90.0),
        ("datetime.date(2024, 2, 29)", "datetime.date(2024, 2, 29)", "2024-02-29"),
        ("Decimal('1.50')", "Decimal('1.50')", "1.50"),
        ("UUID('12345678-1234-5678-1234-567812345678')", None, "12345678-1234-5678-1234-567812345678"),
        ("PosixPath('/srv/x')", "Path('/srv/x')", "/srv/x"),
        ("OrderedDict([('a', 1)])", "OrderedDict([('a', 1)])", {"a": 1}),
        ("defaultdict(<class 'list'>, {'a': [1]})", "defaultdict(list, {'a': [1]})", UNKNOWN),
        ("<QueryDict: {'a': ['1']}>", "{'a': ['1']}", {"a": ["1"]}),
        ("ImmutableMultiDict([('sku', 'a')])", "dict([('sku', 'a')])", {"sku": "a"}),
        ("frozenset({1})", "frozenset({1})", [1]),
        ("<Color.RED: 'red'>", "Color.RED", "red"),
        ("Shift(start='a', end='b')", "Shift(start='a', end='b')", {"start": "a", "end": "b"}),
        ("Point(x=1, y=2)", "Point(x=1, y=2)", {"x": 1, "y": 2}),
        ("nan", "float('nan')", None),
        ("datetime.datetime(9999, 99, 1)", "datetime.datetime(9999, 99, 1)", UNKNOWN),
    ],
)
def test_known_constructors_are_written_again(source, text, code, plain):
    value = decode_repr(text, source)
    assert value is not None
    assert code is None or value.code == code
    assert plain is None or value.plain == plain
    for line in value.imports:
        compile(line, "import", "exec")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<shop.Store object at 0x7f57896a1d00>",
        "{'a': 1, ...}",
        "[...]",
        "'cut off at the mid",
        "__import__('os').system('id')",
        "open('/etc/passwd')",
        "Shift(start='a', unknown=1)",
        "Shift(end='b')",
        "Plain(1)",
        "Point(**{'x': 1})",
        "Color.GREEN",
        "a.b.c",
        "lambda: 1",
        "[x for x in y]",
        "1 if 2 else 3",
        "{**a}",
        "(" * 300,
        "x" * 60_000,
        "-'a'",
    ],
)
def test_what_cannot_be_built_again_is_nothing(source, text):
    assert decode_repr(text, source) is None


def test_nested_variables_of_an_error_tracker_are_read_leaf_by_leaf(source):
    recorded = {"employee": "'e-763'", "minutes": "45", "tags": ["'a'", None, 3], "at": "datetime.date(2025, 1, 2)"}
    value = decode(recorded, source)
    assert value is not None
    assert value.code == "{'employee': 'e-763', 'minutes': 45, 'tags': ['a', None, 3], 'at': datetime.date(2025, 1, 2)}"
    assert value.imports == ("import datetime",)
    assert decode({"a": {"b": "<object at 0x1>"}}, source) is None
    assert decode({"a": object()}, source) is None


def test_hostile_keys_and_texts_are_literals():
    assert eval(literal({"a'\n": '"""', 1: [float("inf"), (1,)]}).code) == {"a'\n": '"""', 1: [float("inf"), (1,)]}
