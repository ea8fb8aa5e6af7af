"""Who may call `POST /slack/events`: whoever holds the signing secret, and said it within five minutes.

https://docs.slack.dev/authentication/verifying-requests-from-slack. It stands in front of Bolt, which answers a
timestamp that is no number with a traceback and logs the body of every request that fails its check.
"""

import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

MAX_AGE_SECONDS = 300
MAX_BODY = 1024 * 1024
_STAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Inner = Callable[[str, web.Request], Awaitable[web.StreamResponse]]


class TooLarge(Exception):
    """The body is over the cap."""


def stale(headers: Mapping[str, str], now: float) -> str:
    """Why these headers cannot belong to a fresh, signed request; "" when they can. Reads no body."""
    stamp, signature = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if not stamp or not signature:
        return "unsigned"
    if not _STAMP.fullmatch(stamp):
        return "bad timestamp"
    if abs(now - int(stamp)) > MAX_AGE_SECONDS:
        return "stale timestamp"
    return "" if _SIGNATURE.fullmatch(signature) else "bad signature"


def genuine(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Whether the signature fits the body, compared in constant time."""
    base = f"v0:{headers.get('X-Slack-Request-Timestamp', '')}:".encode() + body
    wanted = "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return hmac.compare_digest(wanted, headers.get("X-Slack-Signature", ""))


def guarded(inner: Inner, *, secret: str, clock: Callable[[], float]) -> Handler:
    """The route's handler. `clock` is seconds since the epoch."""

    async def handler(request: web.Request) -> web.StreamResponse:
        if reason := stale(request.headers, clock()):
            return _refused(401, reason)
        try:
            body = await _body(request)
        except TooLarge:
            return _refused(413, "body too large")
        except web.RequestPayloadError:
            return _refused(400, "unreadable body")
        if not genuine(request.headers, body, secret):
            return _refused(401, "bad signature")
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            return _refused(400, "body is not UTF-8")
        return await inner(text, request)

    return handler


async def _body(request: web.Request) -> bytes:
    if (request.content_length or 0) > MAX_BODY:
        raise TooLarge
    read = bytearray()
    async for chunk in request.content.iter_chunked(65_536):
        read += chunk
        if len(read) > MAX_BODY:
            raise TooLarge
    return bytes(read)


def _refused(status: int, reason: str) -> web.Response:
    return web.json_response({"error": reason}, status=status)
