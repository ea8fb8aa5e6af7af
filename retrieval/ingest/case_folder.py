"""A case folder to `CaseSources`: every part is optional, none can break another.

Each file is read as a stream by the reader that claims its name, each record is redacted as it is read. What can't be
used is reported as a `Problem`, with file and line, and the rest is used. `truth.json` is never opened.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from retrieval.errors import BadInput, Reason
from retrieval.ingest import services
from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.moments import time_ns
from retrieval.ingest.readers import READERS, Reader, contracts
from retrieval.ingest.redaction import redact
from retrieval.ingest.repositories import read_repositories
from retrieval.model import CaseSources, LogRecord, Problem, ServiceInfo, Span
from retrieval.ports import Redactor

_REFERENCE_FILES = ("alert.json", "deploys.jsonl")
_REFERENCE_BYTES = 256 * 1024
_TIME_IN_JSON = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")

# In time order, whatever order the files came in; a stable sort keeps a file's own order within one moment.
_ORDER: dict[str, Callable[[Any], Any]] = {
    "spans": lambda s: s.start_ns,
    "logs": lambda r: r.time_ns,
    "deploys": lambda d: d.started_ns,
    "flags": lambda f: f.at_ns,
    "config": lambda c: c.at_ns,
}


async def read_sources(folder: Path, *, redactor: Redactor, scratch: Path) -> CaseSources:
    """All that a case folder holds. Bundles of repositories are cloned under `scratch`, which the caller removes.

    Raises: BadInput NOT_FOUND (the folder isn't there).
    """
    if not await asyncio.to_thread(folder.is_dir):
        raise BadInput(
            f"{folder} is no folder",
            reason=Reason.NOT_FOUND,
            subject=str(folder),
            remedy="give the path of a case folder",
        )
    git_intake = Intake()
    read, repos = await asyncio.gather(
        asyncio.to_thread(_read_folder, folder, redactor), read_repositories(folder, scratch, git_intake)
    )
    sources, intake = read
    present = (*sources.present, "repos") if repos else sources.present
    return replace(
        sources,
        repos=repos,
        services=services.complete(sources.services, _seen(sources), repos),
        present=tuple(sorted(present)),
        problems=_in_order(intake.problems() + git_intake.problems()),
    )


async def read_files(kind: str, paths: Sequence[Path], *, redactor: Redactor) -> CaseSources:
    """Files of one kind, wherever they lie, for `ingest`; the kinds are those of `READERS`, `logs` takes both forms.

    Raises: BadInput (no such kind, no such file).
    """
    readers = readers_of(kind, paths)
    return await asyncio.to_thread(_read_paths, readers, paths, redactor)


def readers_of(kind: str, paths: Sequence[Path]) -> list[Reader]:
    """Those of one kind; `paths` are there. Raises: BadInput."""
    readers = [r for r in READERS if r.kind == kind or (kind == "logs" and r.part == "logs")]
    readers += [r for r in READERS if kind == "metrics" and r.kind == "prometheus"]
    if not readers:
        known = ", ".join(sorted({r.kind for r in READERS}))
        raise BadInput(f"there is no kind {kind!r}", subject=kind, remedy=f"use one of {known}")
    missing = next((p for p in paths if not p.exists()), None)
    if missing is not None:
        raise BadInput(
            f"{missing} does not exist", reason=Reason.NOT_FOUND, subject=str(missing), remedy="check the path"
        )
    return readers


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files that paths name, those of a folder in the order of their names."""
    return [f for path in paths for f in (sorted(path.rglob("*")) if path.is_dir() else [path]) if f.is_file()]


def redacted_records(readers: Sequence[Reader], path: Path, intake: Intake, redactor: Redactor) -> Iterator[Any]:
    """The records of one file, by the reader that takes it; none where no reader does."""
    reader = _reader_for(readers, path)
    if reader is not None:
        yield from (redact(record, redactor) for record in reader.read(SourceFile(path, path.name), intake))


def gathered(found: dict[str, list[Any]], problems: Iterable[Problem]) -> CaseSources:
    """Sources of records that came without a case folder around them."""
    sources = _sources(found, {}, set())
    return replace(sources, services=services.complete({}, _seen(sources), ()), problems=_in_order(problems))


def _read_paths(readers: list[Reader], paths: Sequence[Path], redactor: Redactor) -> CaseSources:
    intake = Intake()
    found: dict[str, list[Any]] = {}
    for file in files_of(paths):
        if (reader := _reader_for(readers, file)) is not None:
            found.setdefault(reader.part, []).extend(redacted_records([reader], file, intake, redactor))
    return gathered(found, intake.problems())


def _reader_for(readers: Sequence[Reader], path: Path) -> Reader | None:
    for reader in readers:
        if any(path.suffix == Path(p).suffix for p in reader.patterns):
            return reader
    return None


def _read_folder(folder: Path, redactor: Redactor) -> tuple[CaseSources, Intake]:
    intake = Intake(_reference(folder))
    declared = services.read_services(folder, intake)
    repo_names = {p.name.removesuffix(".bundle") for p in (folder / "repos").glob("*")} if declared == {} else set()
    found = _gather(_claimed(folder, intake), intake, redactor)
    sources = _sources(found, declared, repo_names)
    present = {r.kind if r.kind not in ("textlog", "prometheus") else r.part for r, _ in _claimed(folder, Intake())}
    present = {"metrics" if p == "series" else p for p in present}
    given = _contracts(folder, intake)
    if declared:
        present.add("services")
    if given:
        present.add("contracts")
    return replace(sources, contracts=given, present=tuple(sorted(present))), intake


def _reference(folder: Path) -> int:
    """A moment near the incident: the latest that the alert (else the deploys) names."""
    for name in _REFERENCE_FILES:
        try:
            with (folder / name).open("rb") as stream:
                head = stream.read(_REFERENCE_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        moments = [at for m in _TIME_IN_JSON.findall(head) if (at := time_ns(m)) is not None and m[:4] > "0001"]
        if moments:
            return max(moments)
    return 0


def _claimed(folder: Path, intake: Intake) -> Iterator[tuple[Reader, SourceFile]]:
    """Files and their readers, each file once, in the order of the registry and then of the names."""
    root = folder.resolve()
    taken: set[Path] = set()
    for reader in READERS:
        paths = sorted({p for pattern in reader.patterns for p in folder.glob(pattern)})
        for path in paths:
            if path in taken or not path.is_file():
                continue
            taken.add(path)
            name = path.relative_to(folder).as_posix()
            if not path.resolve().is_relative_to(root):
                intake.problem(name, 0, "is a link that leaves the case folder and was not followed")
                continue
            yield reader, SourceFile(path, name)


def _gather(files: Iterable[tuple[Reader, SourceFile]], intake: Intake, redactor: Redactor) -> dict[str, list[Struct]]:
    found: dict[str, list[Struct]] = {}
    for reader, file in files:
        part = found.setdefault(reader.part, [])
        part.extend(redact(record, redactor) for record in reader.read(file, intake))
    return found


def _sources(found: dict[str, list[Any]], declared: dict[str, ServiceInfo], repos: set[str]) -> CaseSources:
    if "spans" in found:
        found["spans"] = list(_once(found["spans"]))
    if "logs" in found:
        known = {*declared, *repos, *(s.service for s in found.get("spans", ())), *(r.service for r in found["logs"])}
        found["logs"] = _with_service(found["logs"], sorted(known - {""}))
    for part, key in _ORDER.items():
        if part in found:
            found[part].sort(key=key)
    parts: dict[str, Any] = {part: tuple(records) for part, records in found.items()}
    return CaseSources(services=declared, **parts)


def _once(spans: Iterable[Span]) -> Iterator[Span]:
    """Exporters send a batch again when its answer was lost; the first of a (trace id, span id) is kept."""
    seen: set[tuple[str, str]] = set()
    for span in spans:
        if (key := (span.trace_id, span.span_id)) not in seen:
            seen.add(key)
            yield span


def _with_service(logs: list[LogRecord], known: Sequence[str]) -> list[LogRecord]:
    """Records that don't say whose they are get the service that their file is named after."""
    by_file: dict[str, str] = {}
    for at, record in enumerate(logs):
        if not record.service:
            name = record.source.file
            if name not in by_file:
                by_file[name] = services.service_of_file(Path(name).name.split(".")[0], known)
            if by_file[name]:
                logs[at] = replace(record, service=by_file[name])
    return logs


def _seen(sources: CaseSources) -> set[str]:
    named = {s.service for s in sources.spans} | {r.service for r in sources.logs}
    return named | {d.service for d in sources.deploys if d.service in named}


def _contracts(folder: Path, intake: Intake) -> dict[str, tuple[str, ...]]:
    """Service -> paths of its contract files, relative to the case folder."""
    found: dict[str, list[str]] = {}
    root = folder.resolve()
    for path in sorted((folder / "contracts").rglob("*")):
        parts = path.relative_to(folder / "contracts").parts
        if not path.is_file() or len(parts) < 2:
            continue
        name = path.relative_to(folder).as_posix()
        if path.resolve().is_relative_to(root):
            found.setdefault(parts[0], []).append(name)
        elif path.suffix[1:] not in contracts.ENDINGS:  # of those the readers told it
            intake.problem(name, 0, "is a link that leaves the case folder and was not followed")
    return {service: tuple(names) for service, names in found.items()}


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda p: (p.source.file, p.source.line, p.reason)))
