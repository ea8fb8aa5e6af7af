"""Redaction of whole records."""

from msgspec import Struct

from retrieval.ingest.redaction import redact, throwaway_redactor
from retrieval.model import (
    ConfigChange,
    Deploy,
    ExceptionInfo,
    FlagChange,
    Frame,
    LogRecord,
    Postmortem,
    Section,
    Series,
    Span,
    SpanEvent,
    StackTrace,
    TestResult,
)
from retrieval.model.signatures import error_signature, stack_signature

REDACTOR = throwaway_redactor()
MAIL, SECRET = "ada@acme.io", "hunter22"
DIRTY = f"{MAIL} password={SECRET}"


def trace(message: str) -> StackTrace:
    frame = Frame(
        file="/app/shop/cart.py",
        function="add",
        line=17,
        code=f"login('{MAIL}')",
        locals={"mail": f"'{MAIL}'", "password": f"'{SECRET}'", "order": {"to": [f"'{MAIL}'"]}},
    )
    below = StackTrace(language="python", type="KeyError", message=message, frames=(frame,), cause_kind="cause")
    return StackTrace(
        language="python",
        type="NoUser",
        message=message,
        frames=(frame,),
        cause=below,
        members=(below,),
        notes=(message,),
    )


def every_record() -> list[Struct]:
    exception = ExceptionInfo(type="NoUser", message=DIRTY, raw=f"Traceback\nNoUser: {DIRTY}", trace=trace(DIRTY))
    attributes = {"mail": MAIL, "password": SECRET, MAIL: 1, "headers": {"cookie": f"sid={SECRET}"}}
    times, both = {"start_ns": 1, "end_ns": 2}, {"attributes": attributes, "resource": attributes}
    return [
        Span(
            trace_id="ab" * 16, span_id="cd" * 8, name=DIRTY, service="shop", **times, status_message=DIRTY,
            events=(SpanEvent(name=DIRTY, time_ns=1, attributes=attributes),), **both,
            exception=exception,
        ),
        LogRecord(time_ns=1, body=DIRTY, logger=DIRTY, attributes=attributes, resource=attributes, exception=exception),
        Series(metric=DIRTY, labels={"mail": MAIL, "password": SECRET}, points=((1, 2.0),)),
        Deploy(service="shop", git_sha="ab" * 20, started_ns=1, region=DIRTY, environment=DIRTY),
        FlagChange(at_ns=1, flag="api_key", value=SECRET, service=DIRTY),
        FlagChange(at_ns=1, flag="x", value={"password": SECRET, "to": MAIL}),
        ConfigChange(at_ns=1, service="shop", key="DB_PASSWORD", value=SECRET),
        ConfigChange(at_ns=1, service="shop", key="DB_URL", value=f"postgres://ada:{SECRET}@db/x"),
        TestResult(test_id="t", outcome="failed", message=DIRTY, properties={"password": SECRET}, exception=exception),
        Postmortem(title=DIRTY, sections=(Section(DIRTY, DIRTY),), front_matter={"owner": MAIL}),
    ]  # fmt: skip


def test_no_string_of_any_record_is_forgotten() -> None:
    for record in every_record():
        assert MAIL in str(record) or SECRET in str(record)
        clean = redact(record, REDACTOR)
        assert MAIL not in str(clean)
        assert SECRET not in str(clean)
        assert redact(clean, REDACTOR) == clean


def test_a_clean_record_is_the_same_object() -> None:
    record = LogRecord(time_ns=1, body="no stock of A-7", attributes={"sku": "A-7", "n": 3}, trace_id="ab" * 16)
    assert redact(record, REDACTOR) is record


def test_join_keys_and_places_stay() -> None:
    span = Span(
        trace_id="AKIAIOSFODNN7EXAMPLE", span_id="4111111111111111", name="x", service="shop", start_ns=1, end_ns=2
    )
    assert redact(span, REDACTOR) is span
    frame = Frame(file="/home/ada/93.184.216.34/cart.py", function="password", module="shop.token")
    assert redact(frame, REDACTOR) is frame
    assert (
        redact(Frame(file="", function="f", code="x(password='hunter22')"), REDACTOR).code != "x(password='hunter22')"
    )


def test_other_values_keep_their_type() -> None:
    flag = FlagChange(at_ns=1, flag="show_eta", value=True)
    assert redact(flag, REDACTOR) is flag
    assert redact(FlagChange(at_ns=1, flag="rollout", value="10%"), REDACTOR).value == "10%"


def test_signatures_of_stacks_do_not_change_and_equal_errors_stay_equal() -> None:
    one, two = trace("no user ada@acme.io"), trace("no user bob@acme.io")
    assert stack_signature(redact(one, REDACTOR)) == stack_signature(one)
    signatures = {error_signature("python", t.type, redact(t, REDACTOR).message) for t in (one, two)}
    assert signatures == {error_signature("python", one.type, one.message)}
