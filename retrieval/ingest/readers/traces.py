"""Traces: OTLP JSON, an export request or a span a line."""

from collections.abc import Iterator

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.jsonlines import objects
from retrieval.ingest.otlp import groups, span_of
from retrieval.ingest.readers.base import Reader
from retrieval.model import SourceRef, Span


def read(file: SourceFile, intake: Intake) -> Iterator[Span]:
    for number, line in objects(file, intake):
        source = SourceRef(file.name, number)
        for resource, scope, raw in groups(line, "resourceSpans", "scopeSpans", "spans"):
            span = span_of(raw, resource, scope, source)
            if span is None:
                intake.problem(file.name, number, "a span without a trace id, a span id or a start time")
            else:
                yield span


READER = Reader(kind="traces", part="spans", patterns=("traces/**/*.jsonl", "traces/**/*.json"), read=read)
