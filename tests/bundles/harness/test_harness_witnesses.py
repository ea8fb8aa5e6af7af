"""What a service's own log lines, its framework and its tests say where nothing else was recorded."""

import pytest

TOLD = {
    "as fields": (
        "stock answered",
        {"url": "http://stock:8080/levels/a-1", "status": 200, "response": '{"levels": {}}'},
    ),
    "in the text": ('GET http://stock:8080/levels/a-1 -> 200 {"levels": {}}', {}),
}


@pytest.mark.parametrize("way", TOLD)
def test_an_answer_that_the_service_logged_itself_is_given_again(scene, way):
    scene.write(
        "web.py",
        """
import json, urllib.request

def application(environ, start_response):
    with urllib.request.urlopen("http://stock:8080/levels/a-1") as answer:
        free = json.load(answer)["levels"]["B1"]
    start_response("200 OK", [])
    return [b"ok"]
""",
    )
    body, fields = TOLD[way]
    scene.span({"http.method": "GET", "http.target": "/offer", "http.status_code": 500})
    scene.log(body, **fields)
    scene.log("answered", url="http://shop.example.com/offer", response='{"error": "internal"}')
    scene.fails("KeyError", "'B1'", [scene.frame("web.py", "application", '["B1"]')])
    first = scene.candidates().items[0]
    assert first.input.stubs == (
        {"method": "GET", "url": "http://stock:8080/levels/a-1", "status": 200, "body": {"levels": {}}},
    )
    scene.reproduces(first)


def test_a_recursion_that_a_framework_catches_and_logs_is_seen(scene):
    scene.write(
        "web.py",
        """
import logging

PARENTS = {"sale": "outlet", "outlet": "sale"}

def path_of(slug):
    return [*(path_of(PARENTS[slug]) if slug in PARENTS else []), slug]

def application(environ, start_response):
    try:
        path_of(environ["PATH_INFO"].strip("/"))
    except Exception:
        logging.exception("uncaught")
        start_response("500 Internal Server Error", [])
        return [b""]
    start_response("200 OK", [])
    return [b""]
""",
    )
    scene.span({"http.method": "GET", "http.target": "/sale", "http.status_code": 500})
    frames = [scene.frame("web.py", "application", "path_of(environ"), scene.frame("web.py", "path_of", "return [*")]
    scene.fails("RecursionError", "maximum recursion depth exceeded", frames)
    scene.reproduces(scene.candidates().items[0])


def test_a_line_is_known_by_its_name_also_where_the_log_call_strips_it(scene):
    scene.write(
        "feed.py",
        """
import logging

log = logging.getLogger(__name__)

def read_row(line):
    article, price = line.strip().split(";")
    return article, float(price)

def run(lines):
    for number, line in enumerate(lines, 1):
        try:
            read_row(line)
        except ValueError:
            log.exception("line %d rejected: %r", number, line.rstrip())
""",
    )
    frames = [scene.frame("feed.py", "run", "read_row(line)"), scene.frame("feed.py", "read_row", "float(price)")]
    message = "could not convert string to float: '1,5'"
    scene.fails("ValueError", message, frames, body="line 3 rejected: 'A1;1,5'")
    first = next(c for c in scene.candidates().items if c.input.summary.startswith("read_row"))
    assert first.input.call["kwargs"] == {"line": "'A1;1,5'"}
    scene.reproduces(first)


def test_an_object_that_production_did_not_record_is_made_as_the_tests_make_it(scene):
    scene.write(
        "gate.py",
        """
import logging

class Matcher:
    def __init__(self, known):
        self.known = set(known)

    def allowed(self, plate):
        return "".join(plate.partition("-")[::3]) in self.known and plate[99]

class Gate:
    def __init__(self, matcher: Matcher):
        self.matcher = matcher

    def answer(self, line):
        try:
            return self.matcher.allowed(line)
        except IndexError:
            logging.exception("cannot answer %r", line)
""",
    )
    scene.write(
        "tests/test_gate.py",
        "from gate import Matcher\n\n\ndef test_it(known):\n    Matcher(known)\n    Matcher(['HH'])\n",
    )
    frames = [scene.frame("gate.py", "answer", "allowed(line)"), scene.frame("gate.py", "allowed", "plate[99]")]
    scene.fails("IndexError", "string index out of range", frames, body="cannot answer 'HH-1'")
    first = scene.candidates().items[0]
    assert first.input.call["expression"] == "Gate(matcher=Matcher(['HH'])).answer('HH-1')"
    scene.reproduces(first)


def test_a_task_is_known_where_the_modules_of_the_stack_are_loaded_and_its_arguments_whole(scene):
    scene.write(
        "tasks.py",
        """
import logging

TASKS = {}

def task(function):
    TASKS[function.__name__] = function
    return function

def execute(name, args=(), kwargs=None):
    try:
        return TASKS[name](*args, **(kwargs or {}))
    except Exception as error:
        logging.error("Task %s raised %r args=%r kwargs=%r", name, error, args, kwargs, exc_info=True)
""",
    )
    scene.write(
        "invoices.py", "from tasks import task\n\n\n@task\ndef total(order, parts=()):\n    return 1 / len(parts)\n"
    )
    line = "Task total raised ZeroDivisionError('division by zero') args=('o-1',) kwargs={'parts': [], 'by': 2}"
    cut = {"args": "('o-1',)", "kwargs": "{'parts':"}
    scene.fails(
        "ZeroDivisionError",
        "division by zero",
        [scene.frame("tasks.py", "execute", "TASKS[name]("), scene.frame("invoices.py", "total", "1 / len")],
        body=line.replace(", 'by': 2", ""),
        attributes=cut,
    )
    first = scene.candidates().items[0]
    assert first.input.call["expression"] == "execute('total', ('o-1',), {'parts': []})"
    assert "import invoices" in first.files[first.test]
    scene.reproduces(first)


def test_bytes_that_were_logged_in_hexadecimal_are_bytes_again(scene):
    scene.write("frames.py", "def decode(data):\n    return 10 // data[1]\n")
    frames = [scene.frame("frames.py", "decode", "10 // data[1]")]
    scene.fails("ZeroDivisionError", "integer division or modulo by zero", frames, attributes={"data": "0100"})
    found = next(c for c in scene.candidates().items if "fromhex" in c.input.summary)
    assert found.input.call["expression"] == "decode(bytes.fromhex('0100'))"
    scene.reproduces(found)
