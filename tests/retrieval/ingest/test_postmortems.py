"""Postmortems in Markdown."""

from pathlib import Path

import pytest

from retrieval.ingest import markdown
from retrieval.ingest.readers.postmortems import READER
from retrieval.model import Postmortem, Section

from .folders import reasons, run, write


def one(folder: Path, text: str, name: str = "p.md") -> Postmortem:
    (found,), problems = run(READER, write(folder, name, text))
    assert reasons(problems) == []
    assert isinstance(found, Postmortem)
    return found


def test_front_matter_and_headings(tmp_path: Path) -> None:
    found = one(
        tmp_path,
        "---\ntitle: Cart full\ndate: 2025-03-11\nservice: shop\ntags: [a, b]\nwhen: 2025-03-11 13:10:08\n---\n"
        "# Summary\nIt was full.\n\n# Root cause\nNo `limit`.\n",
    )
    assert (found.title, found.service, found.date_ns) == ("Cart full", "shop", 1741651200000000000)
    assert found.sections == (Section("Summary", "It was full."), Section("Root cause", "No `limit`."))
    assert found.front_matter["tags"] == ["a", "b"]
    assert found.front_matter["when"] == "2025-03-11 13:10:08"


def test_a_single_first_heading_is_the_title(tmp_path: Path) -> None:
    found = one(tmp_path, "# Cart full\n\n*2025-03-11, shop*\n\n## Root cause ##\nNo limit.\n### Detail\nx")
    assert (found.title, found.date_ns) == ("Cart full", 1741651200000000000)
    assert [s.heading for s in found.sections] == ["", "Root cause", "Detail"]


def test_a_heading_in_a_code_block_is_none(tmp_path: Path) -> None:
    found = one(tmp_path, "## Commands\n```sh\n# not a heading\n```\n~~~\n## nor this\n~~~\n## End\n")
    assert [s.heading for s in found.sections] == ["Commands", "End"]


def test_the_file_s_name_helps_out(tmp_path: Path) -> None:
    found = one(tmp_path, "Just text.", "2024-11-cart-full.md")
    assert (found.title, found.date_ns) == ("2024-11-cart-full", 1730419200000000000)
    assert found.sections == (Section("", "Just text."),)
    assert one(tmp_path, "Just text.", "cart.md").date_ns is None


def test_empty_front_matter_is_none(tmp_path: Path) -> None:
    assert one(tmp_path, "---\n---\n# A\n").front_matter == {}


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("a: [", "the front matter is no YAML"),
        ("- a", "the front matter is no mapping"),
        ("a: &x [1]\nb: *x", "the front matter is no YAML"),
        ("a: !!python/object/apply:os.system ['true']", "the front matter is no YAML"),
        ("a: " + "x" * 20_000, "the front matter is longer than"),
    ],
)
def test_front_matter_that_cannot_be_read_costs_only_itself(tmp_path: Path, front: str, reason: str) -> None:
    (found,), problems = run(READER, write(tmp_path, "p.md", f"---\n{front}\n---\n# Cart\ntext"))
    assert reason in problems[0].reason
    assert (found.title, found.front_matter) == ("Cart", {})


def test_a_file_that_is_too_large_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MAX_BYTES", 20)
    (found,), problems = run(READER, write(tmp_path, "p.md", "# Cart\n" + "x" * 100))
    assert found.title == "Cart"
    assert "larger than 20 bytes" in problems[0].reason


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    _, problems = run(READER, tmp_path / "absent.md")
    assert "can't be read" in problems[0].reason
