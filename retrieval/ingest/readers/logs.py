"""Logs as JSON: OTLP, ECS or a logger's own fields, a record or an export request a line."""

from collections.abc import Iterator

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.jsonlines import objects
from retrieval.ingest.log_records import records
from retrieval.ingest.readers.base import Reader
from retrieval.model import LogRecord, SourceRef


def read(file: SourceFile, intake: Intake) -> Iterator[LogRecord]:
    for number, line in objects(file, intake):
        for record in records(line, SourceRef(file.name, number)):
            if isinstance(record, str):
                intake.problem(file.name, number, record)
            else:
                yield record


READER = Reader(kind="logs", part="logs", patterns=("logs/**/*.jsonl", "logs/**/*.json", "logs/**/*.ndjson"), read=read)
