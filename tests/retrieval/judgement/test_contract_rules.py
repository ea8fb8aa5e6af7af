"""A changed contract, and a migration, that the failure names; and the many that it does not."""

import pytest
from msgspec import structs

from retrieval.contracts import differences, read_contract
from retrieval.contracts.difference import Versions
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import gather_facts
from retrieval.judgement.migrations import sayings
from retrieval.judgement.rules import hypothesise
from retrieval.model import Case, ContractChange, ErrorSignature, ExceptionInfo, LogRecord, SourceRef, Span, Topology
from tests import building as b

API = """openapi: 3.0.3
paths:
  /coupons/{id}:
    get:
      responses:
        "200":
          content:
            application/json:
              schema: {$ref: "#/components/schemas/Coupon"}
  /totals:
    get:
      responses: {"200": {description: the total}}
components:
  schemas:
    Coupon:
      required: [code, discount_text]
      properties:
        code: {type: string}
        name: {type: string}
        discount_text: {type: string}
"""


NULL = 'null value in column "note" of relation "orders" violates not-null constraint'
CHECKED = 'new row for relation "orders" violates check constraint "positive"'


def changes(path: str, before: str, after: str, minute: float | None = -5) -> tuple[ContractChange, ...]:
    sides = [read_contract(path, text.encode()) for text in (before, after)]
    assert sides[0] is not None and sides[1] is not None
    versions = Versions(
        service="coupons", path=path, before=sides[0][1], after=sides[1][1], repo="coupons", commit_sha=b.GUILTY,
        reached_ns=None if minute is None else b.ONSET + int(minute * b.MINUTE), source=f"coupons@{b.GUILTY}:{path}",
    )  # fmt: skip
    return differences(sides[1][0], versions)


def failing(message: str, kind: str = "KeyError", **attributes: object) -> Case:
    """`price` calls `coupons` and fails with this message."""
    error = ExceptionInfo(type=kind, message=message, raw=f"{kind}: {message}")
    log = LogRecord(
        time_ns=b.ONSET + b.MINUTE, body="request failed", service="price", severity=17, exception=error,
        source=SourceRef("logs/price.jsonl", 5),
    )  # fmt: skip
    call = structs.replace(b.a_span(), kind="client", exception=None, name="GET", attributes=dict(attributes))
    crash = b.a_crash(signature=ErrorSignature(kind, message), logs=(log,), spans=(call,) if attributes else ())
    case = b.a_case(crashes=(crash,), topology=Topology(path=("price",), edges={"price": {"coupons": 9}}))
    return structs.replace(case, sources=structs.replace(case.sources, spans=(call,) if attributes else ()))


def told(case: Case, rule: str) -> Draft | None:
    return next((d for d in hypothesise(gather_facts(case)) if d.rule == rule), None)


def drift(case: Case, found: tuple[ContractChange, ...]) -> Draft | None:
    return told(structs.replace(case, contract_changes=found), "contract_drift")


WITHOUT_TEXT = API.replace("        discount_text: {type: string}\n", "").replace(", discount_text", "")


def test_a_field_that_is_gone_and_that_the_consumer_s_error_names_is_support_from_both_sides() -> None:
    found = drift(failing("'discount_text'"), changes("api/openapi.yaml", API, WITHOUT_TEXT))
    assert found is not None
    assert set(found.links) == {"symptom", "change"}
    assert (found.suspected_service, found.suspected_commit) == ("coupons", b.GUILTY)
    kinds = {c.kind for text, cites in found.claims for c in cites if "names discount_text" in text}
    assert kinds == {"contract", "log"}
    assert "price, which uses it" in found.summary


def test_a_changed_field_that_no_error_names_is_never_told() -> None:
    assert (
        drift(failing("division by zero", "ZeroDivisionError"), changes("api/openapi.yaml", API, WITHOUT_TEXT)) is None
    )


def test_another_spelling_of_the_same_name_is_the_name() -> None:
    assert drift(failing("missing property discountText"), changes("api/openapi.yaml", API, WITHOUT_TEXT)) is not None


def test_a_common_word_counts_only_where_its_operation_fails_too() -> None:
    nameless = API.replace("        name: {type: string}\n", "")
    found = changes("api/openapi.yaml", API, nameless)
    assert drift(failing("'name'"), found) is None
    path = {"http.request.method": "GET", "url.path": "/v1/coupons/17", "http.response.status_code": 500}
    assert drift(failing("'name'", **path), found) is not None


def test_calls_of_an_operation_that_is_gone_are_support() -> None:
    gone = API.replace("  /totals:\n    get:\n", "  /totals:\n    put:\n")
    call = {"http.request.method": "GET", "url.path": "/totals", "http.response.status_code": 404}
    found = drift(failing("bad answer", "HTTPError", **call), changes("api/openapi.yaml", API, gone))
    assert found is not None
    assert "operation GET /totals removed" in found.failure_mode
    refused = drift(
        failing("bad answer", "HTTPError", **{**call, "http.response.status_code": 500}),
        changes("api/openapi.yaml", API, gone),
    )
    assert refused is None


@pytest.mark.parametrize("minute", [5, -3000])
def test_a_change_from_after_the_onset_or_long_before_it_is_no_cause(minute: float) -> None:
    assert drift(failing("'discount_text'"), changes("api/openapi.yaml", API, WITHOUT_TEXT, minute)) is None


