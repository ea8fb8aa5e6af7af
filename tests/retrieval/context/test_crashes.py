"""Which records are one error, and which error is the incident's."""

from msgspec import structs

from retrieval.context.crashes import crash_groups, located
from retrieval.context.errors import group_errors
from retrieval.context.frames import own_places, with_symbols
from retrieval.model import CrashGroup, Frame, LogRecord, SourceRef, StackTrace, Symbol, Topology
from tests.retrieval.context.scene import alert, at, chatter, log, onset, raised, sources, span

FILES = ("shop/app.py", "shop/price.py", "shop/feed.py")


def crashes(
    *records: object, topology: Topology | None = None, service: str = "shop", minute: float = -5
) -> list[CrashGroup]:
    found = crash_groups(
        sources(chatter(), *records), files_of=lambda _: FILES, onset=onset(minute), alerts=[alert(service)],
        topology=topology,
    )  # fmt: skip
    return list(found)


def zero(minute: float, trace: str = "", **more: object) -> LogRecord:
    error = raised("ZeroDivisionError", "division by zero", "shop/app.py:total:9", "shop/price.py:share:3")
    return log(minute, trace=trace, error=error, **more)


def test_one_request_told_three_times_is_one_event() -> None:
    error = raised("ZeroDivisionError", "division by zero", "shop/app.py:total:9", "shop/price.py:share:3")
    bare = raised("builtins.ZeroDivisionError", "division by zero")
    records = [
        zero(-4, trace="t1"),
        span(-4, trace="t1", failed=True, error=error),
        span(-4.001, trace="t1", name="inner", kind="internal", error=bare),
        log(-3.999, trace="t1", file="logs/tracker.jsonl", error=error),
        log(-4, "request failed", trace="t1"),
        zero(-3, trace="t2"),
    ]
    (crash,) = crashes(*records)
    assert (crash.count, crash.signature.type, len(crash.logs), len(crash.spans)) == (2, "ZeroDivisionError", 4, 2)
    assert crash.in_app_frames == ("shop/app.py::total", "shop/price.py::share")
    assert (crash.crash_path, crash.crash_function, crash.crash_line) == ("shop/price.py", "share", 3)
    assert crash.stack_signature and crash.key.endswith(":shop:shop/price.py::share")


def test_records_without_a_trace_are_one_event_when_two_files_tell_it_at_once() -> None:
    error = raised("KeyError", "'x'", "shop/app.py:f:1")
    records = [log(m, error=error) for m in (-4, -3, -2)] + [
        log(m + 0.001, error=error, file="logs/tracker.jsonl") for m in (-4, -3)
    ]
    assert crashes(*records)[0].count == 3


def test_values_in_messages_do_not_split_an_error() -> None:
    errors = [
        log(
            -4 + n / 10, error=raised("JobTimeout", f"deliver for account {name} exceeded 0.{n} s", "shop/app.py:run:5")
        )
        for n, name in enumerate(["gala", "acme", "fjord-air", "holm"], 1)
    ]
    (crash,) = crashes(*errors)
    assert crash.count == 4


def test_one_type_at_two_places_is_two_errors() -> None:
    here = [log(-4 + n, error=raised("KeyError", "'a'", "shop/app.py:f:1")) for n in range(3)]
    there = [log(-4.5 + n, error=raised("KeyError", "'b'", "shop/price.py:g:1")) for n in range(3)]
    assert len(crashes(*here, *there)) == 2


def wrapped(minute: float, cause: str, message: str = "not assessed") -> LogRecord:
    error = raised("AssessmentFailed", message, "shop/app.py:assess:9")
    assert error.trace is not None
    began = raised(cause, "x", "lib/money.py:divide:3", in_app=False).trace if cause else None
    return log(minute, error=structs.replace(error, trace=structs.replace(error.trace, cause=began)))


def test_errors_that_wrap_different_causes_are_two_and_a_recorder_without_causes_joins() -> None:
    old = [wrapped(m, "ValueError") for m in (-40, -30, -20, -3.5)]
    new = [wrapped(m, "ZeroDivisionError", "not assessed: zero") for m in (-4, -3, -2, -1)]
    first, second = crashes(*old, *new, wrapped(-2.5, "", "not assessed: zero"))
    assert (first.causes, first.count) == (("ZeroDivisionError",), 5)
    assert (second.causes, second.count) == (("ValueError",), 4)
    assert first.key != second.key


def test_a_message_that_a_deploy_reworded_is_one_error() -> None:
    old = [log(-20 + n, error=raised("TooLarge", f"{n} pixels are more", "shop/price.py:check:3")) for n in range(2)]
    new = [log(-4 + n / 4, error=raised("TooLarge", f"{n} MP are over", "shop/price.py:check:4")) for n in range(20)]
    (crash,) = crashes(*old, *new)
    assert (crash.count, crash.count_before) == (22, 2)
    assert 0.8 < crash.novelty < 1 and crash.signature.message == "0 MP are over"


