"""The HTTP request that failed, put together from every record that saw it (pure, for every language).

The service's own server span is the best witness, then the client span that called it, then access logs and the error
tracker; each part (query, headers, body) is taken from the best witness that holds it.
"""

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct, field

from bundles.harness.flat import embedded_json, flatten, parse_json
from bundles.harness.occurrences import Occurrence
from retrieval.model import LogRecord, SourceRef, Span

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
BODY_METHODS = ("POST", "PUT", "PATCH")
_LINE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (?:https?://[^/\s\"']+)?(/[^\s\"'>\]]*)")
_FLASK = re.compile(r"Exception on (/\S*) \[(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\]")
_REQUEST_REPR = re.compile(
    r"<(?:\w+Request|Request)(?: |:)\s*(?:(?P<m1>[A-Z]+):? )?"
    r"'?(?P<url>(?:https?://[^/\s']+)?/[^\s'>]*)'?(?: \[(?P<m2>[A-Z]+)\])?"
)
# OpenTelemetry semantic conventions (HTTP, current and before 1.21), ECS, Sentry's request interface, access logs.
_URL_KEYS = ("url.full", "http.url", "request.url", "url.original", "http.request.url", "url", "uri", "request_uri")
_PATH_KEYS = (
    "http.target",
    "url.path",
    "request.path",
    "http.path",
    "http.request.path",
    "path",
    "request_path",
    "target",
)
_QUERY_KEYS = ("url.query", "request.query_string", "query_string", "http.query", "query", "http.request.query", "args")
_METHOD_KEYS = ("http.request.method", "http.method", "request.method", "method", "verb", "request_method")
_BODY_KEYS = (
    "http.request.body.content",
    "http.request.body",
    "http.request.body.text",
    "http.request_body",
    "request.body",
    "request.data",
    "request.json",
    "request_body",
    "requestBody",
    "request_payload",
    "body",
    "payload",
    "json",
    "data",
    "form",
)
_SIZE_KEYS = (
    "http.request.body.size",
    "http.request_content_length",
    "http.request.body.bytes",
    "request.headers.Content-Length",
)
_STATUS_KEYS = ("http.response.status_code", "http.status_code", "status", "status_code", "response.status")
_HEADER_PREFIXES = ("http.request.header.", "request.headers.", "http.request.headers.", "headers.")
_LEFT_OUT = {
    "host",
    "content-length",
    "connection",
    "accept-encoding",
    "traceparent",
    "tracestate",
    "cookie",
    "authorization",
    "x-forwarded-for",
    "x-real-ip",
    "forwarded",
    "transfer-encoding",
    "baggage",
    "te",
    "upgrade",
}
_NOT_CAPTURED = ("", "[Filtered]", "[REDACTED]", "<redacted>", "None", "{}", "[]")


class Request(Struct, frozen=True, kw_only=True):
    """What is replayed. `body` is None when none was recorded; `empty` tells that it was recorded to be empty."""

    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    empty: bool = False
    host: str = ""
    status: int = 0
    citations: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}" + (f"?{self.query}" if self.query else "")

    @property
    def shape(self) -> tuple[Any, ...]:
        """Requests of one shape differ in values only."""
        names = tuple(sorted({k for k, _ in parse_qsl(self.query, keep_blank_values=True)}))
        keys = tuple(sorted(self.body)) if isinstance(self.body, dict) else type(self.body).__name__
        return (self.method, re.sub(r"\d+|[0-9a-f]{8,}", "#", self.path), names, keys)


class _Sighting(Struct, frozen=True, kw_only=True):
    rank: int
    method: str
    path: str
    query: str
    host: str
    status: int
    headers: dict[str, str]
    body: Any
    empty: bool
    source: SourceRef


def request_of(occurrence: Occurrence, service: str, peers: tuple[LogRecord, ...] = ()) -> Request | None:
    """The request behind a failure, or None when nothing names its method and path. `peers` are untraced access-log
    records near it, the worst witnesses."""
    seen = sorted(_sightings(occurrence, service, peers), key=lambda s: (s.rank, str(s.source)))
    located = [s for s in seen if s.path]
    if not located:
        return None
    best = located[0]
    method = best.method or next((s.method for s in located if s.method and _same(s.path, best.path)), "")
    if not method:
        return None
    same = [s for s in seen if not s.path or (_same(s.path, best.path) and s.method in ("", method))]
    used = [best]

    def first(name: str) -> Any:
        found = next((s for s in same if getattr(s, name)), None)
        if found is None:
            return None
        used.append(found)
        return getattr(found, name)

    headers = {k: v for s in reversed(same) for k, v in s.headers.items()}
    used += [s for s in same if s.headers]
    return Request(
        method=method,
        path=best.path,
        query=first("query") or "",
        headers=dict(sorted(headers.items())),
        body=first("body") if method not in ("GET", "HEAD", "OPTIONS") else None,
        empty=any(s.empty for s in same),
        host=first("host") or "",
        status=first("status") or 0,
        citations=tuple(dict.fromkeys(str(s.source) for s in used)),
    )


def _same(a: str, b: str) -> bool:
    return a == b or a.endswith(b) or b.endswith(a)


def _sightings(occurrence: Occurrence, service: str, peers: tuple[LogRecord, ...]) -> list[_Sighting]:
    entry = _entry_span(occurrence, service)
    out = []
    for span in occurrence.spans:
        rank = _span_rank(span, entry, service)
        if rank is not None:
            out.append(_from_attributes(rank, span.attributes, span.source))
            for event in span.events:
                if event.name != "exception" and (body := _body(flatten(event.attributes))) is not None:
                    out.append(_at(rank, "", "", span.source, body))
    own = [r for r in occurrence.own if isinstance(r, LogRecord)]
    for log in [*own, *occurrence.logs, *occurrence.correlated]:
        out += _from_log(2 if log.service == service else 4, log)
    for thrown in occurrence.thrown:
        out += _from_frames(thrown.info.trace.frames if thrown.info.trace else (), thrown.source)
    for nearness, log in enumerate(peers):
        out += _from_log(6 + nearness, log)
    return out


