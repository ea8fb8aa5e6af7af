"""Values that recorders wrote as text become what a parameter wants; objects are made from what is known."""

import pytest


@pytest.mark.parametrize(
    ("annotation", "body", "recorded", "argument"),
    [
        (": int", "pass", "12", "12"),
        (": int", "pass", 12.0, "12"),
        (": float", "pass", "1.5", "1.5"),
        ("", "value * 2", "7", "7"),
        ("", "value.strip()", 7, "'7'"),
        (": bool", "pass", "on", "True"),
        (": bytes", "pass", "ab", "b'ab'"),
        (": 'Decimal | None'", "pass", "1.50", "Decimal('1.50')"),
        (": datetime.date", "pass", "2024-02-29", "datetime.date.fromisoformat('2024-02-29')"),
        (": datetime", "pass", "2024-02-29T01:00:00", "datetime.datetime.fromisoformat('2024-02-29T01:00:00')"),
        (": Path", "pass", "a/b.csv", "Path('a/b.csv')"),
        (": list[str]", "pass", ["a"], "['a']"),
        ("", "json.loads(value)", {"a": 1}, "json.dumps({'a': 1})"),
        ("", "value['a']", '{"a": 1, "b": 2}', "{'a': 1, 'b': 2}"),
        ("", "x, y = value", "7;8", "['7', '8']"),
    ],
)
def test_a_value_is_given_the_type_that_is_wanted(scene, annotation, body, recorded, argument):
    scene.write("m.py", f"import json\n\ndef work(value{annotation}):\n    {body}\n    return 1 / 0\n")
    frame = scene.frame("m.py", "work", "1 / 0")
    scene.fails("ZeroDivisionError", "division by zero", [frame], attributes={"value": recorded})
    first = scene.candidates().items[0]
    assert first.input.summary == f"work({argument})"
    scene.files.clear()
    compile(first.files[first.test], "test", "exec")


def test_what_does_not_fit_is_not_passed(scene):
    scene.write("m.py", "def work(value: int, other):\n    other['k']\n    return 1 / 0\n")
    frame = scene.frame("m.py", "work", "1 / 0")
    scene.fails("ZeroDivisionError", "division by zero", [frame], attributes={"value": "seven", "other": "text"})
    found = scene.candidates()
    assert found.items == ()
    assert found.missing[0][0] == "the arguments value, other of work() in m.py"


ORDERS = """
from dataclasses import dataclass
from decimal import Decimal

@dataclass
class Order:
    id: str
    total: Decimal
    note: str = ""

class Ledger:
    def __init__(self, currency: str, rates):
        self.currency, self.rates = currency, rates

    def book(self, order: Order, *lines, dry=False, **extra):
        return order.total / len(order.note)

class Rates:
    pass

def book(order: Order, ledger):
    return ledger.book(order)
"""


def test_a_recorded_object_becomes_the_data_class_that_is_annotated(scene):
    scene.write("orders.py", ORDERS)
    frame = scene.frame("orders.py", "book", "return ledger.book")
    payload = '{"id": "o-1", "total": "12.50", "unknown": 1}'
    scene.fails("ZeroDivisionError", "x", [frame], attributes={"order": payload, "currency": "EUR"})
    first = scene.candidates().items[0]
    expected = "book(Order(id='o-1', total=Decimal('12.50')), Ledger(currency='EUR', rates=Rates()))"
    assert first.input.summary == expected


def test_methods_with_variable_arguments_get_what_the_frame_held(scene):
    scene.write("orders.py", ORDERS)
    variables = {
        "self": "<orders.Ledger object at 0x1>",
        "order": "Order(id='o-1', total=Decimal('1'), note='')",
        "lines": "(1, 2)",
        "dry": "True",
        "extra": "{'a': 1}",
    }
    frame = scene.frame("orders.py", "book", "return order.total", variables)
    scene.fails("DivisionByZero", "x", [frame], attributes={"currency": "EUR"})
    first = scene.candidates().items[0]
    order = "Order(id='o-1', total=Decimal('1'), note='')"
    assert first.input.summary == (
        f"Ledger(currency='EUR', rates=Rates()).book({order}, *(1, 2), dry=True, **{{'a': 1}})"
    )
    scene.run(first)


def test_static_class_and_generator_functions_and_commands_are_called_as_they_must_be(scene):
    scene.write(
        "m.py",
        """
import click

class Feed:
    @staticmethod
    def split(text):
        return text.split(";")[9]

    @property
    def size(self):
        return 1 / 0

def rows(text):
    yield text.split(";")[9]

@click.command()
def load(text):
    return text.split(";")[9]
""",
    )
    for at, (function, code) in enumerate(
        [("split", "return text"), ("rows", "yield"), ("load", '    return text.split(";")[9]\n')]
    ):
        code = code.strip("\n")
        frame = scene.frame("m.py", function, code, {"text": "'a;b'"})
        if function == "load":
            frame = frame.__class__(file=frame.file, function="load", line=17, locals=frame.locals)
        scene.fails("IndexError", "list index out of range", [frame], trace_id=f"{at}" * 32, at_ms=at)
    scene.fails("IndexError", "x", [scene.frame("m.py", "size", "1 / 0")], trace_id="f" * 32, at_ms=9)
    summaries = {c.input.summary for c in scene.candidates().items}
    assert {"Feed.split('a;b')", "list(rows('a;b'))", "load.callback('a;b')", "Feed().size"} <= summaries


def test_a_job_that_was_recorded_in_pieces_is_asked_for_whole(scene):
    scene.write("m.py", "async def run(job):\n    job.get('id'), job.get('kind')\n    return 1 / 0\n")
    scene.fails(
        "JobTimeout", "late", [scene.frame("m.py", "run", "1 / 0")], attributes={"id": "j-1", "kind": "deliver"}
    )
    found = scene.candidates()
    assert found.items[0].input.summary == "asyncio.run(run({'id': 'j-1', 'kind': 'deliver'}))"
    assert [m[0] for m in found.missing] == ["the argument job of run() in m.py"]
