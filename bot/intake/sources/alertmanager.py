"""Alertmanager's webhook, version 4 (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config).

Unknown keys are accepted (`notification_reason` came with 0.32, `routeLabels` with 0.34) and the version is not
asked for. The top-level `status` is not read: with `max_alerts` it speaks of the alerts that were kept only.
"""

from collections.abc import Mapping
from typing import Any

from bot.intake.sources.base import MAX_REJECTED, Unreadable, label_hash, raw, read_json, text, text_map, time_ns
from retrieval.model import Alert, AlertBatch


class Alertmanager:
    name = "alertmanager"

    def parse(self, body: bytes, headers: Mapping[str, str]) -> AlertBatch:
        value = read_json(body)
        if not isinstance(value, dict):
            raise Unreadable("the body is not a map")
        items = value.get("alerts")
        if not isinstance(items, list):
            raise Unreadable("alerts: a list was expected")
        group = (_lenient(value.get("groupKey")), _lenient(value.get("externalURL")))
        alerts, rejected = [], []
        for number, item in enumerate(items):
            try:
                alerts.append(self._alert(item, f"alerts[{number}]", group))
            except Unreadable as error:
                rejected.append((raw(item), error.reason))
        return AlertBatch(
            source=self.name,
            alerts=tuple(alerts),
            rejected=tuple(rejected[:MAX_REJECTED]),
            truncated=_count(value.get("truncatedAlerts")),
            group_labels=_lenient_map(value.get("groupLabels")),
        )

    def _alert(self, item: Any, where: str, group: tuple[str, str]) -> Alert:
        if not isinstance(item, dict):
            raise Unreadable(f"{where}: a map was expected")
        status = item.get("status")
        if status not in ("firing", "resolved"):
            raise Unreadable(f"{where}.status: firing or resolved was expected")
        labels = text_map(item.get("labels"), f"{where}.labels")
        if not labels:
            raise Unreadable(f"{where}.labels: there are none")
        starts = time_ns(item.get("startsAt"), f"{where}.startsAt")
        ends = time_ns(item.get("endsAt"), f"{where}.endsAt")
        return Alert(
            source=self.name,
            fingerprint=text(item.get("fingerprint"), f"{where}.fingerprint") or label_hash(labels),
            name=labels.get("alertname") or "alert without a name",
            status=status,
            starts_ns=starts,
            ends_ns=ends or None if status == "resolved" else None,
            labels=labels,
            annotations=text_map(item.get("annotations"), f"{where}.annotations"),
            generator_url=text(item.get("generatorURL"), f"{where}.generatorURL"),
            group_key=group[0],
            external_url=group[1],
        )


def _lenient(value: Any) -> str:
    """What only helps grouping must not cost an alert."""
    return text(value, "") if isinstance(value, str) else ""


def _lenient_map(value: Any) -> dict[str, str]:
    try:
        return text_map(value, "")
    except Unreadable:
        return {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 0
