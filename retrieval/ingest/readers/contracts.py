"""Contracts and migrations as files: `contracts/SERVICE/...`, versions told by folders or names."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from retrieval.contracts import CONTRACT_FORMATS, Unreadable, read_contract
from retrieval.contracts.base import MAX_BYTES
from retrieval.contracts.versions import Place, place_of
from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.moments import time_ns
from retrieval.ingest.readers.base import Reader
from retrieval.model import Contract, SourceRef

_STAMP = re.compile(r"(20\d\d)[-_]?(\d\d)[-_]?(\d\d)(?:[-_T]?(\d\d)(\d\d)(\d\d)?)?(?!\d)")
ENDINGS = ("yaml", "yml", "json", "jsonschema", "proto", "graphql", "graphqls", "gql", "sql", "ddl", "py")


def read(file: SourceFile, intake: Intake) -> Iterator[Contract]:
    try:
        with file.path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        found = read_contract(file.path.name, data)
    except OSError as error:
        intake.problem(file.name, 0, f"can't be read ({error.strerror or type(error).__name__}); check its permissions")
        return
    except Unreadable as error:
        intake.problem(file.name, error.line, error.reason)
        return
    if found is None:
        if not file.path.stem.lower().endswith(("down", "undo")):
            intake.problem(file.name, 0, f"is none of the contracts that are read: {', '.join(CONTRACT_FORMATS)}")
        return
    format_, elements = found
    service, rest = _belongs(file)
    place = Place(rest, "") if format_.steps else place_of(rest)
    yield Contract(
        service=service,
        format=format_.name,
        family=place.family,
        version=place.version or (PurePosixPath(rest).stem if format_.steps else ""),
        time_ns=_time(place.version or (PurePosixPath(rest).name if format_.steps else "")),
        elements=elements,
        source=SourceRef(file.name),
    )


def _belongs(file: SourceFile) -> tuple[str, str]:
    """The service and the path below its folder: behind `contracts/`, else the folder that the file is in."""
    parts = PurePosixPath(file.name).parts
    if len(parts) < 2:
        parts = PurePosixPath(file.path.as_posix()).parts
    at = max((n for n, part in enumerate(parts[:-2]) if part == "contracts"), default=-1)
    if at >= 0:
        return parts[at + 1], "/".join(parts[at + 2 :])
    return (parts[-2] if len(parts) > 1 and parts[-2] != "/" else ""), parts[-1]


def _time(version: str) -> int | None:
    """The moment that a version's name begins with (`20250514063000_add`, `2025-05-14`); None where it tells none."""
    exact = time_ns(version) if "-" in version else None
    if exact is not None:
        return exact
    match = _STAMP.match(version)
    if match is None:
        return None
    year, month, day, hour, minute, second = match.groups()
    return time_ns(f"{year}-{month}-{day}" + (f"T{hour}:{minute}:{second or '00'}Z" if hour else ""))


_PATTERNS = tuple(f"contracts/*/**/*.{ending}" for ending in ENDINGS)
READER = Reader(kind="contracts", part="contract_files", patterns=_PATTERNS, read=read)
