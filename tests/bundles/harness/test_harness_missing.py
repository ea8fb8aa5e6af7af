"""What was not recorded is asked for by name, with the place to get it."""

from bundles.harness import HARNESSES

VIEW = """
from flask import Flask, request
app = Flask(__name__)

@app.post("/settlements")
def create():
    body = request.get_json(silent=True)
    return {"each": body["total"] / body["parts"]}

@app.get("/points")
def points():
    return {"page": int(request.args["page"])}

@app.post("/orders/<number>/cancel")
def cancel(number):
    return {"x": 1 / 0}
"""


def asked(scene):
    return [m[0] for m in scene.candidates().missing]


def test_the_body_of_a_request(scene):
    scene.write("web.py", VIEW)
    scene.span({"http.method": "POST", "http.target": "/settlements", "http.status_code": 500})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "create", 'body["total"]')])
    found = scene.candidates()
    assert found.items == ()
    what, why, where = found.missing[0]
    assert what == f"the request body of POST /settlements, e.g. of trace {'a' * 32}"
    assert "can't be sent again" in why and "http.request.body" in where


def test_no_body_is_asked_for_where_the_view_reads_none(scene):
    scene.write("web.py", VIEW)
    scene.span({"http.method": "POST", "http.target": "/orders/7/cancel", "http.status_code": 500})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("web.py", "cancel", "1 / 0")])
    found = scene.candidates()
    assert found.items[0].input.summary == "POST /orders/7/cancel"
    assert found.missing == ()


def test_the_query_string(scene):
    scene.write("web.py", VIEW)
    scene.span({"http.method": "GET", "http.target": "/points", "http.status_code": 500})
    scene.fails("KeyError", "'page'", [scene.frame("web.py", "points", "request.args")])
    assert asked(scene)[0].startswith("the query string of GET /points")


def test_the_request_itself(scene):
    scene.write("web.py", VIEW)
    scene.fails("KeyError", "'page'", [scene.frame("web.py", "points", "request.args")])
    assert "a failing request to shop: method, path, query and body" in asked(scene)


def test_how_the_application_is_built(scene):
    scene.write("views.py", "def view(request):\n    return 1 / 0\n")
    scene.span({"http.method": "GET", "http.target": "/x", "http.status_code": 500})
    scene.fails("ZeroDivisionError", "division by zero", [scene.frame("views.py", "view", "1 / 0")])
    assert "how shop builds its application object" in asked(scene)


def test_the_stack_and_the_data_behind_a_database_error(scene):
    scene.write("m.py", "")
    scene.fails("sqlite3.OperationalError", "interrupted")
    assert asked(scene) == [
        "a stack trace of OperationalError in shop",
        "the data that shop worked on when it failed (rows and sizes of the tables that are read)",
    ]


def test_several_arguments(scene):
    scene.write("m.py", "def f(rows, columns):\n    return rows / columns\n")
    scene.fails("TypeError", "no", [scene.frame("m.py", "f", "rows / columns")])
    assert asked(scene) == ["the arguments rows, columns of f() in m.py"]


def test_every_harness_names_its_language():
    assert all(harness.language == name for name, harness in HARNESSES.items())
