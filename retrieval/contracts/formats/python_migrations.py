"""Migrations written in Python: Alembic's operations in `upgrade`, Django's operations of a `Migration`.

The source is parsed, never run. Only literal names count; what is computed is passed over. Django's tables bear the
app's name before the model's, which the file doesn't tell: the model is the owner.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from msgspec.structs import replace

from retrieval.contracts.base import MAX_ELEMENTS, Format, Unreadable, named
from retrieval.contracts.formats import sql
from retrieval.contracts.sql_statements import REWRITE, SCAN, WRITES
from retrieval.model import ContractElement

MAX_BYTES = 256 * 1024
_ALEMBIC = re.compile(r"(?m)^from alembic import (?:.*\b)?op\b|^import alembic\b")
_DJANGO = re.compile(r"(?m)^class Migration\(.*Migration\)|^from django\.db import (?:.*\b)?migrations\b")

Steps = Iterator[ContractElement]


def _claims(path: PurePosixPath, head: str) -> bool:
    return path.suffix == ".py" and bool(_ALEMBIC.search(head) or _DJANGO.search(head))


def _parse(text: str) -> tuple[ContractElement, ...]:
    if len(text) > MAX_BYTES:
        raise Unreadable(f"is longer than {MAX_BYTES} characters and was not read")
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise Unreadable(f"is no Python: {error.msg}", error.lineno or 0) from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise Unreadable("is no Python that can be read: it is nested too deeply") from error
    found: list[ContractElement] = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == "upgrade":
            for call in _calls(node.body):
                found.extend(_step_of(_ALEMBIC_STEPS, call))
        elif isinstance(node, ast.ClassDef) and node.name == "Migration":
            for call in _operations(node):
                found.extend(_step_of(_DJANGO_STEPS, call))
    return tuple(found[:MAX_ELEMENTS])


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                yield node


def _operations(migration: ast.ClassDef) -> Iterator[ast.Call]:
    for node in migration.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and _is_operations(node):
            yield from (item for item in node.value.elts if isinstance(item, ast.Call))


def _is_operations(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "operations" for target in node.targets)


def _step_of(known: dict[str, Callable[["_Call"], Steps]], node: ast.Call) -> Steps:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in known:
        yield from known[name](_Call(node))


class _Call:
    """A call's arguments by place or by name, as literals."""

    def __init__(self, node: ast.Call) -> None:
        self.node = node
        self.line = node.lineno
        self.keywords = {k.arg: k.value for k in node.keywords if k.arg}

    def at(self, place: int, *names: str) -> ast.expr | None:
        found = next((self.keywords[n] for n in names if n in self.keywords), None)
        return found if found is not None else self.node.args[place] if 0 <= place < len(self.node.args) else None

    def text(self, place: int, *names: str) -> str:
        """A literal text, "" where it is none."""
        found = self.at(place, *names)
        return named(found.value) if isinstance(found, ast.Constant) and isinstance(found.value, str) else ""

    def says(self, name: str, value: bool) -> bool:
        found = self.keywords.get(name)
        return isinstance(found, ast.Constant) and found.value is value

    def step(self, what: str, table: str, member: str = "", **facts: str) -> Steps:
        """Nothing where the names are computed."""
        if table:
            name = f"{table}.{member}" if member else table
            kept = {k: named(v) for k, v in sorted(facts.items()) if v}
            yield ContractElement(
                what=what, name=named(name), owner=table, member=member or table, line=self.line, facts=kept
            )


def _column(call: _Call, table: str, node: ast.expr | None) -> Steps:
    """A column of `sa.Column("name", type, nullable=False, server_default=...)`."""
    if not isinstance(node, ast.Call):
        return
    column = _Call(node)
    required = column.says("nullable", False) and not {"server_default", "default"} & column.keywords.keys()
    yield from call.step("added required column" if required else "added column", table, column.text(0, "name"))


