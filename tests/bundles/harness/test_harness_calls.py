"""Calls of functions on the stack, with arguments from wherever production left them."""

import pytest


def only(found, start):
    return next(c for c in found.items if c.input.summary.startswith(start))


def test_recorded_variables_of_frames_are_the_arguments(scene):
    scene.write(
        "planner/__init__.py",
        """
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

class Kind(Enum):
    A = "a"
    B = "b"

@dataclass(frozen=True)
class Item:
    kind: Kind
    price: Decimal

RATES = {Kind.A: 1}

def rate(item, factor=1):
    return RATES[item.kind] * item.price * factor
""",
    )
    variables = {"item": "Item(kind=<Kind.B: 'b'>, price=Decimal('1.50'))", "factor": "2", "x": "<object at 0x7f>"}
    scene.fails("KeyError", "<Kind.B: 'b'>", [scene.frame("planner/__init__.py", "rate", "RATES[item", variables)])
    first = scene.candidates().items[0]
    assert first.input.summary == "rate(Item(kind=Kind.B, price=Decimal('1.50')), 2)"
    assert first.input.call["path"] == "planner/__init__.py"
    scene.reproduces(first)


def test_a_raw_record_in_a_message_is_cut_into_the_fields_that_are_unpacked(scene):
    scene.write(
        "feed.py",
        """
import logging
log = logging.getLogger("feed")

def parse_amount(text):
    return int(text.replace(",", ""))

class Row:
    @classmethod
    def parse(cls, line, fields):
        kind, amount, currency = fields
        return kind, parse_amount(amount), currency

def run(reader):
    try:
        Row.parse(reader.line, reader.raw.split(";"))
    except Exception:
        log.exception("stopped at line %d: %s", reader.line, reader.raw)
""",
    )
    scene.fails(
        "ValueError",
        "invalid literal for int() with base 10: '1204-'",
        [
            scene.frame("feed.py", "run", "Row.parse"),
            scene.frame("feed.py", "parse", "parse_amount(amount)"),
            scene.frame("feed.py", "parse_amount", "return int"),
        ],
        body="stopped at line 19: C;1,204-;EUR",
    )
    found = scene.candidates()
    scene.reproduces(only(found, "parse_amount('1,204-')"))
    whole = only(found, "Row.parse(19, ['C', '1,204-', 'EUR'])")
    assert "logs/shop.jsonl:7" in whole.input.citations
    scene.reproduces(whole)


@pytest.mark.parametrize(
    ("body", "attributes"),
    [
        ("failed", {"payload": '{"size": "12 MB", "id": 7}'}),
        ('message failed: {"size": "12 MB", "id": 7}', {}),
        ("message failed: {'size': '12 MB', 'id': 7}", {}),
        ("failed", {"job": {"size": "12 MB", "id": 7}}),
        ("failed", {"job.size": "12 MB", "job.id": 7}),
        ("failed size='12 MB' id=7", {}),
    ],
    ids=["json attribute", "json in text", "repr in text", "nested attribute", "single attributes", "logfmt"],
)
def test_a_payload_is_found_where_it_was_logged(scene, body, attributes):
    scene.write("work.py", 'def work(job):\n    return job["id"], int(job["size"])\n')
    frame = scene.frame("work.py", "work", "int(job")
    scene.fails(
        "ValueError", "invalid literal for int() with base 10: '12 MB'", [frame], body=body, attributes=attributes
    )
    scene.reproduces(scene.candidates().items[0])


def test_a_payload_logged_before_is_found_by_the_identifier_that_both_records_carry(scene):
    scene.write("work.py", 'class Worker:\n    def work(self, message):\n        return int(message["size"])\n')
    for number in range(20):
        scene.log(f"got {{'job': 'j-{number}', 'size': '1{number} MB'}}", trace_id="", job=f"j-{number}", site="HAM1")
    frame = scene.frame("work.py", "work", "int(message")
    error = "invalid literal for int() with base 10: '17 MB'"
    scene.fails("ValueError", error, [frame], trace_id="", attributes={"job": "j-7", "site": "HAM1"})
    first = scene.candidates().items[0]
    assert first.input.summary == "Worker().work({'job': 'j-7', 'size': '17 MB'})"
    scene.reproduces(first)


@pytest.mark.parametrize(
    ("body", "error", "message", "expected"),
    [
        ("return ZONES[country]", "KeyError", "'XK'", "price('XK')"),
        ("return country.strip()", "AttributeError", "'NoneType' object has no attribute 'strip'", "price(None)"),
        ("return country['a'].x", "AttributeError", "'NoneType' object has no attribute 'x'", "price({'a': None})"),
        ("return country.a.x", "AttributeError", "'NoneType' object has no attribute 'x'", "price(SimpleNamespace(a=None))"),  # noqa: E501
        ("return country[0]", "TypeError", "'NoneType' object is not subscriptable", "price(None)"),
        ("return country + 1", "TypeError", "unsupported operand type(s) for +: 'NoneType' and 'int'", "price(None)"),
        ("return 1 / country", "ZeroDivisionError", "division by zero", "price(0)"),
        ("return int(country)", "ValueError", "invalid literal for int() with base 10: 'x'", "price('x')"),
    ],
)  # fmt: skip
def test_an_exception_tells_what_it_got(scene, body, error, message, expected):
    scene.write("m.py", f"ZONES = {{}}\n\ndef price(country):\n    {body}\n")
    scene.fails(error, message, [scene.frame("m.py", "price", body)])
    first = scene.candidates().items[0]
    assert first.input.summary == expected
    scene.reproduces(first)


