"""Profiles and heap reports under `profiles/`; the format is seen from the content (`retrieval.ingest.profiles`)."""

from collections.abc import Iterator

from msgspec.structs import replace

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.profiles import FORMATS
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.readers.dumps import head
from retrieval.ingest.readers.origin import is_baseline, service_of, taken_ns
from retrieval.model import Profile, SourceRef


def read(file: SourceFile, intake: Intake) -> Iterator[Profile]:
    text = head(file, intake)
    found = next((profile for reads in FORMATS.values() if (profile := reads(text)) is not None), None)
    if found is None:
        intake.problem(file.name, 0, f"is no profile that can be read; expected one of {', '.join(FORMATS)}")
        return
    yield replace(
        found,
        service=service_of(file.name),
        time_ns=taken_ns(file.name, text),
        baseline=is_baseline(file.name),
        source=SourceRef(file.name),
    )


READER = Reader(
    kind="profiles",
    part="profiles",
    patterns=("profiles/**/*.txt", "profiles/**/*.json", "profiles/**/*.folded", "profiles/**/*.collapsed"),
    read=read,
)
