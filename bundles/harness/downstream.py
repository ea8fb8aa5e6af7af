"""What the service asked other services during the failure, and what they answered (pure, for every language)."""

import re
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from bundles.harness.flat import embedded_json, flatten, parse_json
from bundles.harness.occurrences import Occurrence
from retrieval.model import LogRecord, Span

_BODY_KEYS = (
    "http.response.body.content",
    "http.response.body",
    "http.response.body.text",
    "http.response_body",
    "response.body",
    "response.data",
    "response_body",
)
# What a service's own log line calls the answer that it got.
_TOLD_BODIES = (
    *_BODY_KEYS,
    "response",
    "answer",
    "body",
    "response_text",
    "text",
    "content",
    "json",
    "payload",
    "data",
)
_URLS = ("url.full", "http.url", "url", "request.url", "uri", "endpoint")
_METHODS = ("http.request.method", "http.method", "method", "verb")
_STATUSES = ("http.response.status_code", "http.status_code", "status_code", "status", "response.status", "code")
_LINE = re.compile(r"(?:\b(?P<method>GET|POST|PUT|PATCH|DELETE|HEAD) )?(?P<url>https?://[^\s\"'<>,;)\]}]+)")
_STATUS = re.compile(r"(?<![\w.:/-])[1-5]\d\d(?![\w.:/-])")
MAX_STUBS = 40


class Downstream(Struct, frozen=True):
    """`stubs` are the recorded calls in order: {method, url, status, body}; `bodiless` those whose
    answer had a body that was not recorded."""

    stubs: tuple[dict[str, Any], ...] = ()
    bodiless: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()


def downstream_of(occurrence: Occurrence, service: str) -> Downstream:
    """The HTTP calls that the service made during a failure: its client spans, with what its own log lines tell of
    their answers; and calls that only a log line tells."""
    told = _told(occurrence, service)
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
        body = _body(flat, _BODY_KEYS) or _logged_body(occurrence, span)
        line = next((t for t in told if t[0]["url"] == url), None)
        if line is not None:
            told.remove(line)
            if body is None:
                body = line[0]["body"]
                cited.append(line[1])
        stub = {"method": method, "url": url, "status": span.http_status, "body": body}
        if span.http_status and span.http_status != 204 and body is None:
            bodiless.append(f"{method} {url}")
        stubs.append(stub)
        cited.append(str(span.source))
    for stub, source in told[: MAX_STUBS - len(stubs)]:
        stubs.append(stub)
        cited.append(source)
    return Downstream(tuple(stubs), tuple(dict.fromkeys(bodiless)), tuple(dict.fromkeys(cited)))


def _told(occurrence: Occurrence, service: str) -> list[tuple[dict[str, Any], str]]:
    """Answers in the service's own log lines: an absolute address that is not the request's own, and a document."""
    own = {urlsplit(_pick(flatten(s.attributes), ("url.path", "http.target"))).path for s in occurrence.spans}
    found = []
    for log in (*occurrence.logs, *occurrence.correlated):
        stub = _told_by(log) if log.service == service else None
        if stub and urlsplit(stub["url"]).path not in own:
            found.append((stub, str(log.source)))
    return found


def _told_by(log: LogRecord) -> dict[str, Any] | None:
    flat = flatten(log.attributes)
    line = _LINE.search(log.body)
    url = _pick(flat, _URLS) or (line["url"] if line else "")
    if not urlsplit(url).netloc:
        return None
    body = _body(flat, _TOLD_BODIES)
    documents = [value for _, value in embedded_json(log.body)] if body is None else []
    if body is None and not documents:
        return None
    status = _pick(flat, _STATUSES) or next(iter(_STATUS.findall(log.body.replace(url, ""))), "")
    return {
        "method": (_pick(flat, _METHODS) or (line["method"] if line else "") or "GET").upper(),
        "url": url,
        "status": int(status) if status.isdigit() and len(status) == 3 else 200,
        "body": body if body is not None else documents[-1],
    }


def _pick(flat: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((str(flat[k]) for k in keys if flat.get(k) not in (None, "")), "")


def _body(flat: dict[str, Any], keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = flat.get(key)
        if value not in (None, ""):
            parsed = parse_json(value)
            return parsed if parsed is not None else value
    return None


def _logged_body(occurrence: Occurrence, span: Span) -> Any:
    """A log record of the call's own span that holds a response body."""
    for log in occurrence.logs:
        if log.span_id == span.span_id and log.span_id:
            body = _body(flatten(log.attributes), _BODY_KEYS)
            if body is not None:
                return body
    return None
