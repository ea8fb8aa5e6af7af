"""Requests that production recorded fail again in a generated test, whatever the application is written with."""

import pytest

DIVIDE = {"http.request.method": "GET", "url.path": "/div", "url.query": "b=0", "http.response.status_code": 500}
WSGI = """
from urllib.parse import parse_qs

def application(environ, start_response):
    b = int(parse_qs(environ["QUERY_STRING"])["b"][0])
    try:
        text = str(10 / b)
        start_response("200 OK", [])
    except ZeroDivisionError:
        start_response("500 Oops", [])
        text = "oops"
    return [text.encode()]
"""
ASGI = """
class App:
    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            self.divisor = 0
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        answer = str(10 / self.divisor)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": answer.encode()})

app = App()
"""
AIOHTTP = """
import logging
from aiohttp import web

@web.middleware
async def errors(request, handler):
    try:
        return await handler(request)
    except Exception as error:
        logging.getLogger("shop").error("failed: %s", error)
        return web.json_response({"error": "internal"}, status=500)

async def div(request):
    return web.json_response({"x": 10 / int(request.query["b"])})

async def make_app():
    app = web.Application(middlewares=[errors])
    app.router.add_get("/div", div)
    return app
"""
HANDLER = """
from http.server import BaseHTTPRequestHandler

class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(10 / int(self.path.split("=")[1])).encode())
"""


@pytest.mark.parametrize(
    ("text", "function", "code", "kind"),
    [
        (WSGI, "application", "10 / b", "environ"),
        (ASGI, "__call__", "10 / self.divisor", "lifespan"),
        (AIOHTTP, "div", "10 / int", "TestServer"),
        (HANDLER, "do_GET", "10 / int", "ThreadingHTTPServer"),
    ],
    ids=["wsgi", "asgi", "aiohttp", "http.server"],
)
def test_a_recorded_request_fails_again(scene, text, function, code, kind):
    scene.write("shop/__init__.py", "")
    scene.write("shop/web.py", text)
    scene.span(DIVIDE if kind != "ThreadingHTTPServer" else {**DIVIDE, "http.response.status_code": 0})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("shop/web.py", function, code)])
    found = scene.candidates()
    first = found.items[0]
    assert first.input.strategy == "http"
    assert first.input.summary == "GET /div?b=0"
    assert kind in first.files[first.test]
    assert "traces/t.jsonl:1" in first.input.citations
    scene.reproduces(first)
    assert scene.run(first, **{"10 /": "10 +"})[0] == 0


def test_flags_and_configuration_are_set_before_the_application_is_built(scene):
    scene.write(
        "web.py",
        """
import json, os
FLAGS = json.loads(os.environ.get("FEATURE_FLAGS", "{}"))
LIMIT = int(os.environ.get("LIMIT", "1"))

def application(environ, start_response):
    start_response("200 OK", [])
    return [str(1 / (LIMIT if FLAGS.get("new-math") else 1)).encode()]
""",
    )
    scene.setting("LIMIT", "0")
    scene.setting("LIMIT", "7", at_ms=5)
    scene.setting("API_TOKEN", "hunter2")
    scene.setting("LD_PRELOAD", "evil.so")
    scene.flag("new-math", True)
    scene.span({"http.method": "GET", "http.target": "/"})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "application", "1 /")])
    first = scene.candidates().items[0]
    assert first.input.environment == {"LIMIT": "0", "FEATURE_FLAGS": '{"new-math": true}'}
    assert {"config.jsonl:1", "flags.jsonl:1"} <= set(first.input.citations)
    scene.reproduces(first)


def test_a_body_is_sent_as_it_was_logged(scene):
    scene.write(
        "web.py",
        "import json\n"
        + WSGI.replace('parse_qs(environ["QUERY_STRING"])["b"][0]', "json.loads(environ['wsgi.input'].read())['b']"),
    )
    scene.span({"http.method": "POST", "http.target": "/div", "http.status_code": 500})
    scene.log('received body: {"b": 0, "text": "</x>"}')
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "application", "10 / b")])
    first = scene.candidates().items[0]
    assert first.input.http["body"] == {"b": 0, "text": "</x>"}
    scene.reproduces(first)


