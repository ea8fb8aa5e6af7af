"""What is read out of a repository's syntax: import roots, applications, wiring, shapes, flow and messages."""

import ast

import pytest

from bundles.harness.python.apps import find_apps
from bundles.harness.python.flow import arguments_at, evaluate, run_to
from bundles.harness.python.formats import fill, templates_of
from bundles.harness.python.intrinsics import name_of
from bundles.harness.python.shapes import shape_of
from bundles.harness.python.source import read_source
from bundles.harness.python.values import UNKNOWN
from bundles.harness.python.wiring import wiring_of


def function(source, name):
    return next(f for f in source.functions if f.name == name)


def test_import_roots_follow_packages_and_imports(tmp_path):
    for path, text in {
        "src/pkg/__init__.py": "",
        "src/pkg/mod.py": "",
        "app/main.py": "from app.db import x",
        "app/db.py": "x = 1",
        "tools/run.py": "import helper",
        "tools/helper.py": "",
        "bad.py": "def (",
        "venv/lib/x.py": "",
        "tests/test_a.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "link.py").symlink_to("/etc/hostname")
    modules = {p: (m.root, m.name) for p, m in read_source(tmp_path).modules.items()}
    assert modules["src/pkg/mod.py"] == ("src", "pkg.mod")
    assert modules["app/db.py"] == ("", "app.db")
    assert modules["tools/helper.py"] == ("tools", "helper")
    assert not {"bad.py", "venv/lib/x.py", "link.py"} & set(modules)


@pytest.mark.parametrize(
    ("text", "kind", "expression"),
    [
        ("from flask import Flask\napp = Flask(__name__)", "wsgi", "app"),
        ("import flask as f\napplication: object = f.Flask('x')", "wsgi", "application"),
        ("from fastapi import FastAPI\nasync def make():\n    return FastAPI()", "asgi", "asyncio.run(make())"),
        ("from aiohttp.web import Application\nasync def init():\n    return Application()", "aiohttp", "await init()"),
        ("import tornado.web\ndef make_app():\n    return tornado.web.Application([])", "tornado", "make_app()"),
        ("from falcon import App\ndef create():\n    return wrap()\ndef wrap():\n    return App()", "wsgi", "create()"),
        ("def app(environ, start_response): ...", "wsgi", "app"),
        ("async def app(scope, receive, send): ...", "asgi", "app"),
        ("def make():\n    def inner(environ, start_response): ...\n    return inner", "wsgi", "make()"),
        ("class A:\n    def __call__(self, environ, start_response): ...\napp = A()", "wsgi", "app"),
        ("from flask import Flask\nclass Shop(Flask): ...\nserver = Shop('x')", "wsgi", "server"),
        ("from flask import Flask\ndef create(): \n    return Flask('x')\nweb = 1\napp = create()", "wsgi", "app"),
        ("from http.server import BaseHTTPRequestHandler as B\nclass H(B): ...", "handler", "H"),
        ("def main():\n    config = Configurator()\n    return config.make_wsgi_app()", "wsgi", "main()"),
    ],
)  # fmt: skip
def test_applications_are_found(source_of, text, kind, expression):
    first = find_apps(source_of(web=text))[0]
    assert (first.kind, first.expression) == (kind, expression)
    assert first.imports[0].startswith("from web import")


@pytest.mark.parametrize("path", ["__main__.py", "run.py"])
def test_a_factory_gets_what_production_gives_it(source_of, path):
    main = "from web import build\nfrom conf import Conf\nif __name__ == '__main__':\n    c = Conf.load()\n    build(c)"
    source = source_of(
        {path: main},
        web="from flask import Flask\nfrom conf import Conf\ndef build(conf):\n    return Flask(__name__)",
        conf="class Conf:\n    @classmethod\n    def load(cls): ...",
    )
    first = find_apps(source)[0]
    assert first.expression == "build(Conf.load())"
    assert set(first.imports) == {"from web import build", "from conf import Conf"}


def test_a_factory_that_needs_what_nobody_has_is_no_application(source_of):
    assert find_apps(source_of(web="from flask import Flask\ndef build(conf):\n    return Flask(__name__)")) == ()


def test_the_serve_command_decides(source_of):
    both = {"a": "from flask import Flask\napp = Flask(__name__)", "b": "from flask import Flask\nweb = Flask('b')"}
    assert find_apps(source_of({"Dockerfile": "CMD gunicorn -w 2 b:web"}, **both))[0].expression == "web"
    assert find_apps(source_of(**both))[0].expression == "app"


def test_a_django_project_names_its_settings(source_of):
    setting = 'import os\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "site.settings")'
    source = source_of(manage=setting, site__settings="", tests__conftest=setting.replace("site.settings", "other"))
    first = find_apps(source)[0]
    assert (first.django, first.expression) == ("site.settings", "get_wsgi_application()")
    by_text = find_apps(source_of({"Dockerfile": "ENV DJANGO_SETTINGS_MODULE=site.settings"}, site__settings=""))
    assert by_text[0].django == "site.settings"
    assigned = source_of(wsgi='import os\nos.environ["DJANGO_SETTINGS_MODULE"] = "site.settings"', site__settings="")
    assert find_apps(assigned)[0].django == "site.settings"


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("from m import C\nC('x')", "C('x')"),
        ("from m import C\nimport os\ndef f():\n    p = os.environ['P']\n    return C(p)", "C(os.environ['P'])"),
        ("import m as n\nx = n.C([str(i) for i in range(3)])", "n.C([str(i) for i in range(3)])"),
        ("from m import C\nLIMIT = 3\ndef f():\n    return C(LIMIT)", "C(LIMIT)"),
        ("from m import C\np.add_argument('--db', default='x.db')\ndef f():\n    return C(args.db)", "C('x.db')"),
        ("from m import C\ndef f(p):\n    return C(p)", None),
        ("from m import C\ndef f():\n    p = 1\n    p = 2\n    return C(p)", None),
        ("from m import C\nasync def f():\n    return C(await g())", None),
        ("from m import C\nC(lambda: 1)", None),
        ("from m import C\ndef f():\n    p = p2 = p3()\n    return C(unknown)", None),
        ("from m import C\nimport argparse\ndef f(args):\n    return C(args.nothing)", None),
    ],
)  # fmt: skip
def test_construction_is_written_out(source_of, main, expected):
    wired = wiring_of(source_of(m="class C:\n    def __init__(self, x): ...", run=main), "C")
    assert (wired.code if wired else None) == expected


