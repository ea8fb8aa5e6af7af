"""Small recordings, minute by minute: minute 0 is when the alert started to fire."""

from msgspec import structs

from retrieval.model import (
    Alert,
    CaseSources,
    Deploy,
    ExceptionInfo,
    Frame,
    LogRecord,
    Onset,
    Series,
    ServiceInfo,
    SourceRef,
    Span,
    StackTrace,
)

MINUTE = 60 * 10**9
ALERT = 1_750_000_000 * 10**9 // MINUTE * MINUTE


def at(minute: float) -> int:
    return ALERT + round(minute * MINUTE)


def alert(service: str = "shop", minute: float = 0, **labels: str) -> Alert:
    return Alert(
        source="alertmanager", fingerprint="f", name="ErrorsHigh", status="firing", starts_ns=at(minute),
        labels={"service": service, **labels}, annotations={"summary": "many errors"},
    )  # fmt: skip


def onset(minute: float = -5) -> Onset:
    return Onset(at_ns=at(minute), source="log", reason="")


def raised(type_name: str, message: str, *places: str, in_app: bool = True) -> ExceptionInfo:
    """An exception; places are `file:function:line`, outermost first."""
    frames = tuple(
        Frame(file=f"/app/{file}", function=function, line=int(line), in_app=in_app)
        for file, function, line in (place.split(":") for place in places)
    )
    trace = StackTrace(language="python", type=type_name, message=message, frames=frames)
    return ExceptionInfo(type=type_name, message=message, trace=trace if frames else None)


def log(
    minute: float, body: str = "failed", service: str = "shop", *, severity: int = 17, trace: str = "",
    span: str = "", error: ExceptionInfo | None = None, file: str = "logs/shop.jsonl",
) -> LogRecord:  # fmt: skip
    return LogRecord(
        time_ns=at(minute), body=body, service=service, severity=severity, trace_id=trace, span_id=span,
        exception=error, source=SourceRef(file, 1),
    )  # fmt: skip


def span(
    minute: float, service: str = "shop", name: str = "GET /", *, trace: str = "", name_id: str = "", parent: str = "",
    ms: float = 10, kind: str = "server", failed: bool = False, error: ExceptionInfo | None = None,
    **attributes: object,
) -> Span:  # fmt: skip
    start = at(minute)
    return Span(
        trace_id=trace or f"t{minute}", span_id=name_id or f"{service}-{name}-{minute}-{parent}", parent_span_id=parent,
        name=name, service=service, start_ns=start, end_ns=start + round(ms * 1e6), kind=kind,
        status="error" if failed else "unset", attributes=attributes, exception=error,
        source=SourceRef("traces/spans.jsonl", 1),
    )  # fmt: skip


def chatter(first: float = -30, last: float = 10, service: str = "shop", step: float = 0.5) -> tuple[LogRecord, ...]:
    """Healthy lines, so that the whole stretch counts as recorded."""
    count = round((last - first) / step)
    return tuple(log(first + n * step, "served", service, severity=9) for n in range(count))


def series(values: list[float], metric: str = "errors_per_minute", first: float = -30, **labels: str) -> Series:
    return Series(
        metric=metric,
        labels={"service": "shop", **labels},
        points=tuple((at(first + n), v) for n, v in enumerate(values)),
    )


def deploy(minute: float, sha: str, service: str = "shop", **fields: object) -> Deploy:
    return structs.replace(Deploy(service=service, git_sha=sha, started_ns=at(minute)), **fields)


def sources(*records: object, services: dict[str, ServiceInfo] | None = None) -> CaseSources:
    """Records sorted into their places."""
    flat = [r for record in records for r in (record if isinstance(record, tuple | list) else [record])]
    return CaseSources(
        spans=tuple(r for r in flat if isinstance(r, Span)),
        logs=tuple(r for r in flat if isinstance(r, LogRecord)),
        series=tuple(r for r in flat if isinstance(r, Series)),
        deploys=tuple(r for r in flat if isinstance(r, Deploy)),
        services=services or {},
    )