def _entry_span(occurrence: Occurrence, service: str) -> Span | None:
    """The service's server span that holds the failure: up from the failing span, else a failed one of the trace."""
    by_id = {s.span_id: s for s in occurrence.spans}
    for record in occurrence.own:
        span = by_id.get(record.span_id)
        for _ in range(64):
            if span is None:
                break
            if span.service == service and span.kind == "server":
                return span
            span = by_id.get(span.parent_span_id)
    own = [s for s in occurrence.spans if s.service == service and s.kind == "server"]
    return next((s for s in own if s.failed), own[0] if own else None)


def _span_rank(span: Span, entry: Span | None, service: str) -> int | None:
    """0 the server span itself, 1 its caller, 3 other spans that name the service, 5 the rest of the way; None for the
    calls that the service made itself and for its other requests."""
    if entry is not None and span.span_id == entry.span_id:
        return 0
    if entry is not None and span.span_id == entry.parent_span_id:
        return 1
    if span.service == service:
        return None
    peer = " ".join(
        str(span.attributes.get(k, ""))
        for k in ("peer.service", "server.address", "net.peer.name", "url.full", "http.url")
    )
    if span.kind == "client":
        return 3 if service in peer else None
    return 5 if span.kind == "server" else None


def _pick(flat: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((flat[k] for k in keys if flat.get(k) not in (None, "")), None)


def _from_attributes(rank: int, attributes: dict[str, Any], source: SourceRef) -> _Sighting:
    flat = flatten(attributes)
    url = urlsplit(str(_pick(flat, _URL_KEYS) or ""))
    target = urlsplit(str(_pick(flat, _PATH_KEYS) or ""))
    path = target.path or url.path
    query = _pick(flat, _QUERY_KEYS)
    if isinstance(query, dict | list) or query is None:
        query = ""
    method = str(_pick(flat, _METHOD_KEYS) or "").upper()
    status = str(_pick(flat, _STATUS_KEYS) or "")
    body = _body(flat) if method in METHODS or path.startswith("/") else None
    return _Sighting(
        rank=rank,
        method=method if method in METHODS else "",
        path=path if path.startswith("/") else "",
        query=str(query).lstrip("?") or target.query or url.query,
        host=str(_pick(flat, ("http.host", "request.headers.Host", "server.address", "net.host.name")) or ""),
        status=int(status) if status.isdigit() and len(status) == 3 else 0,
        headers=_headers(flat),
        body=body,
        empty=any(str(flat.get(k)) == "0" for k in _SIZE_KEYS),
        source=source,
    )


def _body(flat: dict[str, Any]) -> Any:
    for key in _BODY_KEYS:
        value = flat.get(key)
        if value is None or isinstance(value, bool) or (isinstance(value, str) and value.strip() in _NOT_CAPTURED):
            continue
        parsed = parse_json(value)
        if parsed is not None:
            return parsed
        if isinstance(value, dict | list) and value:
            return value
        if isinstance(value, str) and not key.startswith(("body", "data")):
            return value
    return None


def _headers(flat: dict[str, Any]) -> dict[str, str]:
    out = {}
    for key, value in flat.items():
        prefix = next((p for p in _HEADER_PREFIXES if key.startswith(p)), None)
        name = key[len(prefix) :].replace("_", "-").lower() if prefix else ""
        if key in ("http.user_agent", "user_agent.original"):
            name = "user-agent"
        if isinstance(value, list) and value:
            value = value[0]
        clean = isinstance(value, str) and not re.search(r"[\r\n]|\[Filtered\]", value)
        if clean and name not in _LEFT_OUT and re.fullmatch(r"[a-z0-9-]+", name):
            out[name] = value
    return out


def _from_log(rank: int, log: LogRecord) -> list[_Sighting]:
    out = []
    found = _from_attributes(rank, log.attributes, log.source)
    if found.path or found.body is not None or found.query:
        out.append(found)
    match = _FLASK.search(log.body)
    line = (match[2], match[1]) if match else None
    if line is None and (match := _LINE.search(log.body)):
        line = (match[1], match[2])
    if line:
        out.append(_at(rank, line[0], line[1], log.source, _labelled_body(log.body)))
    elif (body := _labelled_body(log.body)) is not None:
        out.append(_at(rank, "", "", log.source, body))
    return out


def _labelled_body(text: str) -> Any:
    """A JSON document in a line of text that says that it is what came in."""
    for label, value in embedded_json(text):
        if re.search(r"body|payload|request|data|json|received|input|params|form|posted", label, re.IGNORECASE):
            return value
    return None


def _at(rank: int, method: str, url: str, source: SourceRef, body: Any = None) -> _Sighting:
    parts = urlsplit(url)
    return _Sighting(
        rank=rank,
        method=method,
        path=parts.path,
        query=parts.query,
        host="",
        status=0,
        headers={},
        body=body,
        empty=False,
        source=source,
    )


def _from_frames(frames: tuple[Any, ...], source: SourceRef) -> list[_Sighting]:
    """`<Request 'http://h/x?y=1' [GET]>` among the recorded variables of a frame."""
    out = []
    for frame in frames:
        for value in frame.locals.values():
            match = _REQUEST_REPR.search(value) if isinstance(value, str) else None
            method = (match["m1"] or match["m2"] or "") if match else ""
            if match and method in METHODS:
                out.append(_at(3, method, match["url"], source))
    return out
