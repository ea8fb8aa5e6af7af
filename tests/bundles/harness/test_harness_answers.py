"""What a person answers to a question takes the place of what was not recorded."""

import pytest
from msgspec import structs

from bundles.harness.answers import answers_of, argument_answers, with_answers
from bundles.harness.occurrences import occurrences
from bundles.harness.python.recovery import Recovery
from bundles.harness.requests import request_of

VIEW = """
from aiohttp import web

async def settle(request):
    body = await request.json()
    return web.json_response({"each": body["total"] / body["parts"], "page": request.query.get("page")})

def build_app():
    app = web.Application()
    app.router.add_post("/settlements", settle)
    return app
"""


def candidates(scene, answers):
    case = structs.replace(scene.case, options={"answers": answers})
    return Recovery(case, scene.crash, scene.source()).candidates()


def test_an_answered_body_is_sent_and_cited(scene):
    scene.write("web.py", VIEW)
    scene.span({"http.method": "POST", "http.target": "/settlements", "http.status_code": 500})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "settle", 'body["total"]')])
    asked = scene.candidates()
    assert asked.items == ()
    found = candidates(scene, {asked.missing[0][0]: '{"total": 3, "parts": 0}'})
    first = found.items[0]
    assert f"answer: {asked.missing[0][0]}" in first.input.citations
    assert found.missing == ()
    scene.reproduces(first)


def test_an_answered_request_line_stands_for_the_request(scene):
    scene.write("web.py", VIEW)
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "settle", 'body["total"]')])
    what = "a failing request to shop: method, path, query and body"
    assert what in [m[0] for m in scene.candidates().missing]
    first = candidates(scene, {what: 'POST /settlements?page=2\n{"total": 3, "parts": 0}'}).items[0]
    assert first.input.summary == "POST /settlements?page=2"
    scene.reproduces(first)
    assert candidates(scene, {what: "no idea"}).items == ()


@pytest.mark.parametrize(
    ("answer", "summary"),
    [('{"rows": [1], "other": 2}', "half([1])"), ("[1]", "half([1])"), ("7", "half(7)"), ("null", "half(None)")],
)
def test_answered_arguments_are_passed(scene, answer, summary):
    scene.write("m.py", "def half(rows):\n    return rows / 0\n")
    scene.fails("TypeError", "no", [scene.frame("m.py", "half", "rows / 0")])
    what = scene.candidates().missing[0][0]
    assert candidates(scene, {what: answer}).items[0].input.summary == summary


def test_fields_of_a_job_that_were_not_logged_are_asked_for_and_answered(scene):
    scene.write(
        "m.py",
        """
def run(job):
    match job:
        case {"kind": "deliver", "account": account, "text": text}:
            return len(text) / 0
""",
    )
    scene.fails(
        "ZeroDivisionError",
        "division by zero",
        [scene.frame("m.py", "run", "len(text)")],
        attributes={"kind": "deliver", "account": "acme"},
    )
    what = scene.candidates().missing[0][0]
    assert what == "the field text of the argument job of run() in m.py"
    first = candidates(scene, {what: "hello"}).items[0]
    assert first.input.summary == "run({'kind': 'deliver', 'account': 'acme', 'text': 'hello'})"
    scene.reproduces(first)


def test_a_query_answer_and_odd_answers(scene):
    scene.span({"http.method": "GET", "http.target": "/p"})
    scene.fails("E", "m")
    case = structs.replace(scene.case, options={"answers": {"the query string of GET /p": "?page=2", "x": 3, "y": " "}})
    request = request_of(occurrences(scene.case, scene.crash)[0], "shop")
    changed, cited = with_answers(request, case, "shop")
    assert changed is not None and changed.line == "GET /p?page=2"
    assert cited == "answer: the query string of GET /p"
    assert list(answers_of(case)) == ["the query string of GET /p"]
    assert argument_answers(case) == []
    assert with_answers(request, scene.case, "shop") == (request, "")


def test_a_table_of_productions_size_brings_out_a_slow_statement(scene):
    scene.write(
        "store.py",
        """
import sqlite3

class Store:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")

    def migrate(self):
        self.db.executescript('''
            CREATE TABLE batches (id INTEGER PRIMARY KEY, site TEXT NOT NULL, code TEXT NOT NULL, label TEXT,
                                  size INTEGER NOT NULL, free REAL NOT NULL);
            CREATE INDEX i ON batches (site, code)''')

    def find(self, site, code):
        ticks = []
        self.db.set_progress_handler(lambda: ticks.append(1) or len(ticks) > 20, 1000)
        statement = "SELECT id FROM batches WHERE site = ? AND (code = ? OR label = ?)"
        return self.db.execute(statement, (site, code, code)).fetchone()
""",
    )
    statement = "SELECT id FROM batches WHERE site = ? AND (code = ? OR label = ?)"
    scene.span({"db.system": "sqlite", "db.statement": statement})
    for site, rows in (("HAM1", 9000.0), ("BRE2", 20.0)):
        scene.measured("stock_batches", {"site": site}, rows)
    scene.measured("batches_seconds", {}, 3.0)
    frame = scene.frame("store.py", "find", "return self.db")
    scene.fails("OperationalError", "interrupted", [frame], attributes={"site": "HAM1", "codes": "B-1,B-2"})
    first = scene.candidates().items[0]
    assert first.input.summary == "Store().find('HAM1', 'B-1') on 9000 rows of batches"
    assert first.input.call["rows"] == {"batches": 9000}
    assert "metrics/m.jsonl:1" in first.input.citations
    scene.reproduces(first)
    assert scene.run(first, **{" OR label = ?)": ")", "(site, code, code)": "(site, code)"})[0] == 0