def test_shapes_of_parameters(source_of):
    text = """
def f(a, b, c, d, e, g, h, i, j):
    x, y = a
    b["k"]; b.get("o")
    c.strip()
    d * 2
    json.loads(e)
    for _ in g: ...
    h.attr
    match i:
        case {"kind": "z", "to": t}: ...
    if "q" in j: ...
"""
    f = function(source_of(m=text), "f")
    assert shape_of(f, "a").unpacked == 2
    assert (shape_of(f, "b").keys, shape_of(f, "b").optional) == (("k",), ("o",))
    assert shape_of(f, "c").text
    assert shape_of(f, "d").number
    assert shape_of(f, "e").document
    assert shape_of(f, "g").iterated
    assert shape_of(f, "h").attributes == ("attr",)
    assert set(shape_of(f, "i").optional) == {"kind", "to"}
    assert shape_of(f, "j").mapping


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("row[1]", "b"),
        ("row[-1].strip().upper()", "C"),
        ("int(doc['n']) ", 7),
        ("doc.get('x', 'z')", "z"),
        ("[row[0], 1]", ["a", 1]),
        ("{'k': doc['n']}", {"k": "7"}),
        ("row[0:2]", ["a", "b"]),
        ("-3", -3),
        ("reader.line", 19),
        ("int('x')", UNKNOWN),
        ("unknown()", UNKNOWN),
        ("row[9]", UNKNOWN),
        ("doc['none']", UNKNOWN),
        ("{unknown: 1}", UNKNOWN),
        ("row[::0]", UNKNOWN),
        ("-row", UNKNOWN),
        ("len(row, 1)", UNKNOWN),
        ("f'{row}'", UNKNOWN),
    ],
)
def test_plain_data_is_followed(expression, value):
    known = {"row": ["a", "b", " c "], "doc": {"n": "7"}, "reader.line": 19}
    assert evaluate(ast.parse(expression.strip(), mode="eval").body, known) == value


def test_assignments_before_the_line_are_known_and_others_forgotten(source_of):
    text = """
def f(fields, n):
    a, b = fields
    c: str = b.strip()
    n += 1
    for a in range(3): ...
    d = g(c, key=a)
    late = 1
def g(text, key=None): ...
"""
    source = source_of(m=text)
    env = run_to(function(source, "f"), 7, {"fields": ["x", " y "], "n": 1})
    assert env == {"fields": ["x", " y "], "b": " y ", "c": "y"}
    passed = arguments_at(function(source, "f"), 7, function(source, "g"))
    assert {name: ast.unparse(node) for name, node in passed.items()} == {"text": "c", "key": "a"}
    assert arguments_at(function(source, "f"), 3, function(source, "g")) == {}
    assert arguments_at(function(source, "f"), None, function(source, "g")) == {}


@pytest.mark.parametrize(
    ("statement", "written", "values"),
    [
        ('log.error("feed %s at line %d: %r", p.name, r.line, r.raw)', "feed a b.csv at line 19: 'C;1'",
         {"p.name": "a b.csv", "r.line": "19", "r.raw": "'C;1'"}),
        ('log.log(20, "took %.1f ms for %s", t, job["id"])', "took 3.5 ms for j-1", {"t": "3.5", "job.id": "j-1"}),
        ('log.info(f"row {number} rejected: {row!r}")', "row 3 rejected: 'x'", {"number": "3", "row": "'x'"}),
        ('log.info("row {} of {name}".format(n, name=who))', "row 3 of bob", {"n": "3", "who": "bob"}),
        ('log.info("row %(n)s failed" % {"n": count})', "row 3 failed", {"count": "3"}),
        ('log.info("order " + order_id + " lost")', "order o-1 lost", {"order_id": "o-1"}),
        ('log.info("100%% of %s", str(total))', "100% of 7", {"total": "7"}),
        ('log.info("{} {{}} items of {}", n, d.get("k"))', "3 {} items of x", {"n": "3", "d.k": "x"}),
        ('log.info("%s", whole)', "anything", {}),
        ('log.info("nothing here")', "nothing here", {}),
    ],
)  # fmt: skip
def test_log_messages_are_read_backwards(source_of, statement, written, values):
    templates = templates_of(source_of(m=f"def f():\n    {statement}"), errors=False)
    assert {name_of(f.part.expression): f.text for f in fill(templates, written)} == values


def test_error_messages_are_read_backwards_and_the_most_specific_template_wins(source_of):
    text = """
def f():
    raise E(f"job {a} failed")
def g():
    raise E(f"job {a} failed: {b}")
def h():
    assert x, f"missing {x}"
"""
    templates = templates_of(source_of(m=text, tests__test_x=text), errors=True)
    assert len(templates) == 3
    assert [f.text for f in fill(templates, "job 7 failed: disk")] == ["7", "disk"]
    assert fill(templates, "other") == []
