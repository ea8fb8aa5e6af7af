"""OTLP metrics to points: every instrument, both temporalities, and what cannot be used."""

from typing import Any

import pytest

from retrieval.ingest.otlp_metrics import Point, points

START, SECOND = 1_796_079_600 * 10**9, 10**9


def request(*metrics: dict[str, Any], **resource: str) -> dict[str, Any]:
    attributes = [{"key": k.replace("__", "."), "value": {"stringValue": v}} for k, v in resource.items()]
    return {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": [{"metrics": list(metrics)}]}]}


def read(metric: dict[str, Any], **resource: str) -> list[Point]:
    found = list(points(request(metric, **resource)))
    assert all(isinstance(p, Point) for p in found), found
    return [p for p in found if isinstance(p, Point)]


def at(second: int, **fields: Any) -> dict[str, Any]:
    return {"startTimeUnixNano": str(START), "timeUnixNano": str(START + second * SECOND), **fields}


def test_a_gauge_is_a_level_with_prometheus_names_and_its_resource_as_labels() -> None:
    point = at(1, asDouble=0.5, attributes=[{"key": "jvm.pool", "value": {"stringValue": "old"}}])
    (found,) = read(
        {"name": "process.cpu.utilization", "unit": "1", "gauge": {"dataPoints": [point]}},
        service__name="pay", deployment__environment="prod", cloud__region="eu", k8s__pod__name="pay-1",
    )  # fmt: skip

    assert found.metric == "process_cpu_utilization"
    assert found.labels == {
        "jvm_pool": "old", "service": "pay", "environment": "prod", "region": "eu", "instance": "pay-1",
    }  # fmt: skip
    assert (found.kind, found.value, found.time_ns, found.unit) == ("level", 0.5, START + SECOND, "1")


@pytest.mark.parametrize(
    ("temporality", "monotonic", "kind"),
    [
        (2, True, "total"),
        ("AGGREGATION_TEMPORALITY_CUMULATIVE", True, "total"),
        (1, True, "increase"),
        ("AGGREGATION_TEMPORALITY_DELTA", False, "increase"),
        (2, False, "level"),
        (2, None, "level"),
    ],
)
def test_a_sum_is_counted_or_a_level(temporality: object, monotonic: object, kind: str) -> None:
    data = {"aggregationTemporality": temporality, "isMonotonic": monotonic, "dataPoints": [at(1, asInt="7")]}
    (found,) = read({"name": "orders", "sum": data})

    assert (found.kind, found.value) == (kind, 7.0)


def test_a_histogram_keeps_count_sum_and_buckets() -> None:
    point = at(1, count="6", sum=3.5, bucketCounts=["1", 2, "3"], explicitBounds=[0.5, 1])
    (found,) = read({"name": "d", "histogram": {"aggregationTemporality": 2, "dataPoints": [point]}})

    assert (found.value, found.sum, found.buckets, found.bounds) == (6.0, 3.5, (1, 2, 3), (0.5, 1.0))
    assert found.distribution


@pytest.mark.parametrize(
    "wrong",
    [
        {"bucketCounts": [1, 2], "explicitBounds": [0.5, 1]},
        {"bucketCounts": [1, 2, 3], "explicitBounds": [1, 0.5]},
        {"bucketCounts": [1, 2, 3], "explicitBounds": ["x", 0.5]},
        {"bucketCounts": "x", "explicitBounds": None},
    ],
)
def test_buckets_that_do_not_fit_are_left_out_and_the_count_is_used(wrong: dict[str, Any]) -> None:
    (found,) = read({"name": "d", "histogram": {"dataPoints": [at(1, count=6, **wrong)]}})

    assert (found.value, found.buckets) == (6.0, ())


def test_an_exponential_histogram_becomes_buckets_with_bounds() -> None:
    point = at(1, count="7", scale=1, zeroCount="1", positive={"offset": 2, "bucketCounts": ["4", "2"]})
    (found,) = read({"name": "d", "exponentialHistogram": {"aggregationTemporality": 1, "dataPoints": [point]}})

    assert found.buckets == (1, 4, 2, 0)
    assert found.bounds == pytest.approx((2.0, 2**1.5, 4.0))


@pytest.mark.parametrize("wrong", [{"scale": 2**31 - 1}, {"scale": -(2**31)}, {"scale": 0, "offset": 2**31}])
def test_an_exponential_histogram_beyond_numbers_has_no_buckets(wrong: dict[str, int]) -> None:
    positive = {"offset": wrong.pop("offset", 0), "bucketCounts": [1]}
    (found,) = read({"name": "d", "exponentialHistogram": {"dataPoints": [at(1, count=1, positive=positive, **wrong)]}})

    assert (found.value, found.buckets) == (1.0, ())


def test_a_summary_gives_its_count_and_its_quantiles_as_levels() -> None:
    quantiles = [{"quantile": 0.5, "value": 2.0}, {"quantile": 0.99, "value": "NaN"}, "broken"]
    count, middle = read({"name": "d", "summary": {"dataPoints": [at(1, count=3, sum=6.0, quantileValues=quantiles)]}})

    assert (count.kind, count.value, count.sum) == ("total", 3.0, 6.0)
    assert (middle.kind, middle.value, middle.labels["quantile"]) == ("level", 2.0, "0.5")


def test_what_is_no_value_is_passed_over_and_what_is_no_point_is_told() -> None:
    data = [at(1, asDouble="NaN"), at(2, asInt=1, flags=1), {"asInt": 1}, at(3), at(4, asInt="x"), 5, at(5, asInt=0)]
    found = list(points(request({"name": "g", "gauge": {"dataPoints": data}}, {"name": "new", "later": {}})))

    assert [p.value for p in found if isinstance(p, Point)] == [0.0]
    assert sorted(p for p in found if isinstance(p, str)) == [
        "a data point whose value is no number",
        "a data point whose value is no number",
        "a data point without a time",
        "is no data point of a named metric",
    ]
