"""Records as citations: what is quoted of each kind, and why it counts. Pure."""

from retrieval.judgement.draft import Cite, canonical
from retrieval.judgement.shifts import Shift
from retrieval.model import (
    Commit,
    ConfigChange,
    ContractChange,
    Deploy,
    ErrorSignature,
    ExceptionInfo,
    FlagChange,
    Hit,
    LogRecord,
    Proof,
    Span,
    Suspect,
)
from retrieval.model.moments import clock_of, date_of
from retrieval.texts import phrase

QUOTE = 300
_WHY = "hypotheses/why.j2"


def quote(text: str) -> str:
    """One line, at most 300 characters, a verbatim part of the text but for folded white space."""
    flat = " ".join(text.split())
    return flat if len(flat) <= QUOTE else flat[: QUOTE - 1] + "…"


def of_exception(found: ExceptionInfo) -> str:
    """The line that names the error, as it was printed where a stack was recorded."""
    lines = [line for line in found.raw.splitlines() if found.type.rsplit(".", 1)[-1] in line]
    return lines[-1].strip() if lines and found.message[:20] in lines[-1] else f"{found.type}: {found.message}"


def log(record: LogRecord) -> Cite:
    said = of_exception(record.exception) if record.exception else record.body
    where = record.exception.trace.crash if record.exception and record.exception.trace else None
    return Cite(
        kind="log",
        source=str(record.source),
        content=canonical(record),
        quote=quote(f"{said} at {where.file}:{where.line} in {where.function}" if where else said),
        why=phrase(_WHY, "log", service=record.service, at=record.time_ns),
        time_ns=record.time_ns,
        service=record.service,
    )


def span(record: Span) -> Cite:
    told = [record.name]
    target = record.attributes.get("url.full") or record.attributes.get("http.url")
    if target is None and (path := record.attributes.get("url.path") or record.attributes.get("http.target")):
        query = record.attributes.get("url.query")
        target = f"{path}?{query}" if query and "?" not in str(path) else path
    if target:
        told.append(str(target))
    if record.http_status:
        told.append(f"→ {record.http_status}")
    if record.exception:
        told.append(of_exception(record.exception))
    elif record.status_message:
        told.append(record.status_message)
    return Cite(
        kind="trace",
        source=str(record.source),
        content=canonical(record),
        quote=quote(" ".join(told)),
        why=phrase(_WHY, "span", trace=record.trace_id, at=record.start_ns),
        time_ns=record.start_ns,
        service=record.service,
    )


def deploy(record: Deploy) -> Cite:
    share = "" if record.percent is None else f" {record.percent:g} %"
    region = f" {record.region}" if record.region else ""
    return Cite(
        kind="deploy",
        source=str(record.source),
        content=canonical(record),
        quote=f"{record.service} {record.git_sha[:12]}{share}{region} {date_of(record.started_ns)}",
        why=phrase(_WHY, "deploy", service=record.service, at=record.started_ns),
        time_ns=record.started_ns,
        service=record.service,
    )


def commit(record: Commit, service: str, paths: frozenset[str] = frozenset()) -> Cite:
    """The whole commit is the artifact; the quote is its subject and the first changed line of the files asked for."""
    changed = ""
    for change in record.files:
        if change.hunks and (not paths or change.path in paths):
            hunk = change.hunks[0]
            lines = [f"-{line}" for line in hunk.removed[:1]] + [f"+{line}" for line in hunk.added[:1]]
            changed = f" {change.path}:{hunk.new_start} {' '.join(lines)}"
            break
    return Cite(
        kind="diff",
        source=f"{record.repo}@{record.sha}",
        content=canonical(record),
        quote=quote(f"{record.sha[:7]} {record.subject} ({record.author}){changed}"),
        why=phrase(_WHY, "commit", sha=record.sha),
        time_ns=record.committed_ns,
        service=service,
    )


def suspects(found: tuple[Suspect, ...], limit: int = 3) -> tuple[Cite, ...]:
    return tuple(commit(s.commit, s.service) for s in found[:limit])


def config(record: ConfigChange, before: str | None) -> Cite:
    old = f"{before} → " if before is not None else ""
    return Cite(
        kind="config",
        source=str(record.source),
        content=canonical(record),
        quote=quote(f"{record.service} {record.key} = {old}{record.value} at {clock_of(record.at_ns)}"),
        why=phrase(_WHY, "config", at=record.at_ns),
        time_ns=record.at_ns,
        service=record.service,
    )


def contract(record: ContractChange) -> Cite:
    """One difference of a contract, or one step of a migration, and whom it breaks."""
    return Cite(
        kind="migration" if record.is_step else "contract",
        source=str(record.source),
        content=canonical(record),
        quote=quote(f"{record.path}: {record.told}"),
        why=phrase(_WHY, "contract", rule=record.rule, breaks=record.breaks),
        time_ns=record.reached_ns,
        service=record.service,
    )


def flag(record: FlagChange) -> Cite:
    return Cite(
        kind="flag",
        source=str(record.source),
        content=canonical(record),
        quote=quote(f"{record.flag} = {record.value} at {clock_of(record.at_ns)}"),
        why=phrase(_WHY, "flag", at=record.at_ns),
        time_ns=record.at_ns,
        service=record.service,
    )


def metric(shift: Shift, onset_ns: int) -> Cite:
    labels = " ".join(f"{k}={v}" for k, v in sorted(shift.series.labels.items()))
    return Cite(
        kind="metric",
        source=str(shift.series.source),
        content=canonical(shift.series),
        quote=quote(f"{shift.series.metric} {labels}: {shift.before:g} → {shift.after:g} at {clock_of(onset_ns)}"),
        why=phrase(_WHY, "metric", size=shift.size),
        time_ns=onset_ns,
        service=shift.series.service,
    )


def _said(signature: ErrorSignature | None) -> str:
    return f"{signature.type}: {signature.message}" if signature else ""


def proof(record: Proof) -> Cite:
    """What was run: the test's outcome at each commit, the whole record without the generated files."""
    told = []
    for name, attempt in (("deployed", record.at_deployed), ("good", record.at_good)):
        if attempt is not None:
            told.append(f"{name} {attempt.commit[:7]}: {attempt.outcome} {_said(attempt.error_signature)}".strip())
    if record.bisect and record.bisect.culprit:
        told.append(f"bisect: {record.bisect.culprit[:7]}")
    if record.patch:
        told.append(f"patched: {record.patch.outcome}")
    return Cite(
        kind="proof",
        source=record.test or record.service,
        content=canonical(record),
        quote=quote(" · ".join(told) or record.not_run_reason),
        why=phrase(_WHY, "proof"),
        service=record.service,
    )


def found(hit: Hit, why: str) -> Cite:
    """A document that retrieval found and no rule asked for."""
    document = hit.document
    return Cite(
        kind=document.kind,
        source=document.source,
        content=canonical(document),
        quote=quote(document.title + (": " if document.title and document.text else "") + document.text),
        why=why,
        time_ns=document.time_ns or None,
        service=document.service,
    )
