"""A whole small incident, built by hand: `shop` fails in `price/format.py` after a deploy of three commits."""

from msgspec import structs

from retrieval.model import (
    Alert,
    Attempt,
    Bisect,
    Case,
    CaseSources,
    Commit,
    ConfigChange,
    CrashGroup,
    Deploy,
    ErrorSignature,
    ExceptionInfo,
    FileChange,
    FlagChange,
    Frame,
    Hunk,
    LogRecord,
    Onset,
    Patch,
    Proof,
    RecoveredInput,
    Rollout,
    Series,
    ServiceInfo,
    SourceRef,
    Span,
    StackTrace,
    Suspect,
    Symbol,
    Topology,
    Window,
)

MINUTE = 60 * 10**9
ONSET = 1_747_204_800 * 10**9
GOOD, BAD = "a" * 40, "b" * 40
GUILTY, INNOCENT, LATER = "c" * 40, "d" * 40, "e" * 40
RAW = (
    "Traceback (most recent call last):\n"
    '  File "/app/price/app.py", line 20, in total\n    return format_discount(coupon, settings.max_percent)\n'
    '  File "/app/price/format.py", line 7, in format_discount\n    return coupon.text.upper()\n'
    "AttributeError: 'NoneType' object has no attribute 'upper'"
)
SIGNATURE = ErrorSignature("AttributeError", "'NoneType' object has no attribute 'upper'")
FRAMES = ("price/app.py::total", "price/format.py::format_discount")


def an_exception() -> ExceptionInfo:
    frames = (
        Frame(file="/app/price/app.py", function="total", line=20),
        Frame(file="/app/price/format.py", function="format_discount", line=7),
    )
    trace = StackTrace(language="python", type="AttributeError", message=SIGNATURE.message, frames=frames)
    return ExceptionInfo(type="AttributeError", message=SIGNATURE.message, raw=RAW, trace=trace)


def a_log(minute: float = 1.0) -> LogRecord:
    return LogRecord(
        time_ns=ONSET + int(minute * MINUTE),
        body="request failed",
        service="price",
        severity=17,
        trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
        exception=an_exception(),
        source=SourceRef("logs/price.jsonl", 12),
    )


def a_span(minute: float = 1.0) -> Span:
    start = ONSET + int(minute * MINUTE)
    return Span(
        trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
        span_id="00f067aa0ba902b7",
        name="GET /total",
        service="price",
        kind="server",
        status="error",
        start_ns=start,
        end_ns=start + 3_000_000,
        attributes={"url.path": "/total", "url.query": "coupon=SPRING", "http.response.status_code": 500},
        exception=an_exception(),
        source=SourceRef("traces/traces.jsonl", 44),
    )


def a_crash(**changes: object) -> CrashGroup:
    crash = CrashGroup(
        key="k1",
        service="price",
        signature=SIGNATURE,
        stack_signature="s1",
        count=12,
        first_ns=ONSET + MINUTE,
        last_ns=ONSET + 9 * MINUTE,
        novelty=1.0,
        crash_path="price/format.py",
        crash_function="format_discount",
        crash_line=7,
        in_app_frames=FRAMES,
        logs=(a_log(),),
        spans=(a_span(),),
        score=2.0,
    )
    return structs.replace(crash, **changes)


def a_commit(sha: str, path: str, subject: str, at: int = ONSET - 30 * MINUTE) -> Commit:
    hunk = Hunk(old_start=7, old_lines=1, new_start=7, new_lines=1, removed=("    return ''",), added=("    return x",))
    return Commit(
        repo="shop", sha=sha, author="Ada Byron", author_ns=at, committed_ns=at, subject=subject, parents=("f" * 40,),
        files=(FileChange(path=path, status="modified", hunks=(hunk,)),),
    )  # fmt: skip


def a_deploy(sha: str = BAD, minute: float = -5, **changes: object) -> Deploy:
    deploy = Deploy(
        service="price", git_sha=sha, previous_sha=GOOD, started_ns=ONSET + int(minute * MINUTE), region="eu-west-1",
        percent=25.0, source=SourceRef("deploys.jsonl", 2),
    )  # fmt: skip
    return structs.replace(deploy, **changes)