def test_a_body_is_taken_from_the_variables_of_the_view(scene):
    scene.write(
        "web.py",
        """
from aiohttp import web

async def pay(request):
    payload = await request.json()
    return web.json_response({"each": payload["total"] / payload["parts"]})

def build_app():
    app = web.Application()
    app.router.add_post("/pay", pay)
    return app
""",
    )
    variables = {"request": "<Request POST /pay >", "payload": {"total": "12", "parts": "0"}}
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "pay", "payload[", variables)])
    first = scene.candidates().items[0]
    assert first.input.http["body"] == {"total": 12, "parts": 0}
    scene.reproduces(first)


def test_other_services_answer_what_they_answered_in_production(scene):
    scene.write(
        "web.py",
        """
import json, urllib.request, urllib.error

def application(environ, start_response):
    with urllib.request.urlopen("http://prices.internal:8080/price/a-1") as answer:
        price = json.load(answer)
    try:
        urllib.request.urlopen("http://stock.internal/none")
    except urllib.error.HTTPError as error:
        assert error.code == 503
    start_response("200 OK", [])
    return [price["text"].strip().encode()]
""",
    )
    scene.span({"http.method": "GET", "http.target": "/offer", "http.status_code": 500})
    answer = {"http.response.status_code": 200, "http.response.body.content": '{"text": null}'}
    scene.span(
        {"http.request.method": "GET", "url.full": "http://prices.internal:8080/price/a-1", **answer},
        kind="client", span_id="c1", parent="server", at_ms=-4,
    )  # fmt: skip
    scene.fails(
        "AttributeError",
        "'NoneType' object has no attribute 'strip'",
        [scene.frame("web.py", "application", "strip")],
    )
    found = scene.candidates()
    assert found.items[0].input.stubs[0]["body"] == {"text": None}
    assert not found.missing
    scene.reproduces(found.items[0])


def test_an_answer_that_was_not_recorded_is_asked_for(scene):
    scene.write("web.py", WSGI)
    scene.span(DIVIDE)
    scene.span(
        {"http.method": "GET", "http.url": "http://prices/price/1", "http.status_code": 200},
        kind="client", span_id="c1", parent="server",
    )  # fmt: skip
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "application", "10 / b")])
    assert [m[0] for m in scene.candidates().missing] == ["the response body of GET http://prices/price/1"]


def test_the_clock_stands_at_the_failure_where_the_code_reads_it(scene):
    scene.write(
        "web.py",
        """
from datetime import date, datetime
import time

def application(environ, start_response):
    assert isinstance(datetime.now(), datetime) and isinstance(date.today(), date)
    assert datetime(2020, 1, 1) < datetime.now()
    start_response("200 OK", [])
    return [str(1 / (date.today().day - 14)).encode(), time.strftime("%Y").encode()]
""",
    )
    scene.span({"http.method": "GET", "http.target": "/"})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "application", "1 /")])
    first, second = scene.candidates().items[:2]
    assert "stop_the_clock" in first.files[first.test]
    assert "stop_the_clock" not in second.files[second.test]
    scene.reproduces(first)


def test_earlier_requests_that_changed_something_come_first_in_a_variant(scene):
    scene.write(
        "web.py",
        """
import json
ORDERS = {}

def application(environ, start_response):
    start_response("200 OK", [])
    if environ["REQUEST_METHOD"] == "POST":
        ORDERS["1"] = json.loads(environ["wsgi.input"].read())
        return [b"ok"]
    return [str(1 / ORDERS["1"]["n"]).encode() if "1" in ORDERS else b"none"]
""",
    )
    scene.span(
        {"http.method": "POST", "http.target": "/orders", "http.status_code": 200, "http.request.body": '{"n": 0}'},
        trace_id="b" * 32, at_ms=-5000,
    )  # fmt: skip
    scene.span({"http.method": "GET", "http.target": "/orders/1", "http.status_code": 500})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "application", "1 /")])
    alone, after = [c for c in scene.candidates().items if c.input.strategy == "http"]
    assert scene.run(alone)[0] == 0
    assert after.input.http["earlier"] == ["POST /orders"]
    scene.reproduces(after)


