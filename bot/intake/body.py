"""A request's body, whole or refused: read under a limit, decompressed here under the same limit.

The server's own decompression is off (`bot.app.runner_of`): it passes on a gzip body that was cut off as a whole one.
"""

import asyncio
import zlib
from collections.abc import Callable

from aiohttp import web
from aiohttp.client_exceptions import ClientPayloadError
from aiohttp.http_exceptions import HttpProcessingError

READ_S = 20.0
ENCODINGS = ("gzip", "deflate")
_INLINE = 4 * 1024  # bytes; unpacking more is done in a thread
Charge = Callable[[int], None]


class Refused(Exception):
    """Why a body is not taken: the answer's status, a word for programs, a sentence of ours for people."""

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.detail = detail


def too_large(limit: int) -> Refused:
    return Refused(413, "too_large", f"the body is larger than {limit} bytes")


def encoding_of(request: web.Request) -> str:
    """`gzip`, `deflate` or "" for a plain body.

    Raises: Refused (415).
    """
    named = request.headers.get("Content-Encoding", "").strip().lower().removeprefix("x-")
    if named in ("", "identity"):
        return ""
    if named not in ENCODINGS:
        raise Refused(415, "unsupported_encoding", f"send the body plain or with one of {', '.join(ENCODINGS)}")
    return named


async def read(request: web.Request, limit: int, charge: Charge = lambda size: None) -> bytes:
    """The whole body, decompressed; neither what arrives nor what comes out of it may exceed `limit` bytes.

    `charge` is told of the bytes as they come to be held, and may refuse them.

    Raises: Refused (400, 408, 413, 415, what `charge` raises).
    """
    encoding = encoding_of(request)
    if (request.content_length or 0) > limit:
        raise too_large(limit)
    raw = await _raw(request, limit, charge)
    if not encoding:
        return raw
    if len(raw) <= _INLINE:
        found = unpacked(raw, encoding, limit)
    else:
        found = await asyncio.to_thread(unpacked, raw, encoding, limit)
    charge(len(found))
    return found


async def _raw(request: web.Request, limit: int, charge: Charge) -> bytes:
    found = bytearray()
    try:
        async with asyncio.timeout(READ_S):
            while part := await request.content.readany():
                charge(len(part))
                found += part
                if len(found) > limit:
                    raise too_large(limit)
    except TimeoutError:
        raise Refused(408, "too_slow", "the body did not arrive in time") from None
    except (ClientPayloadError, HttpProcessingError, web.RequestPayloadError, ConnectionError):
        raise broken() from None
    return bytes(found)


def broken() -> Refused:
    return Refused(400, "broken_body", "the body is not encoded as its headers say, or it is cut off")


def unpacked(raw: bytes, encoding: str, limit: int) -> bytes:
    """The content of a gzip (RFC 1952, one or more members) or deflate (RFC 1950, or bare RFC 1951) body.

    Raises: Refused: 400 when it is damaged or ends before its end, 413 when it grows beyond `limit` bytes.
    """
    if not raw:
        return raw
    found = bytearray()
    while raw:
        decoder = zlib.decompressobj(_window(raw, encoding))
        try:
            found += decoder.decompress(raw, limit + 1 - len(found))
        except zlib.error:
            raise broken() from None
        if len(found) > limit:
            raise too_large(limit)
        if not decoder.eof:
            raise broken()
        raw = decoder.unused_data if encoding == "gzip" else b""
    return bytes(found)


def _window(raw: bytes, encoding: str) -> int:
    """zlib's `wbits`; a zlib header is a multiple of 31 that names method 8, which no sender's bare deflate begins with
    by more than chance."""
    if encoding == "gzip":
        return 31
    return 15 if len(raw) > 1 and raw[0] & 15 == 8 and (raw[0] << 8 | raw[1]) % 31 == 0 else -15