def suspects() -> tuple[Suspect, ...]:
    rows = (
        (LATER, "price/app.py", "Name the total", ("price/app.py::other",)),
        (GUILTY, "price/format.py", "Show coupon text on receipts", ("price/format.py::format_discount",)),
        (INNOCENT, "README.md", "Say how to run it", ()),
    )
    return tuple(
        Suspect(
            commit=a_commit(sha, path, subject), service="price", deploy=a_deploy(), reached_ns=a_deploy().started_ns,
            symbols=symbols,
        )
        for sha, path, subject, symbols in rows
    )  # fmt: skip


def a_series() -> Series:
    points = tuple((ONSET + m * MINUTE, 0.0 if m < 0 else 12.0) for m in range(-20, 12))
    return Series(metric="http_5xx", labels={"service": "price"}, points=points, source=SourceRef("metrics/h.jsonl", 1))


def a_config(key: str = "max_percent", minute: float = -2, value: str = "5") -> ConfigChange:
    source = SourceRef("config.jsonl", 3)
    return ConfigChange(at_ns=ONSET + int(minute * MINUTE), service="price", key=key, value=value, source=source)


def a_flag(flag: str = "max_percent", minute: float = -2) -> FlagChange:
    return FlagChange(
        at_ns=ONSET + int(minute * MINUTE), flag=flag, value=True, service="price", source=SourceRef("flags.jsonl", 1)
    )


def an_alert() -> Alert:
    return Alert(
        source="alertmanager", fingerprint="f1", name="HighErrorRate", status="firing", starts_ns=ONSET + 4 * MINUTE,
        labels={"service": "price", "severity": "critical", "region": "eu-west-1"}, annotations={"summary": "500s"},
    )  # fmt: skip


def a_case(**changes: object) -> Case:
    sources = CaseSources(
        spans=(a_span(),), logs=(a_log(),), series=(a_series(),), deploys=(a_deploy(),),
        services={"price": ServiceInfo(name="price", repo="shop", language="python", owners=("@shop/payments",))},
        present=("traces", "logs", "metrics", "deploys", "services"),
    )  # fmt: skip
    case = Case(
        incident_id="inc-1",
        alerts=(an_alert(),),
        sources=sources,
        onset=Onset(at_ns=ONSET, source="metric", reason="http_5xx rose", signals={"metric": ONSET}),
        window=Window(from_ns=ONSET - 45 * MINUTE, to_ns=ONSET + 15 * MINUTE, diffs_from_ns=ONSET - 1440 * MINUTE),
        topology=Topology(path=("price",), failing_share={"price": 0.4}),
        rollout=Rollout(current={"price": a_deploy()}, previous={"price": a_deploy(GOOD, -9000, previous_sha="")}),
        suspects=suspects(),
        symbols=(
            Symbol(
                symbol_id=FRAMES[-1], language="python", kind="function", path="price/format.py",
                name="format_discount", qualname="format_discount", start_line=5, end_line=8,
            ),
        ),
        crashes=(a_crash(),),
    )  # fmt: skip
    return structs.replace(case, **changes)


def an_attempt(commit: str, outcome: str, matches: bool = False) -> Attempt:
    return Attempt(
        commit=commit, outcome=outcome, matches_production=matches, error_signature=SIGNATURE if matches else None
    )


def a_proof(**changes: object) -> Proof:
    proof = Proof(
        service="price",
        repo="shop",
        test="receipts_repro/test_total.py",
        command=("python", "-m", "pytest", "-q", "receipts_repro/test_total.py"),
        files={"receipts_repro/test_total.py": "def test_total():\n    assert True\n"},
        input=RecoveredInput(
            strategy="http", service="price", language="python", summary="GET /total?coupon=SPRING",
            citations=("traces/traces.jsonl:44",),
        ),
        at_deployed=an_attempt(BAD, "failed", True),
        at_good=an_attempt(GOOD, "passed"),
        bisect=Bisect(
            culprit=GUILTY, tested=(an_attempt(GUILTY, "failed", True),), acquitted=(LATER, INNOCENT),
        ),
        patch=Patch(diff="--- a/x\n+++ b/x\n", strategy="revert_hunk", rationale="takes it back", outcome="passed"),
        environment={"python": "3.11"},
    )  # fmt: skip
    return structs.replace(proof, **changes)
