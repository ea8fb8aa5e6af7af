"""Alertmanager's own API, asked for the alerts that `max_alerts` cut off a delivery.

GET /api/v2/alerts (https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml). With `max_alerts` a body
may say "resolved" while five alerts that it left out still fire.
"""

import asyncio
import json
import logging
from typing import Any

import aiohttp
from msgspec.structs import replace

from bot.intake.sources.base import MAX_LABELS, Unreadable, text, text_map, time_ns
from retrieval.model import Alert, AlertBatch

log = logging.getLogger(__name__)
TIMEOUT_S = 5.0
MAX_ANSWER = 16 * 2**20
MAX_ALERTS = 2000


class AlertmanagerApi:
    def __init__(self, url: str) -> None:
        self._url = f"{url}/api/v2/alerts"

    async def complete(self, batch: AlertBatch) -> AlertBatch:
        """The batch with the firing alerts of its group that were left out; `truncated` becomes 0 when that worked."""
        if not batch.alerts:
            return batch
        try:
            items = await self._ask(batch.group_labels)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            log.warning("alerts left out of a delivery could not be fetched: %s", type(error).__name__)
            return batch
        return merged(batch, items)

    async def _ask(self, group_labels: dict[str, str]) -> list[Any]:
        filters = [("silenced", "false"), ("inhibited", "false")]
        for name, value in sorted(group_labels.items()):
            filters.append(("filter", f"{name}={json.dumps(value, ensure_ascii=False)}"))
        limit = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(self._url, params=filters, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise ValueError(f"status {response.status}")
            body = await response.content.read(MAX_ANSWER + 1)
            while not response.content.at_eof() and len(body) <= MAX_ANSWER:
                body += await response.content.read(MAX_ANSWER + 1 - len(body))
        if len(body) > MAX_ANSWER:
            raise ValueError("the answer is too large")
        items = await asyncio.to_thread(json.loads, body)
        if not isinstance(items, list):
            raise ValueError("the answer is no list")
        return items


def merged(batch: AlertBatch, items: list[Any]) -> AlertBatch:
    """`batch` and what Alertmanager says fires now. Pure. An item that cannot be read is passed over: it was in no
    delivery, and the next one tells of it."""
    known = {alert.fingerprint for alert in batch.alerts if alert.status == "firing"}
    found: dict[str, Alert] = {}
    for item in items[:MAX_ALERTS]:
        alert = _alert(item, batch.alerts[0])
        if alert is not None and alert.fingerprint not in known:
            found[alert.fingerprint] = alert
    kept = [alert for alert in batch.alerts if alert.fingerprint not in found]
    return replace(batch, alerts=(*kept, *found.values()), truncated=max(len(items) - MAX_ALERTS, 0))


def _alert(item: Any, like: Alert) -> Alert | None:
    if not isinstance(item, dict):
        return None
    try:
        labels = text_map(item.get("labels"), "labels")
        fingerprint = text(item.get("fingerprint"), "fingerprint")
        starts_ns = time_ns(item.get("startsAt"), "startsAt")
        annotations = text_map(item.get("annotations"), "annotations")
        generator_url = text(item.get("generatorURL"), "generatorURL")
    except Unreadable:
        return None
    if not (0 < len(labels) <= MAX_LABELS and fingerprint):
        return None
    return replace(
        like,
        fingerprint=fingerprint,
        name=labels.get("alertname") or "alert without a name",
        status="firing",
        starts_ns=starts_ns,
        ends_ns=None,
        labels=labels,
        annotations=annotations,
        generator_url=generator_url,
    )
