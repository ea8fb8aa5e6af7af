"""Environment fingerprints, one JSON object a file under `environment/` (`EnvironmentFingerprint` names the fields).

Values of environment variables are reduced to their shapes here, whatever the writer did.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.moments import time_ns
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.readers.dumps import head
from retrieval.ingest.readers.origin import is_baseline, service_of, taken_ns
from retrieval.model import EnvironmentFingerprint, SourceRef, value_shape

_MAPS = ("packages", "variables", "seeds")
_TEXTS = ("run_id", "service", "commit_sha", "workspace_digest", "os", "arch", "kernel", "locale", "timezone",
          "interpreter", "lock_digest", "image_digest")  # fmt: skip
_MAX_ENTRIES = 5_000
_MAX_TEXT = 300


def read(file: SourceFile, intake: Intake) -> Iterator[EnvironmentFingerprint]:
    try:
        told = msgspec.json.decode(head(file, intake).encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        intake.problem(file.name, 0, "is no JSON; expected one object with the fields of an environment fingerprint")
        return
    if not isinstance(told, dict) or not {*_TEXTS, *_MAPS} & told.keys():
        intake.problem(file.name, 0, f"is no environment fingerprint; expected at least one of {', '.join(_TEXTS)}")
        return
    known = EnvironmentFingerprint(service=service_of(file.name))
    texts: dict[str, Any] = {name: str(told[name])[:_MAX_TEXT] for name in _TEXTS if told.get(name) not in (None, "")}
    maps: dict[str, Any] = {name: _texts(told.get(name)) for name in _MAPS}
    maps["variables"] = {name: value_shape(value) for name, value in maps["variables"].items()}
    yield replace(
        known,
        **texts,
        **maps,
        time_ns=time_ns(told.get("time_ns") or told.get("time")) or taken_ns(file.name, ""),
        baseline=told.get("baseline") is True or is_baseline(file.name),
        source=SourceRef(file.name),
    )


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(k)[:_MAX_TEXT]: str(value[k])[:_MAX_TEXT] for k in sorted(value, key=str)[:_MAX_ENTRIES]}


READER = Reader(kind="environment", part="environments", patterns=("environment/**/*.json",), read=read)
