"""Around every request: an id, a count, and an answer for what was not foreseen."""

import logging
import re
import secrets
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from bot.intake.routes import refusal
from bot.metrics import Metrics
from bot.model import UnknownIncident
from retrieval.errors import RetrievalError

log = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
REQUEST_ID = "X-Request-Id"
_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_SECURITY = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


def observed(metrics: Metrics) -> Middleware:
    """The middleware: what a handler raises becomes a JSON error with the request's id, never the exception's text."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get(REQUEST_ID, "")
        request_id = given if _SAFE_ID.fullmatch(given) else secrets.token_hex(8)
        response = await _answer(request, handler, request_id, metrics)
        if not response.prepared:
            response.headers[REQUEST_ID] = request_id
            for name, value in _SECURITY.items():
                response.headers.setdefault(name, value)
        resource = request.match_info.route.resource
        route = resource.canonical if resource else "other"
        labels = {"method": _method(request.method), "route": route, "status": str(response.status)}
        metrics.add("receipts_http_requests_total", labels)
        return response

    return middleware


async def _answer(request: web.Request, handler: Handler, request_id: str, metrics: Metrics) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        response = refusal(error.status, (error.reason or "error").lower().replace(" ", "_"), f"request {request_id}")
        if allow := error.headers.get("Allow"):
            response.headers["Allow"] = allow
        return response
    except UnknownIncident:
        return refusal(404, "unknown_incident", "there is no incident of this id")
    except RetrievalError as error:
        log.exception("request %s failed", request_id)
        metrics.add("receipts_internal_errors_total", {"where": "http"})
        return refusal(503, str(error.reason), f"try again; request {request_id}")
    except Exception:
        # The last line: what nobody foresaw is logged whole and shown as an id only.
        log.exception("request %s failed", request_id)
        metrics.add("receipts_internal_errors_total", {"where": "http"})
        return refusal(500, "internal", f"it is in the server's log under request {request_id}")


def _method(method: str) -> str:
    """Methods are free text on the wire; as a label they are a closed set."""
    return method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH") else "other"
