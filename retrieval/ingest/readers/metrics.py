"""Metrics: one series a line, `{metric, labels{}, unit?, values[[unix_s, v]]}`."""

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.jsonlines import objects
from retrieval.ingest.moments import time_ns
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.values import text
from retrieval.model import Series, SourceRef


def read(file: SourceFile, intake: Intake) -> Iterator[Series]:
    for number, line in objects(file, intake):
        name = line.get("metric", line.get("name"))
        values = line.get("values", line.get("points"))
        if not isinstance(name, str) or not name or not isinstance(values, list):
            intake.problem(
                file.name, number, 'is no series; expected {"metric": name, "values": [[unix_s, value], ...]}'
            )
            continue
        found, dropped = points(values)
        if dropped:
            intake.problem(
                file.name, number, f"{dropped} of {len(values)} points are no [time, number] and were skipped"
            )
        yield Series(
            metric=name,
            labels=labels_of(line.get("labels")),
            unit=text(line.get("unit")),
            points=found,
            source=SourceRef(file.name, number),
        )


def labels_of(value: Any) -> dict[str, str]:
    return {text(k): text(v) for k, v in value.items()} if isinstance(value, Mapping) else {}


def points(values: Iterable[Any]) -> tuple[tuple[tuple[int, float], ...], int]:
    """Ascending points, the last of several at one time, and how many were no point. NaN and infinities are a way to
    say "nothing" (Prometheus divides by zero into NaN): skipped, but not counted as broken."""
    found: dict[int, float] = {}
    broken = 0
    for pair in values:
        at = time_ns(pair[0]) if isinstance(pair, list | tuple) and len(pair) == 2 else None
        value = number(pair[1]) if at is not None else None
        if at is None or value is None:
            broken += 1
        elif isfinite(value):
            found[at] = value
    return tuple(sorted(found.items())), broken


def number(value: Any) -> float | None:
    """A sample value; Prometheus writes them as text. `null` is a gap, as NaN is."""
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


READER = Reader(kind="metrics", part="series", patterns=("metrics/**/*.jsonl",), read=read)