def test_old_errors_at_their_usual_rate_lose() -> None:
    feed = raised("urllib.error.URLError", "refused", "shop/feed.py:fetch:7")
    noise = [log(-29.5 + n, error=feed, trace=f"n{n}") for n in range(39)]
    found = crashes(*noise, *(zero(m) for m in (-4, -2, 1)))
    assert [c.signature.type for c in found] == ["ZeroDivisionError", "urllib.error.URLError"]
    assert found[0].novelty == 1 and found[1].novelty < 0.3 and found[0].score > 5 * found[1].score


def test_the_alerted_service_and_own_frames_count() -> None:
    foreign = [log(m, service="other", error=raised("KeyError", "'x'", "o/o.py:f:1")) for m in (-4, -3, -2, -1, 1, 2)]
    unplaced = [log(m, error=raised("LookupError", "who knows")) for m in (-4, -3, -2)]
    plain = [log(m, "cannot write the cache") for m in (-4, -3, -2)]
    found = crashes(*foreign, *unplaced, *plain, *(zero(m) for m in (-4, -3, -2)))
    assert [c.signature.type for c in found] == ["ZeroDivisionError", "LookupError", "KeyError", ""]


def test_a_handled_exception_of_requests_that_succeed_counts_less() -> None:
    handled = [span(m, trace=f"h{m}", error=raised("KeyError", "'x'", "shop/app.py:f:1")) for m in (-4, -3, -2)]
    for record in handled:
        assert record.failed
    outer = [span(m - 0.01, "edge", trace=f"h{m}", name_id="root") for m in (-4, -3, -2)]
    inner = [structs.replace(record, parent_span_id="root") for record in handled]
    felt = [
        span(m, trace=f"f{m}", failed=True, error=raised("IOError", "gone", "shop/price.py:g:1")) for m in (-4, -3, -2)
    ]
    found = crashes(*outer, *inner, *felt)
    assert [c.signature.type for c in found] == ["IOError", "KeyError"]


def test_a_caller_that_fails_because_its_callee_crashed_is_the_consequence() -> None:
    records: list[object] = []
    for minute in (-4, -3, -2, -1):
        gone = raised("HTTPError", "500 from shop", "shop/app.py:call:3")
        records += [
            span(minute, "edge", trace=f"t{minute}", name_id="e", failed=True, error=gone),
            span(minute, trace=f"t{minute}", parent="e", failed=True, error=zero(minute).exception),
        ]
    topology = Topology(edges={"edge": {"shop": 4}}, path=("edge", "shop"))
    found = crashes(*records, topology=topology, service="edge")
    assert [(c.service, c.signature.type) for c in found] == [("shop", "ZeroDivisionError"), ("edge", "HTTPError")]


def test_a_status_code_is_an_error_only_where_nothing_says_more() -> None:
    told = [span(-4, trace="t1", failed=True, **{"http.response.status_code": 500}), zero(-4, trace="t1")]
    untold = [span(-3, trace="t2", failed=True, **{"http.response.status_code": 503})]
    refused = [span(-3, trace="t3", kind="client", failed=True, **{"http.response.status_code": 404})]
    found = crashes(*told, *untold, *refused)
    assert [(c.signature.type, c.count) for c in found] == [("ZeroDivisionError", 1), ("HTTP 503", 1)]
    assert len(found[0].spans) == 1


def test_a_type_in_a_text_is_a_type() -> None:
    status = structs.replace(span(-4, name="job", kind="internal", failed=True), status_message="InvalidOperation: [x]")
    (spanned,) = crashes(status)
    assert (spanned.signature.type, spanned.signature.message) == ("InvalidOperation", "[x]")
    (logged,) = crashes(log(-4, "TypeError: can't compare naive and aware"))
    assert (logged.signature.type, logged.signature.message) == ("TypeError", "can't compare naive and aware")
    assert crashes(log(-4, "Warning: low disk"))[0].signature.type == ""


def test_an_error_that_is_over_before_the_onset_has_no_novelty() -> None:
    (crash,) = crashes(zero(-20), zero(-19), minute=-5)
    assert (crash.novelty, crash.score, crash.count_before) == (0, 0, 2)
    assert crashes() == []


def test_samples_after_the_onset_come_first_and_are_bounded() -> None:
    (crash,) = crashes(*(zero(-8 + n / 10) for n in range(120)))
    assert len(crash.logs) == 40 and crash.logs[0].time_ns >= at(-5) - 2 * 10**9
    assert [r.time_ns for r in crash.logs] == sorted(r.time_ns for r in crash.logs)
    few = crashes(zero(-8), zero(-7), zero(-4))[0]
    assert [r.time_ns for r in few.logs] == [at(-4), at(-7), at(-8)]