def test_a_change_whose_time_is_unknown_stays_a_lead() -> None:
    found = drift(failing("'discount_text'"), changes("api/openapi.yaml", API, WITHOUT_TEXT, None))
    assert found is not None
    assert found.links == ("symptom",)


def test_a_compatible_change_is_no_cause() -> None:
    more = API + "        discount_note: {type: string}\n"
    assert drift(failing("'discount_note'"), changes("api/openapi.yaml", API, more)) is None


def test_a_service_that_the_failing_one_never_calls_is_not_blamed() -> None:
    case = structs.replace(
        failing("'discount_text'"), topology=Topology(path=("price",), edges={"web": {"coupons": 3}})
    )
    assert drift(case, changes("api/openapi.yaml", API, WITHOUT_TEXT)) is None


def test_a_new_value_of_an_enum_that_a_reader_refuses() -> None:
    before = 'syntax = "proto3"; enum Kind { NONE = 0; }'
    found = drift(
        failing("'GIFT_CARD' is not a valid Kind", "ValueError"),
        changes("coupon.proto", before, before.replace("0;", "0; GIFT_CARD = 1;")),
    )
    assert found is not None
    assert "GIFT_CARD" in found.summary


def migration(case: Case, sql: str, minute: float | None = -5) -> Draft | None:
    found = tuple(structs.replace(c, service="price") for c in changes("migrations/7.sql", "", sql, minute))
    return told(structs.replace(case, contract_changes=found), "migration")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("ALTER TABLE orders DROP COLUMN note", 'column "note" does not exist'),
        ("ALTER TABLE orders DROP COLUMN note", "no such column: o.note"),
        ("ALTER TABLE orders RENAME COLUMN note TO memo", "Unknown column 'orders.note' in 'field list'"),
        ("DROP TABLE shop.orders", 'relation "orders" does not exist'),
        ("ALTER TABLE orders ALTER COLUMN note SET NOT NULL", NULL),
        ("ALTER TABLE orders ADD COLUMN note text NOT NULL", "NOT NULL constraint failed: orders.note"),
        ("ALTER TABLE orders MODIFY note varchar(5)", "Data too long for column 'note' at row 1"),
        ("ALTER TABLE orders ADD CONSTRAINT positive CHECK (n > 0)", CHECKED),
        ("CREATE UNIQUE INDEX one_note ON orders (note)", 'duplicate key value violates unique constraint "one_note"'),
        ("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", 'invalid input value for enum mood: "sad"'),
    ],
)  # fmt: skip
def test_what_the_database_says_of_a_step_is_support(sql: str, message: str) -> None:
    found = migration(failing(message, "OperationalError"), sql)
    assert found is not None
    assert set(found.links) == {"symptom", "change"}
    assert found.suspected_file == "migrations/7.sql"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("ALTER TABLE orders DROP COLUMN note", 'column "total" does not exist'),
        ("ALTER TABLE orders DROP COLUMN note", 'column "note" of relation "users" does not exist'),
        ("ALTER TABLE orders DROP COLUMN note", "null value in column \"note\" violates not-null constraint"),
        ("DROP TABLE orders", 'relation "order_lines" does not exist'),
        ("CREATE INDEX i ON orders (note)", 'column "note" does not exist'),
        ("ALTER TABLE orders DROP COLUMN note", "note is missing"),
    ],
)  # fmt: skip
def test_what_says_something_else_is_not(sql: str, message: str) -> None:
    assert migration(failing(message, "OperationalError"), sql) is None


def test_a_column_that_the_migration_adds_and_the_database_lacks_was_not_applied() -> None:
    found = migration(failing('column "note" does not exist', "UndefinedColumn"), "ALTER TABLE orders ADD note text")
    assert found is not None
    assert found.failure_mode.startswith("migration not applied")


def query(minute: float, ms: int, n: int) -> Span:
    start = b.ONSET + int(minute * b.MINUTE)
    return Span(
        trace_id=f"{n:032x}", span_id=f"{n:016x}", name="SELECT", service="price", start_ns=start,
        end_ns=start + ms * 10**6, kind="client", attributes={"db.query.text": "SELECT * FROM orders WHERE note = $1"},
        source=SourceRef("traces/t.jsonl", n),
    )  # fmt: skip


@pytest.mark.parametrize(("late", "named"), [(400, True), (30, False)])
def test_queries_that_are_slow_since_an_index_was_dropped(late: int, named: bool) -> None:
    spans = tuple(query(n - 10, 20 if n < 10 else late, n + 1) for n in range(15))
    case = b.a_case(crashes=())
    case = structs.replace(case, sources=structs.replace(case.sources, spans=spans))
    found = migration(case, "DROP INDEX orders_note ON orders")
    assert (found is not None) is named
    if found is not None:
        assert "400 ms instead of 20 ms" in found.summary


def test_a_lock_that_statements_wait_for() -> None:
    waits = structs.replace(query(1, 9000, 77), status="error", status_message="lock timeout")
    case = failing("canceling statement due to lock timeout", "LockNotAvailable")
    case = structs.replace(case, sources=structs.replace(case.sources, spans=(waits,)))
    found = migration(case, "CREATE INDEX i ON orders (note)")
    assert found is not None
    assert "blocks writes" in found.summary
    assert migration(case, "CREATE INDEX CONCURRENTLY i ON orders (note)") is None


def test_long_words_of_a_database_are_read_in_time_that_grows_with_them() -> None:
    assert sayings("column " * 5_000 + "duplicate entry " * 2_000) == ()
