"""What a failure says and where it happens, as words that a changed contract can be held against. Pure."""

import re
from collections.abc import Iterator

from msgspec import Struct

from retrieval.judgement.facts import SETTLE_NS, Facts
from retrieval.model import ContractChange, CrashGroup, ExceptionInfo, Span

_SAID_CAP = 20_000  # characters; of a stack only its end, where the error and the failing line stand
_RAW_TAIL = 1_200
_SPANS = 20_000
_CRASHES = 3
_QUERIES = ("db.query.text", "db.statement", "db.collection.name", "db.sql.table", "db.query.summary")
_PATHS = ("http.route", "url.path", "http.target", "url.full", "http.url")
_METHODS = ("http.request.method", "http.method")
# Names that nearly every contract has: they count only where the operation or the owner is met as well.
GENERIC = frozenset(
    {
        *("id", "name", "type", "data", "value", "status", "code", "error", "message", "text", "key", "kind", "state"),
        *("result", "results", "items", "item", "list", "user", "date", "time", "created", "updated", "version"),
        *("title", "description", "url", "path", "count", "total", "size", "page", "limit", "offset", "body"),
        *("content", "number", "amount", "object", "string"),
    }
)
MIN_DISTINCT = 4
_TEMPLATE = re.compile(r"\{[^{}/]*\}|:[A-Za-z_]\w*|<[^<>/]*>")


class Failure(Struct, frozen=True):
    """`said` are the words of the crash's records; `failing` the failing spans at or after the onset, by time;
    `queries` the spans of the window that name a table, with what they ask."""

    said: str
    failing: tuple[Span, ...]
    queries: tuple[tuple[str, Span], ...]


class Tie(Struct, frozen=True):
    """How a change meets a failure: 0..1, in words, and the span at which it shows, where there is one."""

    strength: float
    how: str
    span: Span | None = None


def failure_of(facts: Facts) -> Failure:
    window = facts.case.window
    spans = [
        s for s in facts.case.sources.spans if window is None or window.from_ns <= s.start_ns < window.to_ns
    ][:_SPANS]  # fmt: skip
    crash_spans = [s for crash in _crashes(facts) for s in crash.spans]
    failing = [s for s in (*crash_spans, *spans) if s.failed or s.http_status >= 400]
    late = {id(s): s for s in failing if s.start_ns >= facts.onset_ns - SETTLE_NS}
    said = "\n".join(dict.fromkeys(word for crash in _crashes(facts) for word in _words(crash) if word))
    queries = tuple((text, s) for s in spans if (text := query_of(s)))
    return Failure(said[:_SAID_CAP], tuple(sorted(late.values(), key=lambda s: (s.start_ns, s.span_id))), queries)


def _crashes(facts: Facts) -> list[CrashGroup]:
    """The chosen crash, and others of the incident that began with it."""
    chosen = [facts.crash] if facts.crash else []
    others = [c for c in facts.case.crashes[:_CRASHES] if c is not facts.crash and c.novelty > 0.5]
    return [*chosen, *others]


def _words(crash: CrashGroup) -> Iterator[str]:
    yield f"{crash.signature.type}: {crash.signature.message}"
    for record in crash.logs[:5]:
        yield record.body
        yield from _of_exception(record.exception)
    for span in crash.spans[:5]:
        yield span.status_message
        yield from _of_exception(span.exception)


def _of_exception(found: ExceptionInfo | None) -> Iterator[str]:
    if found is not None:
        yield found.message
        yield found.raw[-_RAW_TAIL:]


def query_of(span: Span) -> str:
    """What a span asks of a database, "" where it asks nothing."""
    return " ".join(str(span.attributes[k]) for k in _QUERIES if span.attributes.get(k))[:4_000]


def names(word: str, text: str) -> bool:
    """Whether a text names a word, as a whole word, in its own spelling or in that of another convention."""
    if not word:
        return False
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()
    head, *rest = snake.split("_")
    camel = head + "".join(part.capitalize() for part in rest)
    spelled = "|".join(sorted({re.escape(w) for w in (word, snake, camel, camel[:1].upper() + camel[1:]) if w}))
    return re.search(rf"(?<![A-Za-z0-9_])(?:{spelled})(?![A-Za-z0-9_])", text) is not None


def distinct(word: str) -> bool:
    return len(word) >= MIN_DISTINCT and word.lower() not in GENERIC


def calls(operation: str, span: Span) -> bool:
    """Whether a span is a call of an operation (`GET /coupons/{id}`, `shop.Coupons.Get`)."""
    method, _, path = operation.partition(" ")
    if not path:
        return bool(operation) and names(
            operation.rpartition(".")[2], f"{span.name} {span.attributes.get('rpc.method', '')}"
        )
    told = next((str(span.attributes[k]) for k in _METHODS if span.attributes.get(k)), span.name.partition(" ")[0])
    if told.upper() != method:
        return False
    wanted = _pattern(path)
    paths = [str(span.attributes[k]).split("?")[0] for k in _PATHS if span.attributes.get(k)]
    return any(wanted.search(p[:2_000]) for p in (*paths, span.name.partition(" ")[2]) if p)


def _pattern(path: str) -> re.Pattern[str]:
    """A path template at the end of a path: gateways and servers put prefixes before it."""
    parts = [r"(?:[^/]+)" if _TEMPLATE.fullmatch(p) else re.escape(p) for p in path.strip("/").split("/")]
    return re.compile("(?:^|/)" + "/".join(parts) + "/?$")


def tie(change: ContractChange, failure: Failure) -> Tie | None:
    """How a breaking change of a contract meets the failure; None where it doesn't."""
    span = next((s for s in failure.failing if any(calls(o, s) for o in change.used_by)), None)
    if change.what in ("operation", "method", "response", "request body"):
        gone = next(
            (s for s in failure.failing if calls(change.name if change.what == "method" else change.owner, s)), None
        )
        return (
            Tie(1.0, "operation", gone) if gone is not None and _missing(gone) and change.change == "removed" else None
        )
    if not names(change.member, failure.said):
        return None
    near = span is not None or (distinct(change.owner) and names(change.owner.rpartition(".")[2], failure.said))
    if not near and not distinct(change.member):
        return None
    return Tie(1.0 if near else 0.7, "name", span)


def _missing(span: Span) -> bool:
    """Whether a call failed as calls of what is not there do: 404, 405, 410, 501, gRPC's UNIMPLEMENTED (12)."""
    code = str(span.attributes.get("rpc.grpc.status_code") or span.attributes.get("rpc.response.status_code") or "")
    return span.http_status in (404, 405, 410, 501) or code.upper() in ("12", "UNIMPLEMENTED")
