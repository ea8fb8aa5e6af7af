"""`POST /v1/traces`, `/v1/logs`, `/v1/metrics`: answered when what was sent is on disk.

The order is fixed: credentials (401), content type and encoding (415), size (413), whether more can be taken (503),
then the body is read, read as OTLP (400), redacted, and kept. A request whose records are good in part is a success
that says how many were rejected. All trouble of ours is 503 with `Retry-After`: exporters try that again, while a 500
makes them drop what they have (https://opentelemetry.io/docs/specs/otlp/#failures-1).
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web
from msgspec import Struct

from bot.intake import body
from bot.intake.access import Gate
from bot.intake.body import Refused
from bot.intake.otlp import encoding
from bot.intake.otlp.collector import Collector, Options
from bot.intake.otlp.encoding import CONTENT_TYPES, JSON, Signal, Unreadable
from bot.intake.otlp.records import take
from bot.intake.otlp.sorting import notable
from bot.intake.otlp.spool import Request, digest_of, packed
from bot.metrics import Metrics
from retrieval.errors import StoreError

log = logging.getLogger(__name__)
MAX_BODY = 64 * 2**20  # what the specification advises, before and after decompression
IN_FLIGHT = 4 * MAX_BODY  # bytes of all requests at once
AT_ONCE = 2  # requests that are decoded at the same time
RETRY_S = 5
# google.rpc.Code (https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto)
_CODES = {400: 3, 401: 16, 408: 4, 413: 8, 415: 3, 503: 14}


class Prepared(Struct, frozen=True):
    """A request that can be kept, and what to answer."""

    request: Request
    accepted: int
    rejected: int
    reason: str


class Telemetry:
    """Takes OTLP requests in."""

    def __init__(self, collector: Collector, metrics: Metrics) -> None:
        self.collector = collector
        self._metrics = metrics
        self._decoding = asyncio.Semaphore(AT_ONCE)
        self._in_flight = 0

    async def take(self, request: web.Request, signal: Signal) -> web.Response:
        content_type = request.content_type
        try:
            if content_type not in CONTENT_TYPES:
                raise Refused(415, "unsupported_type", f"send one of {', '.join(CONTENT_TYPES)}")
            prepared = await self._prepared(request, signal, content_type)
            new = await self.collector.accept(prepared.request)
        except Refused as refused:
            return refusal(content_type, refused.status, refused.detail)
        except StoreError:
            log.exception("telemetry cannot be kept")
            return refusal(content_type, 503, "it cannot be kept now; send it again")
        self._count(signal, "accepted" if new else "repeated", prepared.accepted)
        self._count(signal, "rejected", prepared.rejected)
        text = encoding.answer(signal, content_type, prepared.rejected, prepared.reason)
        return web.Response(body=text, content_type=content_type)

    async def _prepared(self, request: web.Request, signal: Signal, content_type: str) -> Prepared:
        if self.collector.behind:
            raise Refused(503, "behind", "too much waits to be stored; send it again later")
        with self._charging() as charge:
            content = await body.read(request, MAX_BODY, charge)
            async with self._decoding:
                try:
                    return await asyncio.to_thread(prepare, signal, content_type, content, self.collector.options)
                except Unreadable as error:
                    raise Refused(400, "unreadable", str(error)) from None

    @contextmanager
    def _charging(self) -> Iterator[body.Charge]:
        """Counts what one request holds in memory; refuses it when all together hold too much."""
        held = 0

        def charge(size: int) -> None:
            nonlocal held
            if self._in_flight + size > IN_FLIGHT:
                raise Refused(503, "busy", "too much arrives at once; send it again later")
            held += size
            self._in_flight += size

        try:
            yield charge
        finally:
            self._in_flight -= held

    def _count(self, signal: Signal, outcome: str, count: int) -> None:
        if count:
            self._metrics.add("receipts_telemetry_records_total", {"signal": str(signal), "outcome": outcome}, count)


def prepare(signal: Signal, content_type: str, content: bytes, options: Options) -> Prepared:
    """A body to records on their way to the spool (pure but for the clock).

    Raises: Unreadable.
    """
    received_ns = options.clock.now_ns()
    taken = take(signal, encoding.request(signal, content_type, content), options.redactor, received_ns)
    kept = Request(
        signal=signal,
        received_ns=received_ns,
        digest=digest_of(signal, content),
        body=packed(taken.records),
        notable=notable(taken.records, options.slow_ns),
    )
    return Prepared(kept, len(taken.records), taken.count, taken.reason)


def refuse_stranger(gate: Gate, request: web.Request) -> web.Response | None:
    """401, or None when the request may pass."""
    if gate.allows(request.headers):
        return None
    response = refusal(request.content_type, 401, "send a bearer token or a basic login of the settings (alerts.*)")
    response.headers["WWW-Authenticate"] = 'Basic realm="receipts", charset="UTF-8", Bearer realm="receipts"'
    return response


def refusal(content_type: str, status: int, text: str) -> web.Response:
    """A Status in the request's own encoding; JSON where that is neither."""
    answered = content_type if content_type in CONTENT_TYPES else JSON
    said = encoding.status(answered, _CODES[status], text)
    response = web.Response(status=status, body=said, content_type=answered)
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_S)
    if status == 415:
        response.headers["Accept-Encoding"] = ", ".join(body.ENCODINGS)
    return response
