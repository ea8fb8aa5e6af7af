"""What each source reads out of its sender's body."""

import json
from pathlib import Path

import pytest

from bot.intake.sources import Unreadable, registry
from bot.intake.sources.base import time_ns
from bot.settings import Mapped
from retrieval.model import Alert

CAPTURED = Path(__file__).parents[2] / "captured"
ALERTMANAGER = registry()["alertmanager"]
GENERIC = registry()["generic"]


def captured(name: str) -> bytes:
    (path,) = CAPTURED.glob(f"*/{name}*.json")
    return path.read_bytes()


def only(alerts: tuple[Alert, ...]) -> Alert:
    (alert,) = alerts
    return alert


def test_alertmanager_tells_name_service_start_and_group() -> None:
    alert = only(ALERTMANAGER.parse(captured("001"), {}).alerts)

    assert (alert.name, alert.service, alert.severity) == ("HighErrorRate", "checkout", "critical")
    assert alert.starts_ns == 1796078894069967000
    assert alert.ends_ns is None
    assert alert.group_key.startswith("{}/{case=~")
    assert alert.external_url == "http://alertmanager.example.com:9093"


def test_alertmanager_s_year_one_is_no_end_and_a_resolve_has_one() -> None:
    assert only(ALERTMANAGER.parse(captured("024"), {}).alerts).ends_ns == 1796078984071232715


def test_alertmanager_s_top_status_is_not_believed() -> None:
    batch = ALERTMANAGER.parse(captured("043"), {})

    assert [alert.status for alert in batch.alerts] == ["firing", "firing", "resolved"]


def test_alertmanager_says_how_many_it_left_out_and_what_it_grouped_by() -> None:
    batch = ALERTMANAGER.parse(captured("trunc_status_resolved_5"), {})

    assert (batch.truncated, batch.group_labels) == (5, {"alertname": "Crash"})


@pytest.mark.parametrize("value", [-1, True, "5", 1.5, None, [], 10**12])
def test_a_nonsensical_count_of_left_out_alerts_costs_nothing(value: object) -> None:
    body = {**json.loads(captured("001")), "truncatedAlerts": value}

    assert ALERTMANAGER.parse(json.dumps(body).encode(), {}).truncated == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"status": "burning"}, "alerts[0].status: firing or resolved was expected"),
        ({"labels": 5}, "alerts[0].labels: a map was expected"),
        ({"labels": {}}, "alerts[0].labels: there are none"),
        ({"labels": {"a": {}}}, "alerts[0].labels.a: a text was expected"),
        ({"labels": {str(n): "x" for n in range(300)}}, "alerts[0].labels: more than 256 entries"),
        ({"annotations": []}, "alerts[0].annotations: a map was expected"),
        ({"startsAt": "yesterday"}, "alerts[0].startsAt: not a time"),
        ({"startsAt": "2026-13-01T00:00:00Z"}, "alerts[0].startsAt: not a time"),
        ({"startsAt": "9999-01-01T00:00:00Z"}, "alerts[0].startsAt: the time is outside of 2000..2262"),
        ({"startsAt": True}, "alerts[0].startsAt: a time was expected"),
    ],
)
def test_an_alert_that_is_wrong_is_rejected_and_the_reason_names_the_place(
    change: dict[str, object], reason: str
) -> None:
    body = json.loads(captured("001"))
    body["alerts"][0].update(change)

    batch = ALERTMANAGER.parse(json.dumps(body).encode(), {})

    assert batch.alerts == ()
    assert [why for _, why in batch.rejected] == [reason]


def test_an_alert_without_fingerprint_name_or_start_is_still_an_alert() -> None:
    batch = ALERTMANAGER.parse(b'{"alerts":[{"status":"firing","labels":{"job":"api"}}]}', {})

    alert = only(batch.alerts)
    assert (alert.name, alert.service, alert.starts_ns) == ("alert without a name", "api", 0)
    assert len(alert.fingerprint) == 16


def test_lone_surrogates_and_endless_texts_are_tamed() -> None:
    body = {"alerts": [{"status": "firing", "labels": {"alertname": "a\ud800b"}, "annotations": {"d": "x" * 9000}}]}

    alert = only(ALERTMANAGER.parse(json.dumps(body).encode(), {}).alerts)

    assert alert.name == "a\ufffdb"
    assert len(alert.annotations["d"]) == 4096


def test_of_endless_rejects_a_hundred_are_kept() -> None:
    batch = ALERTMANAGER.parse(json.dumps({"alerts": [1] * 500}).encode(), {})

    assert len(batch.rejected) == 100


@pytest.mark.parametrize("body", [b"[]", b'{"alerts": "none"}', b'{"alert": []}'])
def test_a_body_without_a_list_of_alerts_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable):
        ALERTMANAGER.parse(body, {})


def test_the_default_mapping_reads_a_monitor_that_nobody_described() -> None:
    alert = only(GENERIC.parse(captured("monitor_down"), {}).alerts)

    assert (alert.name, alert.status, alert.fingerprint) == ("checkout is slow", "firing", "8812")
    assert (alert.service, alert.severity, alert.environment) == ("checkout", "P2", "prod")
    assert alert.starts_ns == 1796075294 * 10**9
    assert alert.summary == "p99 over 2 s for 10 minutes"
    assert alert.generator_url == "https://monitor.example.com/8812"


def test_the_default_mapping_knows_a_recovery() -> None:
    alert = only(GENERIC.parse(captured("monitor_up"), {}).alerts)

    assert (alert.status, alert.ends_ns) == ("resolved", 1796079600123 * 10**6)
    assert alert.labels == {
        "alertname": "checkout is slow",
        "env": "prod",
        "shard": "3",
        "service": "checkout",
        "severity": "P2",
    }


def test_a_list_is_as_many_alerts_with_their_own_fingerprints() -> None:
    first, second = GENERIC.parse(captured("event_list"), {}).alerts

    assert first.fingerprint != second.fingerprint
    assert first.starts_ns == second.starts_ns == 1796078894 * 10**9


def test_the_settings_map_a_sender_of_their_own() -> None:
    mapping = Mapped(
        alerts="data.hits", name="rule[0].label", status="phase", resolved=["Gone"], label={"service": "where.app"}
    )
    body = {"data": {"hits": [{"rule": [{"label": "R1"}], "phase": "gone", "where": {"app": "cart"}}, {"rule": []}]}}

    batch = registry({"inhouse": mapping})["inhouse"].parse(json.dumps(body).encode(), {})

    assert (only(batch.alerts).name, only(batch.alerts).status, only(batch.alerts).service) == (
        "R1",
        "resolved",
        "cart",
    )
    assert batch.rejected == (('{"rule":[]}', "alert 2: no name under rule[0].label"),)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-11-30T22:48:14.19415Z", 1796078894194150000),
        ("2026-11-30T22:48:14.089734747Z", 1796078894089734747),
        ("2026-11-30 23:48:14+01:00", 1796078894 * 10**9),
        ("2026-11-30T22:48:14", 1796078894 * 10**9),
        ("0001-01-01T00:00:00Z", 0),
        ("", 0),
        (None, 0),
        (1796078894, 1796078894 * 10**9),
        (1796078894.5, 1796078894500000000),
        ("1796078894.25", 1796078894250000000),
        (1796078894123, 1796078894123 * 10**6),
        (1796078894123456, 1796078894123456 * 10**3),
        (1796078894123456789, 1796078894123456789),
    ],
)
def test_times_are_read_to_the_nanosecond(value: object, expected: int) -> None:
    assert time_ns(value, "startsAt") == expected