def _alter_column(call: _Call) -> Steps:
    table, column = call.text(0, "table_name"), call.text(1, "column_name")
    if new := call.text(-1, "new_column_name"):
        yield from call.step("renamed column", table, column, after=new)
    if "type_" in call.keywords:
        yield from call.step("retyped column", table, column, risk=REWRITE)
    if call.says("nullable", False):
        yield from call.step("required column", table, column, risk=SCAN)
    elif call.says("nullable", True):
        yield from call.step("optional column", table, column)


def _create_index(call: _Call) -> Steps:
    name, table = call.text(0, "index_name"), call.text(1, "table_name")
    risk = "" if call.says("postgresql_concurrently", True) else WRITES
    yield from call.step("created index", table, name, risk=risk)
    if call.says("unique", True):
        yield from call.step("added constraint", table, name, kind="unique")


def _drop_index(call: _Call) -> Steps:
    name = call.text(0, "index_name")
    yield from call.step("dropped index", call.text(1, "table_name") or name, name)


def _statements(call: _Call) -> Steps:
    """SQL within, which may be in `text(...)`."""
    found = call.at(0, "sql", "sqltext")
    inner = _Call(found).at(0) if isinstance(found, ast.Call) else found
    if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
        for step in sql.FORMAT.parse(inner.value):
            yield replace(step, line=inner.lineno + step.line - 1)


def _field(call: _Call) -> Steps:
    model, name, field = call.text(0, "model_name"), call.text(1, "name"), call.at(2, "field")
    known = _Call(field) if isinstance(field, ast.Call) else None
    required = (
        known is not None and not known.says("null", True) and not {"default", "db_default"} & known.keywords.keys()
    )
    yield from call.step("added required column" if required else "added column", model, name)


_ALEMBIC_STEPS: dict[str, Callable[[_Call], Steps]] = {
    "add_column": lambda c: _column(c, c.text(0, "table_name"), c.at(1, "column")),
    "drop_column": lambda c: c.step("dropped column", c.text(0, "table_name"), c.text(1, "column_name")),
    "alter_column": _alter_column,
    "create_table": lambda c: c.step("created table", c.text(0, "table_name")),
    "drop_table": lambda c: c.step("dropped table", c.text(0, "table_name")),
    "rename_table": lambda c: c.step("renamed table", c.text(0, "old_table_name"), after=c.text(1, "new_table_name")),
    "create_index": _create_index,
    "drop_index": _drop_index,
    "create_unique_constraint": lambda c: c.step("added constraint", c.text(1, "table_name"), c.text(0), risk=SCAN),
    "create_check_constraint": lambda c: c.step("added constraint", c.text(1, "table_name"), c.text(0), risk=SCAN),
    "create_foreign_key": lambda c: c.step("added constraint", c.text(1, "source_table"), c.text(0), risk=SCAN),
    "execute": _statements,
}
_DJANGO_STEPS: dict[str, Callable[[_Call], Steps]] = {
    "AddField": _field,
    "RemoveField": lambda c: c.step("dropped column", c.text(0, "model_name"), c.text(1, "name")),
    "RenameField": lambda c: c.step(
        "renamed column", c.text(0, "model_name"), c.text(1, "old_name"), after=c.text(2, "new_name")
    ),
    "AlterField": lambda c: c.step("retyped column", c.text(0, "model_name"), c.text(1, "name"), risk=REWRITE),
    "CreateModel": lambda c: c.step("created table", c.text(0, "name")),
    "DeleteModel": lambda c: c.step("dropped table", c.text(0, "name")),
    "RenameModel": lambda c: c.step("renamed table", c.text(0, "old_name"), after=c.text(1, "new_name")),
    "RemoveIndex": lambda c: c.step("dropped index", c.text(0, "model_name"), c.text(1, "name")),
    "RunSQL": _statements,
}

FORMAT = Format("python", _claims, _parse, sql.FORMAT.judge, steps=True)
