"""What was changed in production: deploys, flags, configuration, one JSON object a line each."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.jsonlines import objects
from retrieval.ingest.moments import time_ns
from retrieval.ingest.readers.base import Read, Reader
from retrieval.ingest.readers.metrics import number
from retrieval.ingest.values import first, text
from retrieval.model import ConfigChange, Deploy, FlagChange, SourceRef

_AT = ("at", "time", "timestamp", "ts", "changed_at")


def _deploy(line: Mapping[str, Any], source: SourceRef) -> Deploy | str:
    started = time_ns(first(line, "started_at", "startedAt", "at", "time", "timestamp"))
    service, sha = text(line.get("service")), text(first(line, "git_sha", "commit", "sha", "revision")).strip().lower()
    if started is None or not service or not sha:
        return "is no deploy; expected at least service, git_sha and started_at"
    percent = number(line["percent"]) if line.get("percent") is not None else None
    return Deploy(
        service=service,
        git_sha=sha,
        started_ns=started,
        finished_ns=time_ns(first(line, "finished_at", "finishedAt")),
        previous_sha=text(first(line, "previous_sha", "previous")).strip().lower(),
        image_digest=text(line.get("image_digest")),
        deployment_id=text(line.get("deployment_id")),
        region=text(line.get("region")),
        environment=text(line.get("environment")),
        percent=percent if percent is not None and 0 <= percent <= 100 else None,
        source=source,
    )


def _flag(line: Mapping[str, Any], source: SourceRef) -> FlagChange | str:
    at, flag = time_ns(first(line, *_AT)), text(first(line, "flag", "key", "name"))
    if at is None or not flag or "value" not in line:
        return "is no flag change; expected at least at, flag and value"
    service, region = text(line.get("service")), text(line.get("region"))
    return FlagChange(at_ns=at, flag=flag, value=line["value"], service=service, region=region, source=source)


def _config(line: Mapping[str, Any], source: SourceRef) -> ConfigChange | str:
    at, key = time_ns(first(line, *_AT)), text(first(line, "key", "name"))
    if at is None or not key or "value" not in line:
        return "is no configuration change; expected at least at, key and value"
    return ConfigChange(at_ns=at, service=text(line.get("service")), key=key, value=text(line["value"]), source=source)


def _reading(make: Callable[[Mapping[str, Any], SourceRef], Struct | str]) -> Read:
    def read(file: SourceFile, intake: Intake) -> Iterator[Struct]:
        for number_, line in objects(file, intake):
            record = make(line, SourceRef(file.name, number_))
            if isinstance(record, str):
                intake.problem(file.name, number_, record)
            else:
                yield record

    return read


DEPLOYS = Reader(kind="deploys", part="deploys", patterns=("deploys.jsonl", "deploys/*.jsonl"), read=_reading(_deploy))
FLAGS = Reader(kind="flags", part="flags", patterns=("flags.jsonl", "flags/*.jsonl"), read=_reading(_flag))
CONFIG = Reader(kind="config", part="config", patterns=("config.jsonl", "config/*.jsonl"), read=_reading(_config))
