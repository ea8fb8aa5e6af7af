"""Markdown with YAML front matter, cut at its headings: what postmortems and tickets are written in."""

import re
from typing import Any

import yaml
from msgspec import Struct

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.values import text
from retrieval.model import Section

MAX_BYTES = 2 * 1024 * 1024
_MAX_FRONT = 16 * 1024
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)(?:\r?\n)?^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_FENCE = re.compile(r"[ ]{0,3}(```+|~~~+)")


class Markdown(Struct, frozen=True):
    """A document: its front matter as plain values, its title, its sections, and the text without the front matter."""

    front: dict[str, Any]
    title: str
    sections: tuple[Section, ...]
    body: str


class _NoAliases(yaml.SafeLoader):
    """Front matter has no use for aliases; a few lines of them can stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def read_markdown(file: SourceFile, intake: Intake) -> Markdown | None:
    """None where the file can't be read; what can't be used of it is reported."""
    try:
        with file.path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        intake.problem(file.name, 0, f"can't be read ({error.strerror or type(error).__name__}); check its permissions")
        return None
    if len(data) > MAX_BYTES:
        intake.problem(file.name, 0, f"is larger than {MAX_BYTES} bytes; the rest was left out")
    content = data[:MAX_BYTES].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    front, body = _front_matter(content, file, intake)
    title, sections = sections_of(body)
    return Markdown(front, title, sections, body)


def _front_matter(content: str, file: SourceFile, intake: Intake) -> tuple[dict[str, Any], str]:
    match = _FRONT.match(content)
    if match is None:
        return {}, content
    body = content[match.end() :]
    if len(match[1]) > _MAX_FRONT:
        intake.problem(file.name, 1, f"the front matter is longer than {_MAX_FRONT} characters and was skipped")
        return {}, body
    try:
        front = yaml.load(match[1], Loader=_NoAliases)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        intake.problem(file.name, mark.line + 2 if mark else 1, "the front matter is no YAML; the text was read")
        return {}, body
    if front is None:
        return {}, body
    if not isinstance(front, dict):
        intake.problem(file.name, 1, "the front matter is no mapping; the text was read")
        return {}, body
    return {text(k): _plain(v) for k, v in front.items()}, body


def _plain(value: Any) -> Any:
    """YAML's dates and other types as text, so that every later form of the record can hold them."""
    if isinstance(value, dict):
        return {text(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def sections_of(body: str) -> tuple[str, tuple[Section, ...]]:
    """The title is the only heading of the first level, if there is one; its text is the first section."""
    found = _cut(body)
    tops = [heading for level, heading, _ in found if level == 1]
    title = tops[0] if len(tops) == 1 and next((level for level, _, _ in found if level), 0) == 1 else ""
    sections = (Section("" if level == 1 and title else heading, words) for level, heading, words in found)
    return title, tuple(s for s in sections if s.heading or s.text)


def _cut(body: str) -> list[tuple[int, str, str]]:
    """(level, heading, text under it); level 0 is what stands before the first heading."""
    parts: list[tuple[int, str, list[str]]] = [(0, "", [])]
    fence = ""
    for line in body.split("\n"):
        if marker := _FENCE.match(line):
            if not fence:
                fence = marker[1]
            elif marker[1].startswith(fence):
                fence = ""
        heading = None if fence else _HEADING.match(line)
        if heading:
            parts.append((len(heading[1]), heading[2].strip(), []))
        else:
            parts[-1][2].append(line)
    return [(level, heading, "\n".join(words).strip()) for level, heading, words in parts]
