"""A small incident with every kind of record, built by hand: `edge` calls `price`, which fails after a deploy."""

from pathlib import Path

from msgspec.structs import replace

from retrieval.model import CaseSources, LogRecord, Postmortem, Section, ServiceInfo, SourceRef, Span, TestResult
from tests.building import MINUTE, ONSET, a_config, a_deploy, a_flag, a_log, a_series, a_span, an_exception

FAILING = "4bf92f3577b34da6a3ce929d0e0e4736"


def span(trace: str, name: str, service: str, parent: str = "", minute: float = 1.0) -> Span:
    start = ONSET + int(minute * MINUTE)
    return Span(
        trace_id=trace,
        span_id=f"{trace[:4]}-{service}",
        parent_span_id=parent,
        name=name,
        service=service,
        kind="server",
        status="ok",
        start_ns=start,
        end_ns=start + 2_000_000,
        attributes={"url.path": "/total", "tags": ["a", 1, None]},
        resource={"deployment.environment.name": "prod", "cloud.region": "eu-west-1"},
        source=SourceRef("traces/traces.jsonl", 7),
    )


def healthy_traces(count: int) -> tuple[Span, ...]:
    found: list[Span] = []
    for n in range(count):
        trace = f"{n:04x}" * 8
        root = span(trace, f"GET /total/{n}", "edge", minute=-20 + n / 100)
        found += [root, span(trace, "GET /total", "price", root.span_id, -20 + n / 100)]
    return tuple(found)


def chatter(count: int) -> tuple[LogRecord, ...]:
    return tuple(
        LogRecord(
            time_ns=ONSET - 20 * MINUTE + n * MINUTE // 10,
            body=f"served order {n} in {n * 3} ms",
            service="price",
            source=SourceRef("logs/price.jsonl", 100 + n),
        )
        for n in range(count)
    )


def sources() -> CaseSources:
    root = span(FAILING, "GET /total", "edge")
    failed = replace(a_span(), parent_span_id=root.span_id)
    said = LogRecord(
        time_ns=ONSET + MINUTE,
        body="coupon=None for basket 7",
        service="edge",
        trace_id=FAILING,
        source=SourceRef("logs/edge.jsonl", 3),
    )
    passed = TestResult(
        test_id="tests.test_app::test_total",
        outcome="passed",
        suite="unit",
        time_ns=ONSET - MINUTE,
        source=SourceRef("junit/unit.xml", 2),
    )
    broken = TestResult(
        test_id="tests.test_format::test_none",
        outcome="failed",
        suite="unit",
        message="assert None",
        exception=an_exception(),
        source=SourceRef("junit/unit.xml", 4),
    )
    postmortem = Postmortem(
        title="Coupons without text",
        sections=(
            Section("Participants", "Ada, Grace"),
            Section("Root cause", "format_discount did not expect a coupon without text"),
        ),
        service="price",
        date_ns=ONSET - 100_000 * MINUTE,
        front_matter={"severity": 2},
        source=SourceRef("postmortems/1.md"),
    )
    return CaseSources(
        spans=tuple(sorted((root, failed, *healthy_traces(30)), key=lambda s: s.start_ns)),
        logs=tuple(sorted((a_log(), said, *chatter(50)), key=lambda r: r.time_ns)),
        series=(a_series(), replace(a_series(), metric="empty", points=())),
        deploys=(a_deploy(minute=-9000), a_deploy()),
        flags=(a_flag(),),
        config=(a_config(),),
        tests=(passed, broken),
        postmortems=(postmortem,),
        services={"price": ServiceInfo(name="price", repo="shop", language="python")},
        repos={"shop": Path("repos/shop")},
    )
