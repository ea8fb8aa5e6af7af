"""What was recorded: spans, log records, metric series, test results, postmortems, each normalised."""

from typing import Any

from msgspec import Struct, field

from retrieval.model.code import StackTrace


class SourceRef(Struct, frozen=True):
    """Where a record lies: a file relative to the case folder, and a 1-based line (0: the whole file)."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Problem(Struct, frozen=True, kw_only=True):
    """Input that could not be used; it is reported and counted, and the rest is used."""

    source: SourceRef
    reason: str


class ExceptionInfo(Struct, frozen=True, kw_only=True):
    """An exception as it was recorded. `trace` is parsed (None: no stack was recorded); its frames carry `locals` when
    the recorder kept them (error trackers, structlog's dict tracebacks). `raw` is the text as recorded."""

    type: str
    message: str
    raw: str = ""
    trace: StackTrace | None = None


class SpanEvent(Struct, frozen=True, kw_only=True):
    name: str
    time_ns: int
    attributes: dict[str, Any] = field(default_factory=dict)


class Span(Struct, frozen=True, kw_only=True):
    """One span. `kind` is internal|server|client|producer|consumer, `status` unset|ok|error."""

    trace_id: str
    span_id: str
    name: str
    service: str
    start_ns: int
    end_ns: int
    parent_span_id: str = ""
    kind: str = "internal"
    status: str = "unset"
    status_message: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    resource: dict[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    exception: ExceptionInfo | None = None  # the last exception event, parsed
    source: SourceRef = SourceRef("")

    @property
    def failed(self) -> bool:
        return self.status == "error" or self.exception is not None or self.http_status >= 500

    @property
    def http_status(self) -> int:
        """Response status code under its current or older attribute name; 0 when none was recorded."""
        value = self.attributes.get("http.response.status_code", self.attributes.get("http.status_code", 0))
        return int(value) if isinstance(value, int | str) and str(value).isdigit() else 0


class LogRecord(Struct, frozen=True, kw_only=True):
    """One log record. `severity` is OpenTelemetry's number (17 and above: error); `attributes` are flat."""

    time_ns: int
    body: str
    service: str = ""
    severity: int = 9
    logger: str = ""
    trace_id: str = ""
    span_id: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    resource: dict[str, Any] = field(default_factory=dict)
    exception: ExceptionInfo | None = None
    source: SourceRef = SourceRef("")

    @property
    def is_error(self) -> bool:
        return self.severity >= 17 or self.exception is not None


class Series(Struct, frozen=True, kw_only=True):
    """One metric series: points are (time_ns, value), ascending, without NaN."""

    metric: str
    labels: dict[str, str] = field(default_factory=dict)
    unit: str = ""
    points: tuple[tuple[int, float], ...] = ()
    source: SourceRef = SourceRef("")

    @property
    def service(self) -> str:
        return self.labels.get("service") or self.labels.get("service_name") or self.labels.get("job") or ""


class TestResult(Struct, frozen=True, kw_only=True):
    """One test case of a JUnit file. `outcome` is passed|failed|error|skipped."""

    __test__ = False

    test_id: str  # classname::name
    outcome: str
    suite: str = ""
    seconds: float = 0.0
    message: str = ""
    exception: ExceptionInfo | None = None
    time_ns: int | None = None
    properties: dict[str, str] = field(default_factory=dict)
    source: SourceRef = SourceRef("")


class Section(Struct, frozen=True):
    heading: str
    text: str


class Postmortem(Struct, frozen=True, kw_only=True):
    """A Markdown document about an earlier incident, cut at its headings."""

    title: str
    sections: tuple[Section, ...] = ()
    service: str = ""
    date_ns: int | None = None
    front_matter: dict[str, Any] = field(default_factory=dict)
    source: SourceRef = SourceRef("")
