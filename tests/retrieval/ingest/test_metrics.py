"""Metric series, a line each or as Prometheus answered."""

from pathlib import Path

import pytest

from retrieval.ingest.readers import metrics, prometheus

from .folders import CAPTURED, reasons, run, write


def test_a_series_a_line(tmp_path: Path) -> None:
    line = {
        "metric": "orders",
        "labels": {"service": "shop", "code": 500},
        "unit": "1/min",
        "values": [[1741698660, 3], [1741698600, "2.5"]],
    }
    (series,), problems = run(metrics.READER, write(tmp_path, "m.jsonl", line))
    assert reasons(problems) == []
    assert (series.metric, series.unit, series.service, series.labels["code"]) == ("orders", "1/min", "shop", "500")
    assert series.points == ((1741698600000000000, 2.5), (1741698660000000000, 3.0))


def test_nothing_is_skipped_silently_but_the_ways_to_say_nothing(tmp_path: Path) -> None:
    values = [[1741698600, "NaN"], [1741698601, "+Inf"], [1741698602, None], [1741698603, 1], [1741698603, 2]]
    broken = [[1741698604, "x"], ["soon", 1], [1741698605], 7, [1741698606, True]]
    path = write(tmp_path, "m.jsonl", {"metric": "m", "values": values + broken})
    (series,), problems = run(metrics.READER, path)
    assert series.points == ((1741698603000000000, 2.0),)
    assert reasons(problems) == ["m.jsonl:1: 5 of 10 points are no [time, number] and were skipped"]


def test_broken_lines_are_reported(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "m.jsonl",
        "{",
        {"metric": "", "values": []},
        {"metric": "m", "values": 7},
        {"metric": "m", "values": []},
    )
    found, problems = run(metrics.READER, path)
    assert len(found) == 1
    assert [p.source.line for p in problems] == [1, 2, 3]


def test_an_answer_of_query_range() -> None:
    found, problems = run(prometheus.READER, CAPTURED / "prometheus" / "query_range_matrix.json")
    assert reasons(problems) == []
    assert found[0].metric == "query_range_matrix"  # the expression dropped the name
    assert found[0].labels == {"code": "200", "handler": "/api/v1/alerts"}
    assert found[0].points == ((1796079719000000000, 0.0),)
    assert all(list(s.points) == sorted(s.points) for s in found)


@pytest.mark.parametrize(("name", "points"), [("query_vector_nan", 0), ("query_scalar_inf", 0)])
def test_answers_that_say_nothing_have_no_points(name: str, points: int) -> None:
    (series,), problems = run(prometheus.READER, CAPTURED / "prometheus" / f"{name}.json")
    assert (len(series.points), reasons(problems)) == (points, [])


def test_a_vector_keeps_the_metric_s_name(tmp_path: Path) -> None:
    result = [{"metric": {"__name__": "up", "job": "shop"}, "value": [1741698600.5, "1"]}, {"metric": {}}, 7]
    path = write(tmp_path, "up.json", {"status": "success", "data": {"resultType": "vector", "result": result}})
    (series,), problems = run(prometheus.READER, path)
    assert (series.metric, series.labels, series.points) == ("up", {"job": "shop"}, ((1741698600500000000, 1.0),))
    assert reasons(problems) == ["up.json: result 1 holds no values", "up.json: result 2 holds no values"]


def test_what_is_no_answer_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, error = run(prometheus.READER, CAPTURED / "prometheus" / "query_error_400.json")
    assert "is an error of Prometheus: invalid parameter" in error[0].reason
    _, other = run(prometheus.READER, write(tmp_path, "a.json", {"status": "success"}))
    assert "is no answer" in other[0].reason
    _, broken = run(prometheus.READER, write(tmp_path, "b.json", "{"))
    assert "is no JSON" in broken[0].reason
    _, absent = run(prometheus.READER, tmp_path / "c.json")
    assert "can't be read" in absent[0].reason
    monkeypatch.setattr(prometheus, "MAX_BYTES", 10)
    _, large = run(prometheus.READER, write(tmp_path, "d.json", {"status": "success"}))
    assert "larger than 10 bytes" in large[0].reason
