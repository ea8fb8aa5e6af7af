"""From what a trace prints to the file and the function of a repository."""

import pytest

from retrieval.languages import LANGUAGES, parse_stack_traces
from retrieval.model import Frame, StackTrace
from retrieval.model.signatures import (
    frame_path,
    frame_qualname,
    frame_symbol,
    in_repository,
    repo_path,
    stable_path,
    symbol_at,
)

FILES = ("shop/price.py", "tests/shop/price.py", "shop/__init__.py", "src/main.py", "lib/a/b.py", "x/a/b.py")


@pytest.mark.parametrize(
    ("printed", "path"),
    [
        ("/app/shop/price.py", "shop/price.py"),
        ("/srv/store/shop/price.py", "shop/price.py"),
        ("./shop/price.py", "shop/price.py"),
        ("shop/price.py", "shop/price.py"),
        ("/app/tests/shop/price.py", "tests/shop/price.py"),
        ("C:\\build\\shop\\price.py", "shop/price.py"),
        ("file:///app/shop/price.py", "shop/price.py"),
        ("/app/main.py", "src/main.py"),
        ("main.py", "src/main.py"),
        ("/usr/local/lib/python3.11/site-packages/shop/__init__.py", "shop/__init__.py"),
        ("/data/other/lib/a/b.py", "lib/a/b.py"),
        ("/usr/lib/python3.11/json/price.py", None),
        ("/app/a/b.py", None),
        ("/app/absent.py", None),
        ("<string>", None),
        ("", None),
    ],
)
def test_a_printed_path_finds_its_one_file(printed: str, path: str | None) -> None:
    assert repo_path(printed, FILES) == path


def test_the_answer_does_not_depend_on_the_order_of_the_files() -> None:
    assert repo_path("/app/shop/price.py", FILES[::-1]) == "shop/price.py"


@pytest.mark.parametrize(
    "printed", ["/app/x/y.py", "x/y.py", "/srv/shop/x/y.py", "/home/ada/shop/x/y.py", "src/x/y.py"]
)
def test_a_stable_path_forgets_the_deploy_root(printed: str) -> None:
    assert stable_path(printed) == "x/y.py"


def test_a_file_at_the_root_has_no_folder() -> None:
    assert stable_path("/app/app.py") == stable_path("app.py") == "app.py"


def test_a_class_brings_its_package_with_it() -> None:
    files = ["shop/src/main/java/com/acme/Order.java", "shop/src/main/java/org/other/Order.java"]
    frame = Frame(file="Order.java", module="com.acme.Order$Line", function="price", line=3)
    assert frame_path(frame, files) == files[0]
    assert frame_path(Frame(file="", module="com.acme.Order", function="run"), files) is None
    assert frame_path(Frame(file="Main.java", module="Main", function="main"), ["src/Main.java"]) == "src/Main.java"


@pytest.mark.parametrize(
    ("module", "function", "qualname"),
    [
        ("a.b.C", "run", "C.run"),
        ("a.b.C$D", "run", "C.D.run"),
        ("a.b.C$1", "call", "C.call"),
        ("a.b.C", "lambda$price$0", "C.price"),
        ("a.b.C", "lambda$new$2", "C.C"),
        ("a.b.C$D", "<init>", "C.D.D"),
        ("a.b.C", "<clinit>", "C"),
        ("a.b.C", "lambda$static$0", "C"),
        ("", "outer.<locals>.inner", "outer.inner"),
        ("", "<module>", "<module>"),
    ],
)
def test_a_frame_names_its_function_as_a_symbol_does(module: str, function: str, qualname: str) -> None:
    assert frame_qualname(Frame(file="C.java", module=module, function=function)) == qualname


SOURCE = b"""class A:
    def run(self):
        def inner():
            return [x for x in y]
        return inner()

class B:
    def run(self): ...

def alone(): ...
"""


def test_the_symbol_of_a_frame_is_found_by_its_line() -> None:
    symbols = LANGUAGES["python"].symbols("a.py", SOURCE)

    def qualname(function: str, line: int | None) -> str | None:
        found = frame_symbol(Frame(file="a.py", function=function, line=line), "a.py", symbols)
        return found.qualname if found else None

    assert qualname("run", 5) == "A.run"
    assert qualname("inner", 4) == "A.run.inner"
    assert qualname("<listcomp>", 4) == "A.run.inner"
    assert qualname("run", 8) == "B.run"
    assert qualname("alone", 99) == "alone"
    assert qualname("run", 99) is None
    assert qualname("run", None) is None
    assert symbol_at(symbols, "b.py", 5) is None


def test_the_repository_decides_which_frames_are_its_own() -> None:
    text = (
        "com.fasterxml.jackson.databind.JsonMappingException: no\n"
        "\tat com.fasterxml.jackson.databind.Mapper.read(Mapper.java:3)\n"
        "\tat com.acme.Main.main(Main.java:1)\n"
        "Caused by: java.io.IOException: gone\n\t... 1 more\n"
    )
    trace = parse_stack_traces(text)[0]
    assert trace.crash is not None and trace.crash.file == "Main.java"
    marked = in_repository(trace, ["src/main/java/com/fasterxml/jackson/databind/Mapper.java"])
    assert [f.in_app for f in marked.frames] == [False, True]
    assert in_repository(trace, ["README.md"]) == trace
    group = StackTrace(language="python", type="G", message="", members=(trace,))
    assert in_repository(group, ["com/acme/Main.java"]).members[0].cause is not None
