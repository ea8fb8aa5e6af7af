"""Tickets: Markdown with front matter, and what Jira's and GitHub's APIs (and `gh issue list --json`) export."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.jsonlines import NotJson, decode, objects
from retrieval.ingest.markdown import MAX_BYTES, read_markdown, sections_of
from retrieval.ingest.moments import time_ns
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.values import first, text
from retrieval.model import Section, SourceRef, Ticket

MAX_EXPORT = 64 * 2**20
_MAX_DEPTH = 40  # of Atlassian's document format
_COMMENTS = 50
_SERVICE = re.compile(r"(?:service|svc|component)[:/=]\s*([\w.-]+)", re.I)
_LISTS = ("issues", "items", "tickets", "values", "data")


def read(file: SourceFile, intake: Intake) -> Iterator[Ticket]:
    if file.path.suffix in (".md", ".markdown"):
        yield from _markdown(file, intake)
        return
    for line, issue in _issues(file, intake):
        ticket = _ticket(issue, SourceRef(file.name, line))
        if ticket is None:
            intake.problem(file.name, line, "is no ticket; expected at least a key or number, and a title or summary")
        else:
            yield ticket


def _markdown(file: SourceFile, intake: Intake) -> Iterator[Ticket]:
    found = read_markdown(file, intake)
    if found is None:
        return
    front = found.front
    labels = _texts(front.get("labels", front.get("tags")))
    yield Ticket(
        key=text(first(front, "key", "id", "number", "ticket")) or file.stem,
        title=text(first(front, "title", "summary")) or found.title or file.stem,
        status=text(first(front, "status", "state")),
        created_ns=time_ns(first(front, "created", "created_at", "createdAt", "date", "opened")),
        labels=labels,
        links=_texts(front.get("links", front.get("link"))),
        service=text(front.get("service")) or _labelled(labels),
        sections=found.sections,
        source=SourceRef(file.name),
    )


def _issues(file: SourceFile, intake: Intake) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, issue), the line 0 where the file is one document."""
    if file.path.suffix in (".jsonl", ".ndjson"):
        yield from objects(file, intake)
        return
    try:
        with file.path.open("rb") as stream:
            data = stream.read(MAX_EXPORT + 1)
        if len(data) > MAX_EXPORT:
            raise NotJson(f"is larger than {MAX_EXPORT} bytes and was not read")
        found = decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (OSError, NotJson) as error:
        reason = str(error) if isinstance(error, NotJson) else "can't be read; check its permissions"
        intake.problem(file.name, 0, reason)
        return
    if isinstance(found, dict):
        found = next((found[name] for name in _LISTS if isinstance(found.get(name), list)), [found])
    if not isinstance(found, list):
        intake.problem(file.name, 0, f"expected tickets, found {type(found).__name__}")
        return
    for item in found:
        yield 0, item if isinstance(item, dict) else {}


def _ticket(issue: Mapping[str, Any], source: SourceRef) -> Ticket | None:
    fields = issue["fields"] if isinstance(issue.get("fields"), dict) else issue
    key = text(first(issue, "key", "iid", "number", "id"))
    title = text(first(fields, "summary", "title"))
    if not key or not title:
        return None
    labels = _texts(fields.get("labels"))
    components = _texts(fields.get("components"))
    status = first(fields, "status", "state")
    return Ticket(
        key=f"#{key}" if "key" not in issue and key.isdigit() else key,
        title=title,
        status=_named(status),
        created_ns=time_ns(_moment(first(fields, "created", "created_at", "createdAt"))),
        labels=labels,
        links=tuple(dict.fromkeys([*_linked(fields), *_texts(first(issue, "html_url", "url", "web_url", "self"))])),
        service=text(fields.get("service")) or _labelled(labels) or (components[0] if components else ""),
        sections=_sections(fields),
        source=source,
    )


def _moment(value: Any) -> Any:
    """Jira writes +0000 without a colon behind milliseconds, which ISO's pattern takes as it is."""
    return value.strip() if isinstance(value, str) else value


def _sections(fields: Mapping[str, Any]) -> tuple[Section, ...]:
    title, sections = sections_of(_words(first(fields, "description", "body"))[:MAX_BYTES])
    found = [Section(title, "")] if title and not sections else list(sections)
    comments = fields.get("comment", fields.get("comments"))
    if isinstance(comments, dict):
        comments = comments.get("comments")
    for comment in comments[:_COMMENTS] if isinstance(comments, list) else ():
        if isinstance(comment, dict) and (said := _words(comment.get("body")).strip()):
            found.append(Section("Comment", said[:MAX_BYTES]))
    return tuple(found)


def _words(value: Any) -> str:
    """Text, or the text of Atlassian's document format, its headings as Markdown's."""
    if isinstance(value, str):
        return value
    return _document(value, 0).strip() if isinstance(value, dict) else ""


def _document(node: Any, depth: int) -> str:
    if not isinstance(node, dict) or depth > _MAX_DEPTH:
        return ""
    kind, inside = text(node.get("type")), node.get("content")
    words = text(node.get("text")) + "".join(
        _document(n, depth + 1) for n in (inside if isinstance(inside, list) else ())
    )
    if kind == "heading":
        return f"\n\n## {words}\n\n"
    if kind == "codeBlock":
        return f"\n```\n{words}\n```\n"
    return words + ("\n" if kind in ("paragraph", "listItem", "hardBreak", "tableRow", "blockquote") else "")


def _linked(fields: Mapping[str, Any]) -> Iterator[str]:
    links = fields.get("issuelinks")
    for link in links if isinstance(links, list) else ():
        for side in ("inwardIssue", "outwardIssue"):
            if isinstance(link, dict) and isinstance(link.get(side), dict) and (key := text(link[side].get("key"))):
                yield key


def _named(value: Any) -> str:
    return text(value.get("name")) if isinstance(value, dict) else text(value)


def _texts(value: Any) -> tuple[str, ...]:
    """Names of a list, of a list of objects with names, or of text with commas."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return ()
    return tuple(dict.fromkeys(name for item in value if (name := _named(item).strip())))


def _labelled(labels: tuple[str, ...]) -> str:
    return next((match[1] for label in labels if (match := _SERVICE.fullmatch(label))), "")


_PATTERNS = tuple(f"tickets/**/*.{ending}" for ending in ("md", "markdown", "json", "jsonl", "ndjson"))
READER = Reader(kind="tickets", part="tickets", patterns=_PATTERNS, read=read)
