"""Deploys, flags and configuration."""

from pathlib import Path

from retrieval.ingest.readers.changes import CONFIG, DEPLOYS, FLAGS

from .folders import reasons, run, write

SHA, BEFORE = "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334", "0" * 39 + "1"


def test_a_deploy(tmp_path: Path) -> None:
    line = {
        "service": "shop",
        "git_sha": SHA.upper(),
        "image_digest": "sha256:ab",
        "deployment_id": "dep-1",
        "region": "eu",
        "environment": "production",
        "started_at": "2025-03-11T13:10:08Z",
        "finished_at": "2025-03-11T13:11:08Z",
        "percent": 25,
        "previous_sha": BEFORE,
    }
    (deploy,), problems = run(DEPLOYS, write(tmp_path, "deploys.jsonl", line))
    assert reasons(problems) == []
    assert (deploy.service, deploy.git_sha, deploy.previous_sha, deploy.percent) == ("shop", SHA, BEFORE, 25.0)
    assert deploy.finished_ns - deploy.started_ns == 60_000_000_000
    assert (deploy.region, deploy.environment, deploy.deployment_id) == ("eu", "production", "dep-1")
    assert str(deploy.source) == "deploys.jsonl:1"


def test_a_percentage_that_is_none_is_left_out(tmp_path: Path) -> None:
    lines = [
        {"service": "shop", "git_sha": SHA, "started_at": 1741698608, "percent": p} for p in (None, "x", 140, "25")
    ]
    deploys, _ = run(DEPLOYS, write(tmp_path, "deploys.jsonl", *lines))
    assert [d.percent for d in deploys] == [None, None, None, 25.0]


def test_flags_keep_the_type_of_their_value(tmp_path: Path) -> None:
    lines = [{"at": "2025-03-11T13:10:08Z", "flag": "f", "value": v} for v in (True, "10%", None, {"a": 1})]
    flags, problems = run(FLAGS, write(tmp_path, "flags.jsonl", *lines))
    assert reasons(problems) == []
    assert [f.value for f in flags] == [True, "10%", None, {"a": 1}]


def test_configuration_is_text(tmp_path: Path) -> None:
    lines = [{"at": 1741698608, "service": "shop", "key": "k", "value": v} for v in ("x", 7, True, {"a": [1]})]
    changes, _ = run(CONFIG, write(tmp_path, "config.jsonl", *lines))
    assert [c.value for c in changes] == ["x", "7", "true", '{"a":[1]}']


def test_broken_lines_are_reported_and_the_rest_is_used(tmp_path: Path) -> None:
    for reader, good in (
        (DEPLOYS, {"service": "shop", "git_sha": SHA, "started_at": 1741698608}),
        (FLAGS, {"at": 1741698608, "flag": "f", "value": 1}),
        (CONFIG, {"at": 1741698608, "key": "k", "value": 1}),
    ):
        records, problems = run(reader, write(tmp_path, "x.jsonl", "{", {"service": "shop"}, good))
        assert len(records) == 1
        assert [p.source.line for p in problems] == [1, 2]
        assert "expected at least" in problems[1].reason
