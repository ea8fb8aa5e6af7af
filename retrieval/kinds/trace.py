"""Spans. A failed span is a document with its neighbours and its trace's skeleton; the other spans of a failing trace
one document per service; healthy traces are summarised per service, skeleton and five minutes (rows B2, B3, B13).

Every span is kept in exactly one document, so that a trace can be put together again.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence

from retrieval.kinds.base import (
    SLICE_NS,
    Kind,
    Material,
    chunks,
    environment_of,
    error_fields,
    join_keys,
    kept,
    region_of,
    restoring,
)
from retrieval.kinds.log import failing_traces
from retrieval.kinds.skeleton import Trace, path_signature, traces_of
from retrieval.model import Document, Span

SUMMARISED = 100  # healthy spans of one document
_TOLD = ("http.", "url.", "rpc.", "db.", "messaging.", "exception.", "error.")  # attributes that are searched

Numbers = dict[int, int]  # id() of a span -> its place among all that were read


def documents(material: Material) -> Iterator[Document]:
    spans = material.sources.spans
    numbers = {id(span): number for number, span in enumerate(spans)}
    failing = failing_traces(material.sources) | material.failing
    healthy: dict[tuple[str, str, int], list[Span]] = defaultdict(list)
    paths: dict[str, tuple[str, ...]] = {}
    for trace_id, trace in traces_of(spans).items():
        skeleton = trace.skeleton()
        if trace_id in failing:
            yield from _failing(material, trace, skeleton, numbers)
            continue
        paths[skeleton] = trace.services()
        for span in trace.spans:
            healthy[(span.service, skeleton, span.start_ns // SLICE_NS)].append(span)
    for (_, skeleton, _), members in sorted(healthy.items()):
        members.sort(key=lambda s: (s.start_ns, s.span_id))
        for chunk in chunks(members, SUMMARISED):
            yield _summary(material, (skeleton, paths[skeleton]), chunk, numbers)


def _failing(material: Material, trace: Trace, skeleton: str, numbers: Numbers) -> Iterator[Document]:
    path = path_signature(trace.services())
    others: dict[str, list[Span]] = defaultdict(list)
    for span in trace.preorder():
        if span.failed:
            yield _error(material, trace, span, numbers[id(span)])
        else:
            others[span.service].append(span)
    for service in sorted(others):
        members = others[service]
        yield material.document(
            "trace",
            ("part", members),
            title=f"{service} in a failing trace",
            text="\n".join(
                [
                    *_open(material, service, trace.services(), skeleton),
                    *(_line(span) for span in members),
                    *(_told(span) for span in members),
                ]
            ),
            time_ns=min(span.start_ns for span in members),
            service=service,
            environment=environment_of(members[0].resource),
            region=region_of(members[0].resource),
            keys={"trace_id": members[0].trace_id, "path_signature": path},
            source=str(members[0].source),
            attributes=kept((numbers[id(span)], span) for span in members),
        )


def _error(material: Material, trace: Trace, span: Span, number: int) -> Document:
    error = span.exception
    named = error_fields(error.trace, error.type, error.message, material.files_of(span.service)) if error else {}
    parent = trace.by_id.get(span.parent_span_id)
    beside = [*([parent] if parent and parent is not span else []), *trace.children.get(span.span_id, ())]
    near = [neighbour for neighbour in beside if material.may_tell(span.service, neighbour.service)]
    told = (error.raw or f"{error.type}: {error.message}") if error else span.status_message
    skeleton = "".join(_open(material, span.service, trace.services(), trace.skeleton()))
    return material.document(
        "trace",
        ("error", span),
        title=f"{span.service} {span.name} failed",
        text="\n".join(line for line in (_line(span), told, _told(span), *map(_line, near), skeleton) if line),
        time_ns=span.start_ns,
        service=span.service,
        environment=environment_of(span.resource),
        region=region_of(span.resource),
        severity=17,
        keys=join_keys(
            span.attributes,
            span.resource,
            trace_id=span.trace_id,
            span_id=span.span_id,
            path_signature=path_signature(trace.services()),
        ),
        source=str(span.source),
        attributes={"skeleton": skeleton, **kept([(number, span)])},
        **named,
    )


def _summary(material: Material, way: tuple[str, tuple[str, ...]], spans: Sequence[Span], numbers: Numbers) -> Document:
    skeleton, services = way
    first = spans[0]
    shown = "".join(_open(material, first.service, services, skeleton))
    took = sorted((span.end_ns - span.start_ns) / 1e6 for span in spans)
    counts = {"spans": len(spans), "median_ms": round(statistics.median(took), 3), "longest_ms": round(took[-1], 3)}
    return material.document(
        "trace",
        ("healthy", skeleton, spans),
        title=f"{first.service} healthy",
        text=f"{shown}\n{len(spans)} spans, median {counts['median_ms']} ms, longest {counts['longest_ms']} ms",
        time_ns=first.start_ns,
        service=first.service,
        environment=environment_of(first.resource),
        region=region_of(first.resource),
        keys={"path_signature": path_signature(services)},
        source=str(first.source),
        attributes={"skeleton": shown, **counts, **kept((numbers[id(span)], span) for span in spans)},
    )


def _open(material: Material, service: str, services: Sequence[str], skeleton: str) -> list[str]:
    """The skeleton, where all that it names is for everyone who may see the service's documents."""
    return [skeleton] if all(material.may_tell(service, other) for other in services) else []


def _line(span: Span) -> str:
    status = str(span.http_status or span.status)
    return f"{span.service} {span.name} [{span.kind}] {status} {(span.end_ns - span.start_ns) / 1e6:.1f} ms"


def _told(span: Span) -> str:
    return " ".join(f"{k}={v}" for k, v in sorted(span.attributes.items()) if k.startswith(_TOLD))[:1_000]


KIND = Kind("trace", documents, restoring("spans", Span))
