"""What a snapshot is asked before it may be published."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.snapshots.book import Snapshot
from bot.snapshots.evaluate import Judge, Probe, read_probes
from retrieval.errors import BadInput, Reason, RepositoryError
from retrieval.index import open_index
from retrieval.model import Commit, Document
from retrieval.ports import Index

SOURCE = b"import x\n\n\ndef charge(card):\n    return card\n"


class Files:
    """A repository at one commit."""

    def __init__(self, **files: bytes) -> None:
        self.name, self.path = "pay", Path()
        self._files = {name.replace("__", "/").replace("_py", ".py"): content for name, content in files.items()}

    async def read(self, sha: str, path: str) -> bytes:
        if sha != "c1" or path not in self._files:
            raise RepositoryError("no such file", reason=Reason.NOT_FOUND)
        return self._files[path]

    async def resolve(self, revision: str) -> str:
        raise NotImplementedError

    async def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        raise NotImplementedError

    async def log(self, *, after: str = "", until: str, limit: int = 2000) -> list[Commit]:
        raise NotImplementedError

    async def commit(self, sha: str) -> Commit:
        raise NotImplementedError

    async def files(self, sha: str) -> list[str]:
        raise NotImplementedError


def symbol(name: str, lines: tuple[int, int] = (4, 5), snapshot: str = "s-1") -> Document:
    return Document(
        id=f"symbol:{snapshot}:{name}",
        kind="symbol",
        title=f"pay/card.py::{name}",
        text=f"def {name}(card)",
        time_ns=0,
        snapshot=snapshot,
        paths=("pay/card.py",),
        symbols=(f"pay/card.py::{name}",),
        attributes={"repo": "pay", "lines": list(lines)},
    )


@pytest.fixture
async def index() -> AsyncIterator[Index]:
    opened = await open_index(None)
    yield opened
    await opened.close()


def judge(index: Index, repository: Files | None = None) -> Judge:
    snapshot = Snapshot(id="s-1", built_ns=0, heads={"pay": "c1"})
    repositories = {"pay": repository or Files(pay__card_py=SOURCE)}
    return Judge(index, snapshot, repositories, ("public",))


async def test_what_it_holds_is_found_and_resolves(index: Index) -> None:
    await index.put([symbol("charge")])

    found = await judge(index).evaluation([Probe("who charges a card", "card.py")])

    assert (found.probes, found.empty_hits, found.faithfulness, found.failed) == (2, 0.0, 1.0, ())
    assert found.passed


async def test_an_empty_snapshot_may_not_be_published(index: Index) -> None:
    await index.put([symbol("charge", snapshot="s-2")])

    assert not (await judge(index).evaluation([])).passed
    asked = await judge(index).evaluation([Probe("charge")])
    assert (asked.empty_hits, asked.passed) == (1.0, False)


async def test_a_question_that_finds_nothing_counts_as_empty(index: Index) -> None:
    await index.put([symbol("charge")])

    found = await judge(index).evaluation([Probe("zzz unknown")])

    assert found.empty_hits == 0.5
    assert found.failed == ("found nothing: zzz unknown",)


async def test_an_answer_that_names_something_else_is_not_faithful(index: Index) -> None:
    await index.put([symbol("charge")])

    found = await judge(index).evaluation([Probe("charge card", "refund.py")])

    assert found.faithfulness == 0.5
    assert found.failed == ("not faithful: charge card",)


@pytest.mark.parametrize(
    ("lines", "repository"),
    [((1, 2), Files(pay__card_py=SOURCE)), ((4, 5), Files()), ((4, 5), Files(pay__card_py=b"# moved\n"))],
)
async def test_a_citation_of_lines_that_do_not_hold_it_is_not_faithful(
    index: Index, lines: tuple[int, int], repository: Files
) -> None:
    await index.put([symbol("charge", lines)])

    assert (await judge(index, repository).evaluation([])).faithfulness == 0.0


def test_probes_are_texts_or_texts_with_what_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "probes.yaml"
    path.write_text("- how is a card charged\n- text: refunds\n  expect: refund.py\n")

    assert read_probes(path) == [Probe("how is a card charged"), Probe("refunds", "refund.py")]


@pytest.mark.parametrize("content", ["", "a: b", "- ", "- [1]", "{", "- expect: x"])
def test_a_file_without_probes_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "probes.yaml"
    path.write_text(content)
    with pytest.raises(BadInput) as refusal:
        read_probes(path)
    assert refusal.value.remedy


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="absent"):
        read_probes(tmp_path / "absent.yaml")