def test_objects_are_built_the_way_production_builds_them(scene):
    scene.write("svc/__init__.py", "")
    scene.write(
        "svc/store.py",
        """
class Store:
    def __init__(self, path, limit):
        self.path, self.limit = path, limit

    async def page(self, number):
        return 100 // (number - self.limit)
""",
    )
    scene.write(
        "svc/main.py",
        """
import os
from svc.store import Store

def main():
    limit = int(os.environ.get("LIMIT", "5"))
    store = Store(":memory:", limit)
    return store
""",
    )
    scene.setting("LIMIT", "7")
    scene.fails(
        "ZeroDivisionError",
        "integer division or modulo by zero",
        [scene.frame("svc/store.py", "page", "100 //")],
        attributes={"page.number": "7"},
    )
    first = scene.candidates().items[0]
    expected = "asyncio.run(Store(':memory:', int(os.environ.get('LIMIT', '5'))).page(7))"
    assert first.input.summary == expected
    scene.reproduces(first)


def test_settings_objects_hold_the_recorded_configuration(scene):
    scene.write(
        "limits.py",
        """
from dataclasses import dataclass

@dataclass
class Settings:
    max_pixels: int = 40_000_000
    max_side: int = 16_000

class TooLarge(ValueError):
    pass

def check(width, height, settings):
    if width * height > settings.max_pixels:
        raise TooLarge(f"{width * height} pixels are over {settings.max_pixels}")
""",
    )
    scene.setting("limits.max_pixels", "4000000")
    scene.span({"image.width": 4032, "image.height": 3024}, kind="consumer")
    scene.fails("TooLarge", "12192768 pixels are over 4000000", [scene.frame("limits.py", "check", "raise TooLarge")])
    first = scene.candidates().items[0]
    assert first.input.summary == "check(4032, 3024, Settings(max_pixels=4000000))"
    scene.reproduces(first)


def test_an_error_that_the_code_catches_and_logs_fails_the_test(scene):
    scene.write(
        "job.py",
        """
import logging, os

def rotate():
    try:
        return 30 // int(os.environ["KEEP_DAYS"])
    except ZeroDivisionError:
        logging.getLogger("job").exception("not rotated")
""",
    )
    scene.setting("KEEP_DAYS", "0")
    frame = scene.frame("job.py", "rotate", "30 //")
    scene.fails("ZeroDivisionError", "integer division or modulo by zero", [frame])
    first = scene.candidates().items[0]
    assert first.input.summary == "rotate()"
    scene.reproduces(first)
    assert scene.run(first, **{"30 //": "30 +"})[0] == 0


def test_each_function_has_its_turn_before_a_second_try_of_one(scene):
    scene.write("m.py", "def outer(a):\n    return inner(a, 2)\n\ndef inner(a, b):\n    return a / 0 * b\n")
    for number in (1, 2, 3):
        frames = [
            scene.frame("m.py", "outer", "inner(a, 2)", {"a": str(number)}),
            scene.frame("m.py", "inner", "a / 0", {"a": str(number), "b": "2"}),
        ]
        scene.fails("ZeroDivisionError", "division by zero", frames, trace_id=str(number) * 32, at_ms=number)
    summaries = [c.input.summary for c in scene.candidates().items]
    assert summaries[:3] == ["outer(1)", "inner(1, 2)", "outer(2)"]


def test_what_cannot_be_called_is_left_out_and_asked_for(scene):
    scene.write(
        "m.py",
        """
import argparse
from flask import request

def main():
    args = argparse.ArgumentParser().parse_args()
    return view(), load(args)

def view():
    return request.args["x"]

def load(rows):
    return rows.total / 0
""",
    )
    frames = [scene.frame("m.py", "main", "view()"), scene.frame("m.py", "load", "rows.total")]
    scene.fails("ZeroDivisionError", "division by zero", frames)
    found = scene.candidates()
    assert found.items == ()
    assert found.missing[0][0] == "the argument rows of load() in m.py"


def test_the_recorded_command_line_is_the_argument_of_main(scene):
    scene.write("cli.py", "def main(argv=None):\n    return int(argv[1])\n")
    scene.fails(
        "ValueError",
        "invalid literal for int() with base 10: 'ten'",
        [scene.frame("cli.py", "main", "int(argv")],
        resource={"process.command_line": "/usr/bin/python3 -m cli --days ten"},
    )
    first = scene.candidates().items[0]
    assert first.input.summary == "main(['--days', 'ten'])"
    scene.reproduces(first)
