"""What every contract format promises, over every registered one, on captured pairs of files and on hostile ones."""

import random
from pathlib import Path

import pytest

from retrieval.contracts import CONTRACT_FORMATS, Unreadable, differences, read_contract
from retrieval.contracts.difference import Versions
from retrieval.model import ContractChange

CAPTURED = Path(__file__).resolve().parents[1] / "captured" / "contracts"
EXPECTED = {
    "openapi": {
        ("enum value Coupon.kind=GIFT added", "readers"),
        ("field Coupon.percent: type integer -> string", "readers"),
        ("field Coupon.text: required yes -> no", "readers"),
        ("field NewCoupon.currency added", "writers"),
        ("field NewCoupon.percent: maximum 90 -> 50", "writers"),
        ("operation POST /coupons/{id}/redeem removed", "both"),
        ("parameter POST /coupons/{id}/redeem query dry_run removed", "writers"),
        ("response POST /coupons/{id}/redeem 204 removed", "readers"),
    },
    "protobuf": {
        ("enum value Coupon.Kind.2 (GIFT) added", "readers"),
        ("field Coupon.2 (percent): type int32 -> string", "both"),
        ("field Coupon.3 (text): name text -> label_text", "both"),
        ("field Coupon.4 (text_id) removed", "readers"),
        ("method Coupons.Watch removed", "both"),
    },
    "graphql": {
        ("argument Query.coupon(lang) added", "writers"),
        ("enum value Kind.STAFF removed", "both"),
        ("field Coupon.percent removed", "both"),
        ("field Coupon.text: type String! -> String", "readers"),
        ("input field ApplyInput.currency added", "writers"),
        ("union member Anything|Basket removed", "both"),
    },
    "jsonschema": {
        ("field Line.sku: maxLength 40 -> 12", "writers"),
        ("field OrderPlaced.coupon: nullable yes -> no", "writers"),
        ("field OrderPlaced.currency added", "writers"),
        ("field OrderPlaced.order_id: type integer -> string", "both"),
    },
    "sql": {
        ("added constraint orders.of_user", "writers"),
        ("added constraint orders.one_per_user", "writers"),
        ("added required column orders.currency", "writers"),
        ("dropped column orders.note", "both"),
        ("renamed column orders.total", "both"),
        ("required column orders.state", "writers"),
        ("retyped column orders.qty", "both"),
    },
    "python": {
        ("added constraint orders.one_per_user", "writers"),
        ("added required column orders.currency", "writers"),
        ("dropped column orders.note", "both"),
        ("dropped column parcels.weight", "both"),
        ("renamed column orders.total", "both"),
        ("required column orders.state", "writers"),
        ("retyped column orders.qty", "both"),
    },
}
HARMLESS = {"added column orders.memo", "created index orders.by_state", "dropped index orders.by_note"}
ENDING = {p.parent.name: p.name.removeprefix("after") for p in CAPTURED.glob("*/after*")}


def captured(name: str, side: str) -> bytes:
    return (CAPTURED / name / f"{side}{ENDING[name]}").read_bytes()


def compared(name: str, before: bytes, after: bytes) -> tuple[ContractChange, ...]:
    path = f"api/contract{ENDING[name]}"
    sides = [read_contract(path, data) for data in (before, after)]
    assert sides[0] is not None and sides[1] is not None
    return differences(sides[1][0], Versions(service="shop", path=path, before=sides[0][1], after=sides[1][1]))


@pytest.mark.parametrize("name", sorted(CONTRACT_FORMATS))
def test_what_breaks_is_told_with_whom_and_why(name: str) -> None:
    found = compared(name, captured(name, "before"), captured(name, "after"))
    assert {(c.told, c.breaks) for c in found if c.breaks} == EXPECTED[name]
    for change in found:
        assert change.format == name and change.service == "shop"
        assert ": " in change.rule
        assert change.member and change.owner


