"""OTLP metrics in their JSON encoding to points, whatever instrument made them (pure).

Names as in opentelemetry-proto 1.x (metrics.proto). Names of metrics and labels are written as Prometheus writes them
(https://prometheus.io/docs/concepts/data_model/), so that a metric is one and the same whichever way it came.
"""

import re
from collections.abc import Iterator, Mapping
from math import exp2, isfinite
from typing import Any

from msgspec import Struct

from retrieval.ingest.moments import time_ns
from retrieval.ingest.otlp import groups, service_of
from retrieval.ingest.readers.metrics import number
from retrieval.ingest.values import any_value, attributes, first, integer, text

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_:]")
_NO_VALUE = 1  # DataPointFlags: "no recorded value"
_MOST_BUCKETS = 512
_SCALES = range(-10, 21)  # of exponential histograms (OpenTelemetry SDK specification)
_INSTANCE = ("service.instance.id", "k8s.pod.name", "host.name")
_KINDS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")


class Point(Struct, frozen=True, kw_only=True):
    """One data point. `kind` is level (a gauge), total (counted since `start_ns`) or increase (counted from `start_ns`
    to `time_ns`). A distribution has its count as `value`, its `sum`, and counts per bucket; bucket i ends at
    `bounds[i]`, the last one never."""

    metric: str
    kind: str
    time_ns: int
    value: float
    labels: dict[str, str] = {}
    unit: str = ""
    start_ns: int = 0
    sum: float | None = None
    buckets: tuple[int, ...] = ()
    bounds: tuple[float, ...] = ()
    distribution: bool = False


def points(line: Mapping[str, Any]) -> Iterator[Point | str]:
    """The points of one export request; a text says why one could not be used. What the sender marks as "no value"
    (a flag, NaN) is passed over."""
    for resource, _, metric in groups(line, "resourceMetrics", "scopeMetrics", "metrics"):
        name = _NOT_A_NAME.sub("_", text(metric.get("name")))
        kind = next((k for k in _KINDS if isinstance(metric.get(k), dict)), "")
        if not kind:
            continue  # a metric without data, or of a kind that is newer than this reader
        data, held = metric[kind], _of_resource(resource)
        for raw in data.get("dataPoints") or () if isinstance(data.get("dataPoints"), list) else ():
            if not isinstance(raw, dict) or not name:
                yield "is no data point of a named metric"
            else:
                yield from _read(kind, data, raw, Named(name, text(metric.get("unit")), held))


class Named(Struct, frozen=True):
    """What the points of one metric of one resource share."""

    metric: str
    unit: str
    labels: dict[str, str]


def _read(kind: str, data: Mapping[str, Any], raw: Mapping[str, Any], named: Named) -> Iterator[Point | str]:
    at = time_ns(raw.get("timeUnixNano"))
    if at is None:
        yield "a data point without a time"
        return
    if (integer(raw.get("flags")) or 0) & _NO_VALUE:
        return
    given = first(raw, "asDouble", "asInt") if kind in ("gauge", "sum") else raw.get("count", 0)
    value = number(given)
    if value is None or given is None:
        yield "a data point whose value is no number"
        return
    if not isfinite(value):
        return
    labels = {_NOT_A_NAME.sub("_", k): text(v) for k, v in attributes(raw.get("attributes")).items()}
    fields: dict[str, Any] = {
        "metric": named.metric,
        "kind": _kind(kind, data),
        "time_ns": at,
        "start_ns": time_ns(raw.get("startTimeUnixNano")) or 0,
        "labels": {**labels, **named.labels},
        "unit": named.unit,
        "value": value,
    }
    if kind in ("gauge", "sum"):
        yield Point(**fields)
        return
    buckets, bounds = _exponential(raw) if kind == "exponentialHistogram" else _explicit(raw)
    yield Point(**fields, sum=_finite(raw.get("sum")), buckets=buckets, bounds=bounds, distribution=True)
    if kind == "summary":
        yield from _quantiles(raw, fields)


def _kind(kind: str, data: Mapping[str, Any]) -> str:
    """A sum that may fall is a level (an UpDownCounter), unless only its changes are sent."""
    temporality = text(data.get("aggregationTemporality")).removeprefix("AGGREGATION_TEMPORALITY_")
    delta = temporality in ("1", "DELTA")
    if kind == "gauge" or (kind == "sum" and not delta and data.get("isMonotonic") is not True):
        return "level"
    return "increase" if delta else "total"


def _of_resource(resource: Mapping[str, Any]) -> dict[str, str]:
    found = {
        "service": service_of(resource),
        "environment": text(first(resource, "deployment.environment.name", "deployment.environment")),
        "region": text(resource.get("cloud.region")),
        "instance": text(first(resource, *_INSTANCE)),
    }
    return {name: value for name, value in found.items() if value}


def _finite(value: Any) -> float | None:
    found = None if value is None else number(value)
    return found if found is not None and isfinite(found) else None


def _counts(value: Any) -> tuple[int, ...]:
    return tuple(max(integer(v) or 0, 0) for v in value) if isinstance(value, list) else ()


Buckets = tuple[tuple[int, ...], tuple[float, ...]]


def _explicit(raw: Mapping[str, Any]) -> Buckets:
    """No buckets where they do not fit their bounds; count and sum are used all the same."""
    counts, given = _counts(raw.get("bucketCounts")), raw.get("explicitBounds")
    bounds = tuple(_finite(v) for v in given) if isinstance(given, list) else ()
    known = tuple(b for b in bounds if b is not None)
    fit = len(counts) == len(bounds) + 1 <= _MOST_BUCKETS and len(known) == len(bounds) and list(known) == sorted(known)
    return (counts, known) if fit else ((), ())


def _exponential(raw: Mapping[str, Any]) -> Buckets:
    """Bucket i of the positive range is (base^(offset+i), base^(offset+i+1)], base = 2^(2^-scale); what is zero or
    negative counts below."""
    scale, positive = integer(raw.get("scale")) or 0, raw.get("positive")
    below = max(integer(raw.get("zeroCount")) or 0, 0)
    if isinstance(negative := raw.get("negative"), dict):
        below += sum(_counts(negative.get("bucketCounts")))
    if not isinstance(positive, dict) or scale not in _SCALES:
        return (), ()
    counts, offset = _counts(positive.get("bucketCounts")), integer(positive.get("offset")) or 0
    exponents = [(offset + i) * 2.0**-scale for i in range(len(counts) + 1)]
    if len(counts) > _MOST_BUCKETS or any(abs(e) > 1000 for e in exponents):
        return (), ()
    return (below, *counts, 0), tuple(exp2(e) for e in exponents)


def _quantiles(raw: Mapping[str, Any], fields: Mapping[str, Any]) -> Iterator[Point]:
    found = raw.get("quantileValues")
    for entry in found if isinstance(found, list) else ():
        value = _finite(any_value(entry.get("value", 0))) if isinstance(entry, dict) else None
        if value is not None:
            labels = {**fields["labels"], "quantile": text(entry.get("quantile", 0))}
            yield Point(**{**fields, "kind": "level", "value": value, "labels": labels})
