"""Stack frames that error trackers and structured loggers record as data."""

from typing import Any

from retrieval.ingest.exceptions import of_record
from retrieval.ingest.frames import recorded

FRAME: dict[str, Any] = {
    "filename": "shop/cart.py",
    "abs_path": "/app/shop/cart.py",
    "function": "add",
    "module": "shop.cart",
    "lineno": 17,
    "context_line": "        raise NoStock(sku)",
    "vars": {"sku": "'A-7'", "count": "2", "cart": {"lines": ["Line(1)"]}, "depth": 3},
    "in_app": True,
}
LIBRARY = {
    "filename": "flask/app.py",
    "abs_path": "/usr/lib/python3.11/site-packages/flask/app.py",
    "function": "run",
    "lineno": 1,
}


def test_a_tracker_s_event() -> None:
    event = {
        "values": [
            {"type": "NoStock", "module": "shop.cart", "value": "no stock", "stacktrace": {"frames": [LIBRARY, FRAME]}}
        ]
    }
    info = of_record({"exception": event})
    assert info is not None
    assert info.trace is not None
    assert (info.type, info.message, info.trace.language) == ("shop.cart.NoStock", "no stock", "python")
    assert [f.in_app for f in info.trace.frames] == [False, True]
    crash = info.trace.crash
    assert crash is not None
    assert (crash.file, crash.function, crash.line, crash.code) == (
        "/app/shop/cart.py",
        "add",
        17,
        "raise NoStock(sku)",
    )
    assert crash.locals == {"sku": "'A-7'", "count": "2", "cart": {"lines": ["Line(1)"]}, "depth": "3"}
    assert info.raw == "shop.cart.NoStock: no stock"


def test_in_a_tracker_s_event_the_last_exception_is_the_one_thrown() -> None:
    values = [
        {
            "type": "KeyError",
            "value": "'A-7'",
            "stacktrace": {"frames": [FRAME]},
            "mechanism": {"source": "__context__"},
        },
        {"type": "NoStock", "value": "no stock", "stacktrace": {"frames": [FRAME]}},
    ]
    trace = recorded({"values": values})
    assert trace is not None
    assert trace.cause is not None
    assert (trace.type, trace.cause.type, trace.cause.cause_kind) == ("NoStock", "KeyError", "context")


def test_a_group_holds_its_members() -> None:
    values = [
        {"type": "KeyError", "value": "1", "stacktrace": {"frames": [FRAME]}, "mechanism": {"source": "exceptions[1]"}},
        {
            "type": "ValueError",
            "value": "2",
            "stacktrace": {"frames": [FRAME]},
            "mechanism": {"source": "exceptions[0]"},
        },
        {"type": "ExceptionGroup", "value": "two", "mechanism": {"is_exception_group": True}},
    ]
    trace = recorded({"values": values})
    assert trace is not None
    assert trace.type == "ExceptionGroup"
    assert [(m.type, m.cause_kind) for m in trace.members] == [("ValueError", "member"), ("KeyError", "member")]


def test_structlog_s_list_begins_with_what_was_logged() -> None:
    stacks = [
        {"exc_type": "NoStock", "exc_value": "no stock", "exc_notes": ["sku A-7"], "is_cause": False, "frames": [
            {"filename": "/app/shop/cart.py", "lineno": 17, "name": "add", "locals": {"sku": "'A-7'"}}]},
        {"exc_type": "KeyError", "exc_value": "'A-7'", "is_cause": True, "frames": [
            {"filename": "/app/shop/stock.py", "lineno": 3, "name": "of", "line": ""}]},
    ]  # fmt: skip
    trace = recorded(stacks)
    assert trace is not None
    assert trace.cause is not None
    assert (trace.type, trace.notes, trace.cause_kind) == ("NoStock", ("sku A-7",), "")
    assert (trace.cause.type, trace.cause.cause_kind) == ("KeyError", "cause")
    assert trace.frames[0].locals == {"sku": "'A-7'"}
    assert trace.cause.frames[0].line == 3


def test_structlog_s_groups() -> None:
    member = {"exc_type": "KeyError", "exc_value": "1", "frames": [{"filename": "/app/a.py", "lineno": 1, "name": "f"}]}
    group = {"exc_type": "ExceptionGroup", "exc_value": "two", "frames": member["frames"]}
    assert [m.type for m in _members(group | {"exceptions": [{"stacks": [member]}, [member], member, 7]})] == [
        "KeyError"
    ] * 3


def _members(group: dict[str, Any]) -> tuple[Any, ...]:
    trace = recorded([group])
    assert trace is not None
    return trace.members


def test_log4j2_prints_the_innermost_frame_first() -> None:
    thrown = {
        "name": "com.acme.NoStock",
        "message": "no stock",
        "extendedStackTrace": [
            {"class": "com.acme.Cart", "method": "add", "file": "Cart.java", "line": 17},
            {"class": "java.lang.Thread", "method": "run", "file": "Thread.java", "line": 1},
        ],
    }
    info = of_record({"thrown": thrown})
    assert info is not None
    assert info.trace is not None
    assert [f.function for f in info.trace.frames] == ["run", "add"]
    assert info.trace.language == "java"
    assert info.trace.frames[-1].module == "com.acme.Cart"


def test_what_holds_no_frames_is_no_trace() -> None:
    nothing: list[Any] = [
        {"values": []},
        {"values": [{"type": "X"}]},
        [],
        [7],
        {},
        {"frames": "none"},
        7,
        {"frames": [7, {}]},
    ]
    assert [t for t in map(recorded, nothing) if t is not None and t.type] == []


def test_a_name_and_a_message_are_an_exception_without_frames() -> None:
    info = of_record({"err": {"type": "NoStock", "message": "no stock"}})
    assert info is not None
    assert (info.type, info.message, info.trace) == ("NoStock", "no stock", None)
    assert of_record({"err": {"code": 7}}) is None


def test_a_chain_without_end_and_variables_without_end_are_cut() -> None:
    deep: Any = "x"
    for _ in range(50):
        deep = [deep]
    entry: dict[str, Any] = {"type": "E", "frames": [FRAME | {"vars": {"deep": deep}}]}
    for _ in range(100):
        entry = {"type": "E", "frames": [FRAME], "cause": entry}
    trace, depth = recorded(entry), 0
    while trace is not None:
        trace, depth = trace.cause, depth + 1
    assert depth < 20