def test_steps_that_break_nobody_are_told_too() -> None:
    found = {c.told: c for c in compared("sql", captured("sql", "before"), captured("sql", "after"))}
    assert found.keys() >= HARMLESS
    assert "dropped table orders" not in found and "dropped table parcels" not in found
    assert found["created index orders.by_state"].risk == ""
    assert "exclusive lock" in found["retyped column orders.qty"].risk


@pytest.mark.parametrize("name", sorted(CONTRACT_FORMATS))
def test_what_did_not_change_is_no_difference(name: str) -> None:
    if not CONTRACT_FORMATS[name].steps:
        assert compared(name, captured(name, "after"), captured(name, "after")) == ()


@pytest.mark.parametrize("name", sorted(CONTRACT_FORMATS))
def test_a_line_is_where_it_stands(name: str) -> None:
    data = captured(name, "after")
    lines = data.decode().splitlines()
    read = read_contract(f"x{ENDING[name]}", data)
    assert read is not None
    for element in read[1]:
        if element.what in ("field", "enum value", "method", "dropped column", "input field"):
            assert any(element.member in line for line in lines[max(element.line - 2, 0) : element.line]), element


@pytest.mark.parametrize("name", sorted(CONTRACT_FORMATS))
def test_mutilated_files_are_read_or_refused_with_a_reason_and_never_anything_else(name: str) -> None:
    chance = random.Random(7)
    refusals: list[Unreadable] = []
    data = captured(name, "after")
    for _ in range(300):
        at, end = sorted(chance.sample(range(len(data)), 2))
        broken = chance.choice(
            [
                data[:at],
                data[:at] + data[end:],
                data[:at] + chance.choice([b"{", b"}", b"'", b'"', b"(", b"\xff", b"*x"]) + data[at:],
            ]
        )
        try:
            read_contract(f"x{ENDING[name]}", broken)
        except Unreadable as error:
            refusals.append(error)
    assert all(error.reason and error.line >= 0 for error in refusals)


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.yaml", b"openapi: 3.0.0\na: &a [x]\n" + b"".join(b"b%d: [*a, *a]\n" % n for n in range(300)), "aliases"),
        ("a.yaml", b"openapi: 3.0.0\nb: &b [*b]", "into itself"),
        ("a.yaml", b"openapi: 3.0.0\nb: *nowhere", "nowhere"),
        ("a.yaml", b"openapi: 3.0.0\nb: " + b"[" * 100_000, "nest"),
        ("a.yaml", b"openapi: 3.0.0\nb: [" + b"1, " * 400_000, "values"),
        ("a.yaml", b"openapi: 3.0.0\nb: [\x07]", "no YAML"),
        ("a.json", b'{"openapi": "3.0.0", "x": ' + b"[" * 5_000, "nest"),
        ("a.json", b'{"openapi":"3.0.0", "x":"\\ud83d\\ude00", "y": ' + b"[" * 90 + b"]" * 90 + b"}", "nest"),
        ("a.py", b"from alembic import op\nx = " + b"(" * 5_000, "Python"),
        ("a.py", b"from alembic import op\n" + b"#" * 300_000, "longer"),
        ("a.py", b"from alembic import op\nx = = 1", "Python"),
        ("a.proto", b"message A { " * 1_000, "deeper"),
        ("a.proto", b"message A { string x = y; }", "number"),
        ("a.proto", b"} }", "without its"),
        ("a.proto", b"message A {", "not closed"),
        ("a.graphql", b"type A { a: " + b"[" * 100_000, "expected a name"),
        ("a.graphql", b"hello", "expected a definition"),
        ("a.graphql", b"a " * 500_000, "words"),
        ("a.sql", b"-- \0", "binary"),
        ("a.sql", b" " * (4 * 2**20 + 1), "larger"),
    ],
)
def test_hostile_files_are_refused(path: str, data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_contract(path, data)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.sql", b"create table x (" + b"(" * 100_000),
        ("a.sql", b"'" * 100_001),
        ("a.sql", b"[a" * 100_000),
        ("a.sql", b"/*" * 100_000),
        ("a.sql", b"alter table a " + b"add b int, " * 10_000),
        ("a.json", b'{"openapi":"3.0.0","paths":[],"x":"\\ud83d\\ude00","y":[1,null,{"z":true}]}'),
    ],
)
def test_long_and_odd_files_are_read_in_time(path: str, data: bytes) -> None:
    assert read_contract(path, data) is not None


def test_a_reference_out_of_the_file_is_a_name_and_nothing_is_fetched() -> None:
    read = read_contract(
        "a.yaml",
        b"openapi: 3.0.0\npaths: {/x: {$ref: 'http://127.0.0.1:9/x', "
        b"get: {responses: {'200': {$ref: '../../etc/passwd'}}}}}\n"
        b"components: {schemas: {A: {properties: {b: {$ref: 'file:///etc/passwd'}}}}}",
    )
    assert read is not None
    assert [e.facts["type"] for e in read[1] if e.what == "field"] == ["file:///etc/passwd"]


def test_a_circle_of_references_ends() -> None:
    text = (
        "openapi: 3.0.0\npaths: {/x: {get: {responses: {'200': {$ref: '#/components/responses/A'}}}}}\n"
        "components:\n  responses: {A: {$ref: '#/components/responses/B'}, B: {$ref: '#/components/responses/A'}}\n"
        "  schemas: {A: {$ref: '#/components/schemas/B'}, B: {$ref: '#/components/schemas/A'}}\n"
    )
    assert read_contract("a.yaml", text.encode()) is not None


@pytest.mark.parametrize("path", ["values.yaml", "package.json", "notes.txt", "V2__add.down.sql", "U3__x.sql"])
def test_other_files_are_no_contracts(path: str) -> None:
    assert read_contract(path, b"a: 1\n") is None


def test_defaults_are_told_without_their_values() -> None:
    read = read_contract("a.sql", b"ALTER TABLE a ADD COLUMN token text DEFAULT 'hunter2'")
    assert read is not None
    assert "hunter2" not in str(read[1]) and read[1][0].facts["default"] == "yes"


def steps(text: str, path: str = "a.sql") -> dict[str, str]:
    read = read_contract(path, text.encode())
    assert read is not None
    return {f"{e.what} {e.name}": e.facts.get("after", "") or e.facts.get("risk", "") for e in read[1]}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER TABLE IF EXISTS ONLY a.b RENAME TO c", {"renamed table b": "c"}),
        ("RENAME TABLE a TO b", {"renamed table a": "b"}),
        (
            "ALTER TABLE a CHANGE COLUMN b c int NOT NULL",
            {"renamed column a.b", "retyped column a.c", "required column a.c"},
        ),
        ("ALTER TABLE a ADD (b int, c int NOT NULL)", {"added column a.b", "added required column a.c"}),
        ("ALTER TABLE a DROP (b, c)", {"dropped column a.b", "dropped column a.c"}),
        (
            "ALTER TABLE a DROP FOREIGN KEY f, DROP PRIMARY KEY",
            {"dropped constraint a.f", "dropped constraint a.primary key"},
        ),
        ("ALTER TABLE a ADD INDEX i (b), ADD UNIQUE KEY u (c)", {"created index a.i", "added constraint a.u"}),
        ("ALTER TABLE a ADD b int UNIQUE REFERENCES c (d)", {"added column a.b", "added constraint a.b"}),
        ("ALTER TABLE a ADD b timestamptz NOT NULL DEFAULT clock_timestamp()", {"added column a.b"}),
        ("ALTER TABLE a ADD b bigserial NOT NULL", {"added column a.b"}),
        ("ALTER TABLE a ADD b int GENERATED ALWAYS AS IDENTITY NOT NULL", {"added column a.b"}),
        ("ALTER TABLE a ADD CHECK (b > 0)", {"added constraint a.check"}),
        ("ALTER TABLE a ALTER b DROP NOT NULL, ALTER b DROP DEFAULT", {"optional column a.b", "dropped default a.b"}),
        ("ALTER TABLE a ALTER COLUMN b SET DATA TYPE text", {"retyped column a.b"}),
        ("ALTER TABLE a RENAME CONSTRAINT x TO y", set()),
        ("ALTER TYPE mood ADD VALUE IF NOT EXISTS 'blue'", {"added value mood.blue"}),
        ("DROP TABLE IF EXISTS a, b CASCADE", {"dropped table a", "dropped table b"}),
        ("DROP TYPE mood", {"dropped type mood"}),
        ("DROP MATERIALIZED VIEW v", {"dropped table v"}),
        ("CREATE TYPE mood AS ENUM ('sad')", {"created type mood"}),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", set()),
        ("CREATE INDEX ON a USING gin (b)", {"created index a.b"}),
        ("ALTER SEQUENCE s RESTART; DROP FUNCTION f; SELECT 1; ALTER TABLE", set()),
        ("ALTER TABLE [a] DROP COLUMN [b]; ALTER TABLE `c` DROP `d`", {"dropped column a.b", "dropped column c.d"}),
    ],
)
def test_each_form_of_a_statement_is_its_step(statement: str, expected: object) -> None:
    found = steps(statement)
    assert found == expected if isinstance(expected, dict) else set(found) == expected


