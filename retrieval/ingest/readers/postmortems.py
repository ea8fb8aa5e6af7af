"""Postmortems and runbooks: Markdown, cut at its headings, with YAML front matter where there is one."""

import re
from collections.abc import Iterator
from typing import Any

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.markdown import read_markdown
from retrieval.ingest.moments import ISO, of_match, time_ns
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.values import text
from retrieval.model import Postmortem, SourceRef

_DATE = re.compile(ISO)
_DATE_IN_NAME = re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?!\d)")
_LOOK_FOR_DATE = 600  # characters of the text in which a date is the document's own


def read(file: SourceFile, intake: Intake) -> Iterator[Postmortem]:
    found = read_markdown(file, intake)
    if found is None:
        return
    yield Postmortem(
        title=text(found.front.get("title")) or found.title or file.stem,
        sections=found.sections,
        service=text(found.front.get("service")),
        date_ns=_date(found.front, found.body, file),
        front_matter=found.front,
        source=SourceRef(file.name),
    )


def _date(front: dict[str, Any], body: str, file: SourceFile) -> int | None:
    for key in ("date", "incident_date", "started_at", "created"):
        if (at := time_ns(front.get(key))) is not None:
            return at
    if (match := _DATE.search(body[:_LOOK_FOR_DATE])) and (at := of_match(match)) is not None:
        return at
    if match := _DATE_IN_NAME.search(file.path.name):
        return time_ns(f"{match['year']}-{match['month']}-{match['day'] or '01'}")
    return None


READER = Reader(
    kind="postmortems", part="postmortems", patterns=("postmortems/**/*.md", "postmortems/**/*.markdown"), read=read
)
