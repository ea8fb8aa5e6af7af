"""Log records. Errors, and whatever else was said in a failing request, one by one; the rest as one document for each
service, template and five minutes, with counts per minute and its first and last line (row B2)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from retrieval.ingest.templates import mine
from retrieval.kinds.base import (
    MINUTE_NS,
    SLICE_NS,
    Kind,
    Material,
    Restored,
    environment_of,
    error_fields,
    join_keys,
    kept,
    region_of,
    restored,
)
from retrieval.model import CaseSources, Document, LogRecord

COUNT = "log.template.count"  # attribute of a restored example: how many records it stands for

Numbered = tuple[int, LogRecord]


def documents(material: Material) -> Iterator[Document]:
    failing = failing_traces(material.sources) | material.failing
    quiet: dict[str, list[Numbered]] = defaultdict(list)
    for number, record in enumerate(material.sources.logs):
        if record.is_error or (record.trace_id and record.trace_id in failing):
            yield _single(material, number, record)
        else:
            quiet[record.service].append((number, record))
    for service in sorted(quiet):
        yield from _summaries(material, service, quiet[service])


def failing_traces(sources: CaseSources) -> frozenset[str]:
    """The traces in which a span failed or an error was logged."""
    spans = {span.trace_id for span in sources.spans if span.failed}
    return frozenset(spans | {record.trace_id for record in sources.logs if record.is_error} - {""})


def _single(material: Material, number: int, record: LogRecord) -> Document:
    error = record.exception
    named = error_fields(error.trace, error.type, error.message, material.files_of(record.service)) if error else {}
    trace = "" if error is None or error.raw in record.body else f"\n{error.raw or f'{error.type}: {error.message}'}"
    return material.document(
        "log",
        (record,),
        title=" ".join(part for part in (record.service, record.logger, error.type if error else "") if part),
        text=record.body + trace,
        time_ns=record.time_ns,
        service=record.service,
        environment=environment_of(record.resource),
        region=region_of(record.resource),
        severity=record.severity,
        keys=join_keys(record.attributes, record.resource, trace_id=record.trace_id, span_id=record.span_id),
        source=str(record.source),
        attributes=kept([(number, record)]),
        **named,
    )


def _summaries(material: Material, service: str, records: list[Numbered]) -> Iterator[Document]:
    templates = mine(record.body for _, record in records)
    groups: dict[tuple[str, int, int], list[Numbered]] = defaultdict(list)
    for number, record in records:
        key = (templates.template_of(record.body), record.severity, record.time_ns // SLICE_NS)
        groups[key].append((number, record))
    for (template_id, severity, _), members in sorted(groups.items()):
        members.sort(key=lambda member: (member[1].time_ns, member[0]))
        template = templates.by_id[template_id].text
        yield _summary(material, (service, template, severity), members)


def _summary(material: Material, about: tuple[str, str, int], members: list[Numbered]) -> Document:
    service, template, severity = about
    first, last = members[0][1], members[-1][1]
    examples = members[:1] if len(members) == 1 else [members[0], members[-1]]
    minutes = Counter(str(record.time_ns // MINUTE_NS * MINUTE_NS) for _, record in members)
    lines = dict.fromkeys([template, first.body, last.body])
    return material.document(
        "log",
        ("template", *about, first.time_ns, last.time_ns, len(members), first.source, last.source),
        title=service,
        text="\n".join(lines),
        time_ns=first.time_ns,
        service=service,
        environment=environment_of(first.resource),
        region=region_of(first.resource),
        severity=severity,
        source=str(first.source),
        attributes={
            "template": template,
            "count": len(members),
            "first_ns": first.time_ns,
            "last_ns": last.time_ns,
            "per_minute": dict(sorted(minutes.items())),
            **kept(examples),
        },
    )


def restore(found: Iterable[Document]) -> Restored:
    """Single records as they were; of a summary its examples, the first bearing the count under `COUNT`."""
    logs: list[tuple[int, LogRecord]] = []
    for document in found:
        records = list(restored([document], LogRecord))
        count = document.attributes.get("count")
        if count is not None and records:
            number, first = records[0]
            records[0] = (number, replace(first, attributes={**first.attributes, COUNT: count}))
        logs.extend(records)
    return {"logs": logs}


KIND = Kind("log", documents, restore)
