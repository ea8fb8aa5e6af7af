"""A small incident with every kind of record, built by hand: `edge` calls `price`, which fails after a deploy."""

from pathlib import Path

from msgspec.structs import replace

from retrieval.model import (
    CaseSources,
    Contract,
    ContractElement,
    DumpedThread,
    EnvironmentFingerprint,
    FileCoverage,
    Frame,
    LogRecord,
    Postmortem,
    Profile,
    ProfileRow,
    Section,
    ServiceInfo,
    SourceRef,
    Span,
    TestResult,
    ThreadDump,
    Ticket,
)
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


def a_deadlock() -> ThreadDump:
    """Two threads of `price` that wait for each other."""

    def thread(name: str, function: str, line: int, holds: str, wants: str) -> DumpedThread:
        frames = (
            Frame(file="/usr/lib/python3.11/threading.py", function="run", line=975, in_app=False),
            Frame(file="/srv/app/price/format.py", function=function, line=line),
        )
        return DumpedThread(name=name, state="BLOCKED", frames=frames, holds=(holds,), waits_for=wants, line=line)

    return ThreadDump(
        language="python",
        service="price",
        time_ns=ONSET + 2 * MINUTE,
        threads=(
            thread("payer", "Coupon.format_discount", 7, "0x1", "0x2"),
            thread("auditor", "Coupon.audit", 12, "0x2", "0x1"),
        ),
        locks={"0x1": "Lock", "0x2": "Lock"},
        source=SourceRef("dumps/price/now.json"),
    )


def a_profile() -> Profile:
    return Profile(
        kind="heap",
        format="tracemalloc",
        unit="bytes",
        service="price",
        time_ns=ONSET + 3 * MINUTE,
        total=1_000_000,
        rows=(
            ProfileRow(site="price/format.py:7", own=900_000, total=900_000, count=12, path="price/format.py", line=7),
        ),
        source=SourceRef("profiles/price/now.txt"),
    )


def covered() -> FileCoverage:
    return FileCoverage(
        path="price/format.py", test_id="tests.test_format::test_none", lines=((1, 3), (6, 8)),
        source=SourceRef("coverage/unit.json"),
    )  # fmt: skip


def environments() -> tuple[EnvironmentFingerprint, ...]:
    good = EnvironmentFingerprint(
        run_id="ci-1", service="price", baseline=True, os="Debian 12", interpreter="CPython 3.11.8",
        packages={"redis": "5.0.1"}, variables={"REGION": "aa-aaa-0"}, source=SourceRef("environment/baseline.json"),
    )  # fmt: skip
    bad = replace(
        good, run_id="ci-2", baseline=False, interpreter="CPython 3.11.9", packages={"redis": "5.1.0"},
        source=SourceRef("environment/ci-2.json"),
    )  # fmt: skip
    return good, bad


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
    field = ContractElement(what="field", name="Coupon.text", owner="Coupon", member="text", facts={"type": "string"})
    contracts = tuple(
        Contract(
            service="price", format=name, family=f"api.{name}", version=version, elements=elements,
            source=SourceRef(f"contracts/price/{version}/api.{name}"),
        )
        for name, version, elements in (
            ("openapi", "v1", (field,)),
            ("openapi", "v2", (replace(field, facts={"type": "integer"}),)),
            ("sql", "7", (ContractElement(what="dropped column", name="orders.note", owner="orders", member="note"),)),
        )
    )  # fmt: skip
    tickets = (
        Ticket(
            key="SHOP-17", title="Coupons fail", status="Open", created_ns=ONSET - 9000 * MINUTE, labels=("shop",),
            service="price", sections=(Section("Cause", "text may be null"),), source=SourceRef("tickets/17.md"),
        ),
        Ticket(key="SHOP-18", title="Silent", source=SourceRef("tickets/18.json")),
    )  # fmt: skip
    return CaseSources(
        contract_files=contracts,
        tickets=tickets,
        spans=tuple(sorted((root, failed, *healthy_traces(30)), key=lambda s: s.start_ns)),
        logs=tuple(sorted((a_log(), said, *chatter(50)), key=lambda r: r.time_ns)),
        series=(a_series(), replace(a_series(), metric="empty", points=())),
        deploys=(a_deploy(minute=-9000), a_deploy()),
        flags=(a_flag(),),
        config=(a_config(),),
        tests=(passed, broken),
        postmortems=(postmortem,),
        dumps=(a_deadlock(),),
        profiles=(a_profile(),),
        coverage=(covered(),),
        environments=environments(),
        services={"price": ServiceInfo(name="price", repo="shop", language="python")},
        repos={"shop": Path("repos/shop")},
    )
