"""Metrics: answers of Prometheus' HTTP API (query_range, query) as they were saved, one document a file."""

from collections.abc import Iterator
from typing import Any

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.jsonlines import NotJson, decode
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.readers.metrics import labels_of, points
from retrieval.ingest.values import text
from retrieval.model import Series, SourceRef

MAX_BYTES = 256 * 1024 * 1024


def read(file: SourceFile, intake: Intake) -> Iterator[Series]:
    try:
        with file.path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            intake.problem(file.name, 0, f"is larger than {MAX_BYTES} bytes; save a shorter range")
            return
        answer = decode(data)
    except OSError as error:
        intake.problem(file.name, 0, f"can't be read ({error.strerror or type(error).__name__}); check its permissions")
    except NotJson as error:
        intake.problem(file.name, 0, str(error))
    else:
        yield from _answer(answer, file, intake)


def _answer(answer: Any, file: SourceFile, intake: Intake) -> Iterator[Series]:
    if isinstance(answer, dict) and answer.get("status") == "error":
        intake.problem(file.name, 0, f"is an error of Prometheus: {text(answer.get('error'))}")
        return
    data = answer.get("data") if isinstance(answer, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(result, list):
        intake.problem(file.name, 0, "is no answer of Prometheus' query or query_range")
        return
    if data.get("resultType") in ("scalar", "string"):
        result = [{"metric": {}, "value": result}]
    for at, raw in enumerate(result):
        series = _series(raw, file)
        if series is None:
            intake.problem(file.name, 0, f"result {at} holds no values")
        else:
            yield series


def _series(raw: Any, file: SourceFile) -> Series | None:
    if not isinstance(raw, dict):
        return None
    values = raw.get("values", [raw["value"]] if "value" in raw else None)
    if not isinstance(values, list):
        return None
    labels = labels_of(raw.get("metric"))
    name = labels.pop("__name__", "") or file.stem  # an expression drops the name; what was asked is the file's
    found, _ = points(values)
    return Series(metric=name, labels=labels, points=found, source=SourceRef(file.name))


READER = Reader(kind="prometheus", part="series", patterns=("metrics/**/*.json",), read=read)
