"""Metric series: one document a series, a summary to be searched and the points to be read back."""

import statistics
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from retrieval.kinds.base import Kind, Material, Restored, kept, restored
from retrieval.model import Document, Series


def documents(material: Material) -> Iterator[Document]:
    for number, series in enumerate(material.sources.series):
        labels = " ".join(f"{k}={v}" for k, v in sorted(series.labels.items()))
        yield material.document(
            "metric",
            (series.metric, series.labels, series.unit, series.points, series.source),
            title=series.metric,
            text=f"{series.metric} {labels}\n{_summary(series)}",
            time_ns=series.points[-1][0] if series.points else 0,
            service=series.service,
            environment=series.labels.get("environment", ""),
            region=series.labels.get("region", ""),
            source=str(series.source),
            attributes=kept([(number, series)]),
        )


def _summary(series: Series) -> str:
    values = [value for _, value in series.points]
    if not values:
        return "no points"
    unit = f" {series.unit}" if series.unit else ""
    middle = statistics.median(values)
    return f"{len(values)} points, least {min(values):g}, median {middle:g}, greatest {max(values):g}{unit}"


def restore(found: Iterable[Document]) -> Restored:
    """Series as they were; one that was stored in several pieces is put together, a later piece winning a tie."""

    def key(item: tuple[int, Series]) -> Any:
        series = item[1]
        return (series.metric, sorted(series.labels.items()), series.unit, str(series.source.file), series.source.line)

    joined = []
    pieces = sorted(restored(found, Series), key=lambda i: (key(i), i[1].points[-1:], i[0]))
    for _, group in groupby(pieces, key=key):
        members = list(group)
        points = dict(point for _, series in members for point in series.points)
        joined.append((members[0][0], replace(members[0][1], points=tuple(sorted(points.items())))))
    return {"series": joined}


KIND = Kind("metric", documents, restore)
