"""What databases say when a schema is not what the code expects, and which step of a migration that means. Pure."""

import re
from collections.abc import Iterator, Sequence
from statistics import median

from msgspec import Struct

from retrieval.judgement.failure import Failure, names
from retrieval.model import ContractChange, Span

_NAME = r"[\"'`\[]?(?:[\w$]+[\"'`\]]?\.[\"'`\[]?)*(?P<{}>[\w$]+)[\"'`\]]?"
_COLUMN, _TABLE = _NAME.format("column"), _NAME.format("table")
MIN_QUERIES = 3  # before and after, for a comparison
SLOWER = 3.0

# The wordings of PostgreSQL, MySQL/MariaDB, SQLite and SQL Server, from their lists of error messages.
_SAYINGS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.I))
    for kind, pattern in (
        ("undefined column", rf"column {_COLUMN} (?:of relation {_TABLE} )?does not exist"),
        ("undefined column", rf"no such column: {_COLUMN}"),
        ("undefined column", rf"has no column named {_COLUMN}"),
        ("undefined column", rf"unknown column {_COLUMN} in"),
        ("undefined column", rf"invalid column name {_COLUMN}"),
        ("undefined table", rf"relation {_TABLE} does not exist"),
        ("undefined table", rf"no such table: {_TABLE}"),
        ("undefined table", rf"table {_TABLE} doesn't exist"),
        ("undefined table", rf"invalid object name {_TABLE}"),
        ("null", rf"null value in column {_COLUMN}(?: of relation {_TABLE})? violates not-null"),
        ("null", r"not null constraint failed: (?P<table>[\w$]+)\.(?P<column>[\w$]+)"),
        ("null", rf"column {_COLUMN} cannot be null"),
        ("null", rf"field {_COLUMN} doesn't have a default value"),
        ("null", rf"cannot insert the value null into column {_COLUMN}"),
        ("violation", rf"violates (?:unique|foreign key|check|exclusion) constraint {_NAME.format('constraint')}"),
        ("violation", r"unique constraint failed: (?P<table>[\w$]+)\.(?P<column>[\w$]+)"),
        ("violation", rf"duplicate entry .{{0,200}} for key {_NAME.format('constraint')}"),
        ("violation", rf"check constraint {_NAME.format('constraint')} is violated"),
        ("unfit", rf"data too long for column {_COLUMN}"),
        ("unfit", rf"out of range value for column {_COLUMN}"),
        (
            "unfit",
            r"value too long for type |invalid input syntax for |out of range for type |operator does not exist: ",
        ),
        ("unfit", r"is of type [\w ]+ but expression is of type"),
        ("value", rf"invalid input value for enum {_TABLE}: [\"'](?P<column>[^\"']{{1,100}})[\"']"),
        ("lock", r"lock timeout|lock wait timeout|deadlock|could not obtain lock|database is locked|lock request time"),
        ("slow", r"statement timeout|canceling statement|query timed? ?out|timeout|timed out|deadline exceeded"),
    )
)
_MEANS = {
    "dropped column": {"undefined column"},
    "renamed column": {"undefined column"},
    "dropped table": {"undefined table"},
    "renamed table": {"undefined table"},
    "added column": {"undefined column"},
    "created column": {"undefined column"},
    "created table": {"undefined table"},
    "added required column": {"undefined column", "null"},
    "required column": {"null"},
    "dropped default": {"null"},
    "retyped column": {"unfit"},
    "added constraint": {"violation"},
    "renamed value": {"value"},
    "dropped type": {"value"},
}
_MISSING = frozenset({"added column", "created column", "created table", "added required column"})


class Saying(Struct, frozen=True):
    """An error of a database: its kind and the names in it, "" where it names none."""

    kind: str
    column: str = ""
    table: str = ""
    constraint: str = ""


class Broken(Struct, frozen=True):
    """How a step of a migration meets the failure. `how` is refused|unapplied|lock|slow."""

    strength: float
    how: str
    saying: Saying | None = None
    span: Span | None = None
    before_ms: float = 0.0
    after_ms: float = 0.0


def sayings(text: str) -> tuple[Saying, ...]:
    """What databases said in a text, each once."""
    found: dict[Saying, None] = {}
    for kind, pattern in _SAYINGS:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            found[Saying(kind, parts.get("column") or "", parts.get("table") or "", parts.get("constraint") or "")] = (
                None
            )
    return tuple(found)


def broken_by(step: ContractChange, failure: Failure, onset_ns: int) -> Broken | None:
    """How one step meets the failure; None where it doesn't."""
    heard = sayings(failure.said)
    for saying in heard:
        if saying.kind in _MEANS.get(step.what, ()) and _same(step, saying, failure):
            how = "unapplied" if step.what in _MISSING and saying.kind.startswith("undefined") else "refused"
            named = saying.table or saying.constraint or step.owner == step.member
            return Broken(1.0 if named else 0.8, how, saying)
    if step.risk and any(s.kind == "lock" for s in heard):
        span = next((s for text, s in failure.queries if s.failed and names(step.owner, text)), None)
        if span is not None or names(step.owner, failure.said):
            return Broken(0.7, "lock", None, span)
    return _slow(step, failure, onset_ns) if step.what == "dropped index" else None


def _same(step: ContractChange, saying: Saying, failure: Failure) -> bool:
    if saying.table and step.owner and not _same_table(saying.table, step.owner):
        return False
    if saying.constraint:
        return saying.constraint.lower() == step.member.lower()
    if saying.column:
        return step.member.lower() == saying.column.lower()
    if saying.table:
        return _same_table(saying.table, step.owner)
    return _both_named(step, failure)


def _same_table(table: str, owner: str) -> bool:
    """Django's tables are named `app_model`, and its migrations name the model only."""
    return table.lower() == owner.lower() or table.lower().endswith(f"_{owner.lower()}")


def _both_named(step: ContractChange, failure: Failure) -> bool:
    """An error that names nothing is tied by the statement that it came from."""
    texts = [failure.said, *(text for text, s in failure.queries if s.failed)]
    return any(names(step.member, text) and names(step.owner, text) for text in texts)


def _slow(step: ContractChange, failure: Failure, onset_ns: int) -> Broken | None:
    """Queries of the table take several times as long since the onset."""
    asked = [s for text, s in failure.queries if names(step.owner, text)]
    before, after = _durations(asked, onset_ns, late=False), _durations(asked, onset_ns, late=True)
    if len(before) < MIN_QUERIES or len(after) < MIN_QUERIES:
        return None
    early, late = median(before), median(after)
    if late < SLOWER * early:
        return None
    worst = max((s for s in asked if s.start_ns >= onset_ns), key=lambda s: (s.end_ns - s.start_ns, s.span_id))
    return Broken(0.8, "slow", None, worst, early / 1e6, late / 1e6)


def _durations(spans: Sequence[Span], onset_ns: int, *, late: bool) -> list[int]:
    return list(_each(spans, onset_ns, late))


def _each(spans: Sequence[Span], onset_ns: int, late: bool) -> Iterator[int]:
    for span in spans:
        if (span.start_ns >= onset_ns) is late:
            yield span.end_ns - span.start_ns
