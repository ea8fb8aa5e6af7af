"""A table as large as production's, for errors that only its size brings out (pure).

When a statement of an SQLite database failed and a metric counted the rows of its table, the test fills that table with
as many rows. What the rows held was not recorded: the columns that metric labels and arguments name hold those values,
all others are stand-ins, and the test says so.
"""

import ast
import re
from typing import Any

from msgspec import Struct

from bundles.harness.occurrences import Occurrence
from bundles.harness.python.calls import Call
from bundles.harness.python.declared import own_nodes
from bundles.harness.python.pool import normal
from bundles.harness.python.source import Source
from retrieval.model import Case, Series

MAX_ROWS = 200_000
_STATEMENT_KEYS = ("db.query.text", "db.statement")
_TABLE = re.compile(r"\b(?:FROM|UPDATE|INTO|JOIN)\s+[\"`\[]?([A-Za-z_]\w*)", re.IGNORECASE)
_COMPARED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:=|<|>|<=|>=|<>|!=|\bLIKE\b|\bIN\b)\s*\(?\s*[?:$@%]", re.IGNORECASE)


class Volume(Struct, frozen=True, kw_only=True):
    """`rows` of `table`; `alike` holds in all of them, `one` in the first; `columns` are those that the statement
    compares. `schema` is the method that makes the tables, `scripts` are SQL files where there is none."""

    table: str
    rows: int
    alike: dict[str, Any]
    one: dict[str, Any]
    columns: tuple[str, ...]
    schema: str
    scripts: tuple[str, ...]
    citations: tuple[str, ...]


def volume_of(case: Case, occurrence: Occurrence, source: Source, call: Call) -> Volume | None:
    """The table behind a failed statement, with the size that a metric had before the failure; None where the error is
    none of SQLite, or no metric counts the table."""
    if call.function.kind != "method" or call.function.is_async or not _is_sqlite(occurrence):
        return None
    statement, cited = _statement(occurrence, call)
    tables = _TABLE.findall(statement)
    if not tables:
        return None
    values = {name: plain for name, plain in call.plain if isinstance(plain, str | int | float)}
    found = _counted(case, tables[0], occurrence.time_ns, values)
    if found is None:
        return None
    series, rows = found
    columns = tuple(dict.fromkeys(_COMPARED.findall(statement)))
    schema, scripts = _schema(source, call)
    return Volume(
        table=tables[0],
        rows=min(rows, MAX_ROWS),
        alike={k: v for k, v in series.labels.items() if k in columns and values.get(k, v) == v},
        one={k: v for k, v in values.items() if k in columns},
        columns=columns,
        schema=schema,
        scripts=scripts,
        citations=tuple(dict.fromkeys(c for c in (cited, str(series.source)) if c)),
    )


def _is_sqlite(occurrence: Occurrence) -> bool:
    if any("sqlite" in str(span.attributes.get("db.system", "")) for span in occurrence.spans):
        return True
    return any("sqlite" in f"{thrown.info.type} {thrown.info.raw}" for thrown in occurrence.thrown)


def _statement(occurrence: Occurrence, call: Call) -> tuple[str, str]:
    """The recorded statement of a failing span, else the first one in the function's own text."""
    spans = sorted(occurrence.spans, key=lambda s: not s.failed)
    for span in spans:
        for key in _STATEMENT_KEYS:
            if span.attributes.get(key):
                return str(span.attributes[key]), str(span.source)
    for node in own_nodes(call.function.node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _TABLE.search(node.value):
            return node.value, ""
    return "", ""


def _counted(case: Case, table: str, at_ns: int, values: dict[str, Any]) -> tuple[Series, int] | None:
    """The metric that counts the table's rows: named like the table, its labels not at odds with the arguments."""
    found: list[tuple[int, int, str, Series]] = []
    for series in case.sources.series:
        words = normal(series.metric).split("_")
        before = [value for time, value in series.points if time <= at_ns]
        fits = normal(table) in ("_".join(words), *words) and not {"seconds", "failed", "total", "bytes"} & set(words)
        odd = any(k in values and str(values[k]) != v for k, v in series.labels.items())
        if fits and before and not odd and before[-1] >= 1:
            agreed = sum(str(values.get(k)) == v for k, v in series.labels.items())
            found.append((agreed, int(before[-1]), series.metric, series))
    best = max(found, key=lambda f: f[:3], default=None)
    return (best[3], best[1]) if best else None


def _schema(source: Source, call: Call) -> tuple[str, tuple[str, ...]]:
    for function in source.functions:
        if function.owner == call.function.owner and function.path == call.function.path and not function.is_async:
            needed = [p for p in function.params if not p.default]
            if (
                function.kind == "method"
                and not needed
                and function.name != "__init__"
                and _makes_tables(function.node)
            ):
                return function.name, ()
    scripts = [f for f in source.files if f.endswith(".sql") and re.search(r"migrat|schema", f)]
    return "", tuple(sorted(scripts))


def _makes_tables(node: ast.AST) -> bool:
    for part in own_nodes(node):
        if isinstance(part, ast.Attribute) and part.attr == "executescript":
            return True
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and "CREATE TABLE" in part.value.upper():
            return True
    return False
