"""`POST /alerts/{source}`: who sends, what was sent, kept before it is answered.

The order is fixed: credentials (401), source (404), size (413), then the body is read, kept durably, and looked at.
What can be read is answered 202; what cannot is answered 400 with the reason, and is nevertheless worked off: kept as a
dead letter and shown raw, once. (Alertmanager takes a 400 as "do not retry in this flush" and sends the same again
after `group_interval`; the same text again changes nothing here, and the reason stands in Alertmanager's log.) An alert
of a batch that cannot be read does not make the batch a 400.
"""

import asyncio
from collections.abc import Callable, Mapping

from aiohttp import web

from bot.incidents.records import Delivery, Records
from bot.intake import body
from bot.intake.access import Gate
from bot.intake.sources import AlertSource, Unreadable
from bot.metrics import Metrics
from retrieval.ports import Clock

MAX_BODY = 2**20
KEPT_HEADERS = ("Content-Type", "User-Agent", "X-Request-Id")


class Intake:
    """Takes webhooks in; `delivered` is called after each durable write."""

    def __init__(
        self,
        records: Records,
        sources: Mapping[str, AlertSource],
        clock: Clock,
        metrics: Metrics,
        delivered: Callable[[], None],
    ) -> None:
        self._records = records
        self._sources = sources
        self._clock = clock
        self._metrics = metrics
        self._delivered = delivered

    async def take(self, request: web.Request, delivery_id: str) -> web.Response:
        source = self._sources.get(request.match_info["source"])
        if source is None:
            return refusal(404, "unknown_source", f"there is no such source; known: {', '.join(sorted(self._sources))}")
        content = await read_body(request, MAX_BODY)
        if isinstance(content, web.Response):
            self._metrics.add("receipts_deliveries_total", {"source": source.name, "outcome": "not_read"})
            return content
        headers = {name: request.headers[name][:200] for name in KEPT_HEADERS if name in request.headers}
        await self._records.keep(
            Delivery(
                id=delivery_id, source=source.name, received_ns=self._clock.now_ns(), headers=headers, body=content
            )
        )
        self._delivered()
        try:
            batch = await asyncio.to_thread(source.parse, content, headers)
        except Unreadable as error:
            self._metrics.add("receipts_deliveries_total", {"source": source.name, "outcome": "unreadable"})
            return refusal(400, "unreadable", f"{error.reason}; kept as {delivery_id}")
        self._metrics.add("receipts_deliveries_total", {"source": source.name, "outcome": "accepted"})
        answer = {"delivery_id": delivery_id, "alerts": len(batch.alerts), "rejected": len(batch.rejected)}
        return web.json_response(answer, status=202)


def refuse_stranger(gate: Gate, request: web.Request) -> web.Response | None:
    """401 with what to send, or None when the request may pass."""
    if gate.allows(request.headers):
        return None
    response = refusal(401, "unauthorized", "send a bearer token or a basic login of the settings (alerts.*)")
    response.headers["WWW-Authenticate"] = 'Basic realm="receipts", charset="UTF-8", Bearer realm="receipts"'
    return response


async def read_body(request: web.Request, limit: int) -> bytes | web.Response:
    """The whole body, decompressed, or the response that refuses it."""
    try:
        return await body.read(request, limit)
    except body.Refused as refused:
        return refusal(refused.status, refused.reason, refused.detail)


def refusal(status: int, reason: str, detail: str) -> web.Response:
    """An error as JSON. `detail` is a sentence of ours, never the text of an exception."""
    return web.json_response({"error": reason, "detail": detail}, status=status)