def test_a_caught_error_behind_a_good_answer_fails_the_test_too(scene):
    scene.write(
        "web.py",
        """
import logging

def price(n):
    return 1 / n

def application(environ, start_response):
    start_response("200 OK", [])
    try:
        return [str(price(0)).encode()]
    except ZeroDivisionError:
        logging.getLogger("shop").exception("no price")
        return [b"none"]
""",
    )
    scene.span({"http.method": "GET", "http.target": "/", "http.status_code": 200})
    scene.fails(
        "ZeroDivisionError",
        "division by zero",
        [scene.frame("web.py", "application", "price(0)"), scene.frame("web.py", "price", "1 / n")],
    )
    scene.reproduces(scene.candidates().items[0])


def test_a_service_in_a_folder_of_its_own_is_imported_from_there(scene):
    scene.prefix = "services/shop"
    scene.write("services/shop/shop/__init__.py", "")
    scene.write("services/shop/shop/web.py", WSGI)
    scene.write("services/other/app.py", "from flask import Flask\napp = Flask(__name__)\n")
    scene.span(DIVIDE)
    frame = scene.frame("services/shop/shop/web.py", "application", "10 / b")
    scene.fails("ZeroDivisionError", "division by zero", [frame])
    scene.reproduces(scene.candidates().items[0])


def test_the_repositorys_own_pytest_settings_do_not_matter(scene):
    scene.write("web.py", WSGI)
    scene.write("conftest.py", "raise RuntimeError('the services of the test environment are not there')\n")
    scene.write("pytest.ini", "[pytest]\naddopts = --cov=nowhere\n")
    scene.span(DIVIDE)
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "application", "10 / b")])
    scene.reproduces(scene.candidates().items[0])


def test_recorded_text_stays_data(scene):
    scene.write("web.py", WSGI.replace('["b"][0]', '["b"][-1]'))
    hostile = "b=0&x='''\"\"\"){{7*7}}{%raw%}\\N{BULLET}\\"
    scene.span({**DIVIDE, "url.query": hostile})
    message = 'division by zero"""\nimport os\nos.system("boom") {{ x }} \\u0041 \x00'
    scene.fails("ZeroDivisionError", message, [scene.frame("web.py", "application", "10 / b")])
    first = scene.candidates().items[0]
    text = first.files[first.test]
    compile(text, "test", "exec")
    assert "\nimport os\n" not in text
    assert repr(hostile) in text
    code, output = scene.run(first)
    assert code == 1 and "ZeroDivisionError" in output


def test_the_same_case_gives_the_same_candidates(scene):
    scene.write("web.py", WSGI)
    scene.span(DIVIDE)
    for at in range(3):
        scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "application", "10 / b")], at_ms=at)
    assert scene.candidates() == scene.candidates()


def test_paths_of_the_production_machine_become_the_repositorys_file_or_a_place_to_write(scene):
    scene.write("data/points.csv", "0\n")
    scene.write(
        "web.py",
        """
import os, sqlite3

def application(environ, start_response):
    with open(os.environ["POINTS_FILE"]) as file:
        number = int(file.read())
    sqlite3.connect(os.environ["DATABASE"]).execute("CREATE TABLE t (x)")
    start_response("200 OK", [])
    return [str(1 / number).encode()]
""",
    )
    scene.setting("POINTS_FILE", "/app/data/points.csv")
    scene.setting("DATABASE", "/var/lib/shop/shop.db")
    scene.span({"http.method": "GET", "http.target": "/"})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "application", "1 /")])
    scene.reproduces(scene.candidates().items[0])


def test_a_body_logged_under_any_name_is_known_by_the_keys_that_the_code_reads(scene):
    scene.write(
        "web.py",
        """
import logging
from aiohttp import web
log = logging.getLogger("shop")

def each(order):
    return order["total"] / order["parts"]

async def pay(request):
    wanted = await request.json()
    log.info("paying %s", wanted)
    return web.json_response({"each": each(wanted)})

def build_app():
    app = web.Application()
    app.router.add_post("/pay", pay)
    return app
""",
    )
    scene.log("paying {'total': 12, 'parts': 0, 'who': None}")
    scene.log("context", other={"total": 1})
    scene.span({"http.method": "POST", "http.target": "/pay", "http.status_code": 500})
    frames = [scene.frame("web.py", "pay", "each(wanted)"), scene.frame("web.py", "each", "order[")]
    scene.fails("ZeroDivisionError", "division by zero", frames)
    first = scene.candidates().items[0]
    assert first.input.http["body"] == {"total": 12, "parts": 0, "who": None}
    scene.reproduces(first)
