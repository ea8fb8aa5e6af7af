"""Tickets in Markdown and as trackers export them."""

from pathlib import Path

import pytest

from retrieval.ingest.readers.tickets import READER
from retrieval.model import Section, Ticket

from .folders import reasons, run, write


def test_markdown_with_front_matter(tmp_path: Path) -> None:
    text = (
        "---\nkey: SHOP-17\nstatus: Open\ncreated: 2025-03-11\nlabels: [coupons, service:price]\n"
        "links: SHOP-3, SHOP-4\n"
        "---\n# Coupons without text fail\n\n## Root cause\nNull.\n"
    )
    (ticket,), problems = run(READER, write(tmp_path, "SHOP-17.md", text))
    assert reasons(problems) == []
    assert ticket == Ticket(
        key="SHOP-17", title="Coupons without text fail", status="Open", created_ns=1741651200000000000,
        labels=("coupons", "service:price"), links=("SHOP-3", "SHOP-4"), service="price",
        sections=(Section("Root cause", "Null."),), source=ticket.source,
    )  # fmt: skip


def test_without_front_matter_the_file_is_the_key(tmp_path: Path) -> None:
    (ticket,), _ = run(READER, write(tmp_path, "SHOP-18.md", "It fails."))
    assert (ticket.key, ticket.title, ticket.sections) == ("SHOP-18", "SHOP-18", (Section("", "It fails."),))


def jira() -> dict[str, object]:
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": "text may be null"}]}
    heading = {"type": "heading", "attrs": {"level": 2}, "content": [{"type": "text", "text": "Cause"}]}
    code = {"type": "codeBlock", "content": [{"type": "text", "text": "# no heading"}]}
    return {
        "key": "SHOP-17",
        "self": "https://jira.example/rest/api/3/issue/1",
        "fields": {
            "summary": "Coupons fail", "status": {"name": "In Progress"}, "created": "2025-03-11T09:00:00.000+0000",
            "labels": ["coupons"], "components": [{"name": "price"}],
            "description": {"type": "doc", "content": [heading, paragraph, code]},
            "issuelinks": [{"inwardIssue": {"key": "SHOP-3"}}, {"outwardIssue": {"key": "SHOP-4"}}, 7],
            "comment": {"comments": [{"body": "Seen again."}, {"body": {"type": "doc", "content": [paragraph]}}, 3]},
        },
    }  # fmt: skip


@pytest.mark.parametrize("wrapped", [True, False])
def test_jira_s_export(tmp_path: Path, wrapped: bool) -> None:
    issue = jira()
    (ticket,), problems = run(READER, write(tmp_path, "export.json", {"issues": [issue]} if wrapped else issue))
    assert reasons(problems) == []
    assert (ticket.key, ticket.status, ticket.service) == ("SHOP-17", "In Progress", "price")
    assert ticket.created_ns == 1741683600000000000
    assert ticket.links == ("SHOP-3", "SHOP-4", "https://jira.example/rest/api/3/issue/1")
    assert [s.heading for s in ticket.sections] == ["Cause", "Comment", "Comment"]
    assert "# no heading" in ticket.sections[0].text


def test_github_s_issues_as_the_api_and_as_gh_write_them(tmp_path: Path) -> None:
    api = {
        "number": 42, "title": "Coupons fail", "state": "closed", "created_at": "2025-03-11T09:00:00Z", "comments": 3,
        "labels": [{"name": "bug"}, {"name": "service/price"}], "body": "# What\nNull.",
        "html_url": "https://github.example/shop/issues/42",
    }  # fmt: skip
    gh = {
        "number": 43,
        "title": "Slow",
        "state": "OPEN",
        "createdAt": "2025-03-11T09:00:00Z",
        "comments": [{"body": "+1"}],
    }
    found, problems = run(READER, write(tmp_path, "issues.json", [api, gh, {"title": "no number"}, 7]))
    assert [(t.key, t.status, t.service) for t in found] == [("#42", "closed", "price"), ("#43", "OPEN", "")]
    assert [s.text for s in found[0].sections] == ["Null."]
    assert found[1].sections == (Section("Comment", "+1"),)
    assert len(problems) == 2 and "is no ticket" in problems[0].reason


def test_one_issue_a_line(tmp_path: Path) -> None:
    found, problems = run(
        READER, write(tmp_path, "t.jsonl", {"key": "A-1", "title": "x"}, "{broken", {"key": "A-2", "title": "y"})
    )
    assert [(t.key, t.source.line) for t in found] == [("A-1", 1), ("A-2", 3)]
    assert [p.source.line for p in problems] == [2]


@pytest.mark.parametrize(
    ("text", "reason"), [("{", "is no JSON"), ("3", "expected tickets"), ("[" * 100_000, "nested")]
)
def test_what_is_no_export_is_told(tmp_path: Path, text: str, reason: str) -> None:
    found, problems = run(READER, write(tmp_path, "t.json", text))
    assert found == []
    assert reason in problems[0].reason


def test_a_document_that_is_nested_without_end_is_cut(tmp_path: Path) -> None:
    node: dict[str, object] = {"type": "text", "text": "deep"}
    for _ in range(60):
        node = {"type": "paragraph", "content": [node]}
    issue = {"key": "A-1", "fields": {"summary": "x", "description": node}}
    (ticket,), _ = run(READER, write(tmp_path, "t.json", issue))
    assert ticket.sections == ()