def test_the_order_of_records_changes_nothing() -> None:
    records = [zero(m, trace=f"t{m}") for m in (-4, -3, -2)] + [
        log(m, error=raised("KeyError", f"'{m}'", "shop/app.py:f:1")) for m in (-4, -3.5, -1)
    ]
    assert crashes(*records) == crashes(*reversed(records))


def chained(kind: str, outer_function: str = "load") -> StackTrace:
    cause = StackTrace(
        language="python", type="KeyError", message="'x'",
        frames=(
            Frame(file="/app/shop/app.py", function="load", line=4),
            Frame(file="/app/shop/price.py", function="<listcomp>", line=9),
            Frame(file="/app/shop/price.py", function="pick", line=9),
            Frame(file="/usr/lib/python3.11/json.py", function="loads", line=1, in_app=False),
        ),
    )  # fmt: skip
    frames = (
        Frame(file="/app/shop/app.py", function="main", line=1),
        Frame(file="/app/shop/app.py", function=outer_function, line=6),
    )
    return StackTrace(
        language="python", type="LoadError", message="m", frames=frames, cause=cause, cause_kind=kind
    )  # fmt: skip


def test_the_cause_lies_deeper_than_what_it_caused() -> None:
    deep = ["shop/app.py::main", "shop/app.py::load", "shop/price.py::pick"]
    assert [p.id for p in own_places(chained("cause"), FILES)] == deep
    assert [p.id for p in own_places(chained("context"), FILES)] == deep
    # Raised by a handler elsewhere: the handler is what failed.
    assert [p.id for p in own_places(chained("context", "report"), FILES)] == [
        "shop/app.py::main",
        "shop/app.py::report",
    ]


def test_a_group_comes_from_its_first_member() -> None:
    group = StackTrace(language="python", type="ExceptionGroup", message="2", members=(chained("cause"),))
    assert own_places(group, FILES)[-1].id == "shop/price.py::pick"
    assert own_places(None, FILES) == ()


def test_frames_fall_back_to_what_is_known() -> None:
    library = StackTrace(
        language="python", type="E", message="",
        frames=(Frame(file="/usr/lib/python3/site-packages/shop/app.py", function="f", line=1, in_app=False),),
    )  # fmt: skip
    assert [p.id for p in own_places(library, FILES)] == ["shop/app.py::f"]
    assert own_places(library, ()) == ()
    own = StackTrace(language="python", type="E", message="", frames=(Frame(file="/srv/x/lib/y.py", function="g"),))
    assert [p.id for p in own_places(own, ())] == ["lib/y.py::g"]


def a_symbol(symbol_id: str, first: int, last: int, kind: str = "method") -> Symbol:
    path, qualname = symbol_id.split("::")
    return Symbol(
        symbol_id=symbol_id, language="python", kind=kind, path=path, name=qualname.split(".")[-1], qualname=qualname,
        start_line=first, end_line=last,
    )  # fmt: skip


def test_frames_get_the_names_of_the_symbol_index() -> None:
    (crash,) = crashes(zero(-4), zero(-3))
    symbols = [
        a_symbol("shop/app.py::Shop.total", 8, 12),
        a_symbol("shop/app.py::Other.total", 20, 30),
        a_symbol("shop/price.py::Price", 1, 9, "class"),
        a_symbol("shop/price.py::Price.share", 5, 9),
    ]
    named = located(crash, FILES, symbols)
    # The line of `share` lies outside of the only symbol of that name (other build): the name decides.
    assert named.in_app_frames == ("shop/app.py::Shop.total", "shop/price.py::Price.share")
    assert named.crash_function == "Price.share"
    assert located(crash, FILES, ()) == crash
    assert located(structs.replace(crash, logs=()), FILES, symbols).in_app_frames == crash.in_app_frames


def test_anonymous_frames_take_the_function_around_them() -> None:
    trace = StackTrace(
        language="python", type="E", message="",
        frames=(
            Frame(file="/app/shop/app.py", function="<module>", line=30),
            Frame(file="/app/shop/app.py", function="<lambda>", line=9),
        ),
    )  # fmt: skip
    places = own_places(trace, FILES)
    assert with_symbols(places, [a_symbol("shop/app.py::f", 8, 40, "function")]) == (
        "shop/app.py::<module>",
        "shop/app.py::f",
    )


def test_a_storm_of_errors_is_grouped_in_time() -> None:
    many = [log(-5 + n / 2000, error=raised("E", f"job {n}", f"shop/app.py:f{n % 7}:1")) for n in range(8_000)]
    groups = group_errors(sources(many), lambda _: FILES)
    assert len(groups) == 7 and sum(len(g.times_ns) for g in groups) == 8_000


def test_sources_without_a_file_name_are_kept() -> None:
    record = structs.replace(zero(-4), source=SourceRef(""))
    assert crashes(record)[0].count == 1
