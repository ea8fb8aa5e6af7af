"""What the service asked other services during the failure, and what they answered (pure, for every language)."""

from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from bundles.harness.flat import flatten, parse_json
from bundles.harness.occurrences import Occurrence
from retrieval.model import Span

_BODY_KEYS = (
    "http.response.body.content",
    "http.response.body",
    "http.response.body.text",
    "http.response_body",
    "response.body",
    "response.data",
    "response_body",
)
MAX_STUBS = 40


class Downstream(Struct, frozen=True):
    """`stubs` are the recorded calls in order: {method, url, status, body}; `bodiless` those whose
    answer had a body that was not recorded."""

    stubs: tuple[dict[str, Any], ...] = ()
    bodiless: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()


def downstream_of(occurrence: Occurrence, service: str) -> Downstream:
    """The HTTP calls that the service's own client spans recorded in the trace of a failure."""
    stubs: list[dict[str, Any]] = []
    bodiless: list[str] = []
    cited: list[str] = []
    for span in occurrence.spans:
        if span.service != service or span.kind != "client" or len(stubs) == MAX_STUBS:
            continue
        flat = flatten(span.attributes)
        url = str(flat.get("url.full") or flat.get("http.url") or "")
        if not urlsplit(url).netloc:
            continue
        method = str(flat.get("http.request.method") or flat.get("http.method") or "GET").upper()
        body = _body(flat) or _logged_body(occurrence, span)
        stub = {"method": method, "url": url, "status": span.http_status, "body": body}
        if span.http_status and span.http_status != 204 and body is None:
            bodiless.append(f"{method} {url}")
        stubs.append(stub)
        cited.append(str(span.source))
    return Downstream(tuple(stubs), tuple(dict.fromkeys(bodiless)), tuple(dict.fromkeys(cited)))


def _body(flat: dict[str, Any]) -> Any:
    for key in _BODY_KEYS:
        value = flat.get(key)
        if value not in (None, ""):
            parsed = parse_json(value)
            return parsed if parsed is not None else value
    return None


def _logged_body(occurrence: Occurrence, span: Span) -> Any:
    """A log record of the call's own span that holds a response body."""
    for log in occurrence.logs:
        if log.span_id == span.span_id and log.span_id:
            body = _body(flatten(log.attributes))
            if body is not None:
                return body
    return None