def test_django_s_operations() -> None:
    text = """
from django.db import migrations, models

class Migration(migrations.Migration):
    dependencies = [("shop", "0006")]
    operations = [
        migrations.AddField(model_name="order", name="currency", field=models.CharField(max_length=3)),
        migrations.AddField("order", "memo", models.TextField(default="")),
        migrations.RemoveField("order", "note"),
        migrations.RenameField("order", "total", "amount"),
        migrations.AlterField("order", "qty", models.BigIntegerField()),
        migrations.CreateModel(name="Parcel", fields=[]),
        migrations.DeleteModel("Basket"),
        migrations.RenameModel("User", "Person"),
        migrations.RemoveIndex("order", "by_note"),
        migrations.RunSQL("DROP TABLE old"),
        *more,
    ]
"""
    assert set(steps(text, "0007_x.py")) == {
        *("added required column order.currency", "added column order.memo", "dropped column order.note"),
        *("renamed column order.total", "retyped column order.qty", "created table Parcel", "dropped table Basket"),
        *("renamed table User", "dropped index order.by_note", "dropped table old"),
    }


def test_swagger_2_and_schemas_of_several_parts() -> None:
    before = """
swagger: "2.0"
paths:
  /a:
    post:
      parameters:
        - {name: body, in: body, schema: {$ref: "#/definitions/In"}}
        - {name: n, in: query, type: integer, required: true}
      responses: {"200": {schema: {type: array, items: {$ref: "#/definitions/Out"}}}}
definitions:
  In: {properties: {x: {oneOf: [{type: string}, {type: "null"}]}}}
  Out: {properties: {kind: {enum: [a, b]}, map: {additionalProperties: {properties: {deep: {type: string}}}}}}
"""
    after = before.replace('{oneOf: [{type: string}, {type: "null"}]}', "{type: string}").replace("deep", "other")
    sides = [read_contract("a.yaml", text.encode()) for text in (before, after)]
    assert sides[0] is not None and sides[1] is not None
    found = differences(sides[1][0], Versions(service="s", path="a.yaml", before=sides[0][1], after=sides[1][1]))
    assert {(c.told, c.breaks) for c in found if c.breaks} == {
        ("field In.x: nullable yes -> no", "writers"),
        ("field Out.map{}.deep removed", "readers"),
    }
