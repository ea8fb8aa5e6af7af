"""Repositories into an index: from the deployed commits, with touched symbols, without what can't be read."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from retrieval import model
from retrieval.code.git import open_repository
from retrieval.index import open_index
from retrieval.ingest.redaction import throwaway_redactor
from retrieval.ingest.redaction.keys import strength
from retrieval.ingest.redaction.persons import personal
from retrieval.kinds import Keeping, store_sources
from retrieval.model import CaseSources, ServiceInfo
from retrieval.ports import Index, Repository
from tests.building import a_deploy, a_span
from tests.contract.index_documents import FixedClock, RefusesHunter2, query

BEFORE = "def total(basket):\n    return sum(basket)\n\n\ndef other():\n    return 1\n"
AFTER = BEFORE.replace("sum(basket)", "sum(basket) + tax(basket)")


@pytest.fixture
async def index() -> AsyncIterator[Index]:
    opened = await open_index(None, clock=FixedClock())
    yield opened
    await opened.close()


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "price").mkdir(parents=True)
    git(folder, "init", "-q")
    for subject, text in (("Add totals", BEFORE), ("Add tax to totals", AFTER)):
        (folder / "price" / "total.py").write_text(text)
        (folder / "notes.txt").write_text(subject)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", subject)
    return folder


def deployed(sha: str) -> CaseSources:
    return CaseSources(
        deploys=(a_deploy(sha),),
        services={
            "price": ServiceInfo(name="price", repo="shop", path_prefix="price/", language="python"),
            "web": ServiceInfo(name="web", repo="shop"),
        },
    )


async def test_the_history_of_what_was_deployed_is_stored_with_its_symbols(index: Index, shop: Path) -> None:
    repo = await open_repository("shop", shop)

    stored = await store_sources(index, deployed(git(shop, "rev-parse", "HEAD")), {"shop": repo})

    assert stored.skipped == ()
    assert stored.counts["diff"] == 4 and stored.counts["symbol"] == 2
    hits = await index.symbolic(query(kinds=("diff",), symbols=("price/total.py::total",), paths=("price/total.py",)))
    assert hits[0].document.attributes["subject"] == "Add tax to totals"
    assert hits[0].score == 1.0
    assert hits[0].document.service == "price"
    (symbol,) = await index.lexical(query("tax", kinds=("symbol",)))
    assert symbol.document.keys["symbol_id"] == "price/total.py::total"
    notes = await index.lexical(query("notes.txt", kinds=("diff",)))
    assert {h.document.service for h in notes} == {"web"}


async def test_a_commit_after_the_deployed_one_is_not_there_but_by_its_tip(index: Index, shop: Path) -> None:
    head, first = git(shop, "rev-parse", "HEAD"), git(shop, "rev-parse", "HEAD~1")
    repo = await open_repository("shop", shop)

    await store_sources(index, deployed(first), {"shop": repo})
    assert await index.count(query(keys={"commit_sha": head}, kinds=("diff",))) == 0

    await store_sources(index, deployed(first), {"shop": repo}, Keeping(tips={"shop": (head,)}))
    assert await index.count(query(keys={"commit_sha": head}, kinds=("diff",))) == 2


async def test_an_unknown_commit_and_a_broken_repository_cost_only_themselves(index: Index, shop: Path) -> None:
    sources = deployed("0" * 40)
    repo = await open_repository("shop", shop)

    assert (await store_sources(index, sources, {"shop": repo})).counts["deploy"] == 1

    head = git(shop, "rev-parse", "HEAD")
    for pack in (shop / ".git" / "objects").glob("??/*"):
        pack.chmod(0o644)
        pack.write_bytes(b"broken")
    stored = await store_sources(index, deployed(head), {"shop": repo})
    assert stored.counts["deploy"] == 1
    assert [s.subject for s in stored.skipped] == ["shop"]


class PlainRepository:
    """Only what the port asks for."""

    def __init__(self, repo: Repository) -> None:
        self.name, self.path = repo.name, repo.path
        self.resolve, self.log, self.files, self.read, self.commit, self.read_versions = (
            repo.resolve, repo.log, repo.files, repo.read, repo.commit, repo.read_versions,
        )  # fmt: skip


async def test_a_repository_that_reads_one_file_at_a_time_will_do(index: Index, shop: Path) -> None:
    repo = PlainRepository(await open_repository("shop", shop))

    stored = await store_sources(index, deployed(git(shop, "rev-parse", "HEAD")), {"shop": repo})  # type: ignore[dict-item]

    assert stored.counts["symbol"] == 2


async def test_code_is_redacted_before_it_is_kept(shop: Path) -> None:
    (shop / "price" / "secret.py").write_text("PASSWORD = 'hunter2'\n")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "Add a secret")
    repo = await open_repository("shop", shop)
    sources = deployed(git(shop, "rev-parse", "HEAD"))

    class Removes(RefusesHunter2):
        def text(self, value: str) -> str:
            return value.replace("hunter2", "<secret>")

    strict = await open_index(None, clock=FixedClock(), redactor=RefusesHunter2())
    refused = await store_sources(strict, sources, {"shop": repo})
    kept = await store_sources(strict, sources, {"shop": repo}, Keeping(redactor=Removes()))

    assert [s.reason for s in refused.skipped] == ["secret"]
    assert kept.skipped == ()
    (found,) = await strict.lexical(query("PASSWORD", kinds=("diff",)))
    assert "<secret>" in found.document.text
    await strict.close()


async def test_only_so_many_commits_are_kept(index: Index, shop: Path) -> None:
    repo = await open_repository("shop", shop)
    head = git(shop, "rev-parse", "HEAD")

    await store_sources(index, deployed(head), {"shop": repo}, Keeping(commit_limit=1, touched_limit=0))

    hits = await index.lexical(query(kinds=("diff",)))
    assert {h.document.keys["commit_sha"] for h in hits} == {head}
    assert all(not h.document.symbols for h in hits)


async def test_what_our_records_name_like_a_person_is_kept_as_it_is() -> None:
    redactor = throwaway_redactor()
    spans = tuple(replace(a_span(minute), name="Charge Card", span_id=f"{n:016x}") for n, minute in enumerate((1, 2)))
    opened = await open_index(None, clock=FixedClock(), redactor=redactor)
    try:
        stored = await store_sources(opened, CaseSources(spans=spans), {}, Keeping(redactor=redactor))
        found = await opened.lexical(query("charge"))
    finally:
        await opened.close()

    assert not stored.skipped
    assert stored.counts["trace"] >= 1
    assert any("Charge Card" in hit.document.text for hit in found)


def test_no_field_of_a_record_is_named_like_a_secret_or_for_certain_like_a_person() -> None:
    """Such a record would be taken out of by its own field's name, and then refused."""
    records = [kind for kind in vars(model).values() if isinstance(kind, type) and issubclass(kind, Struct)]
    named = {(kind.__name__, name) for kind in records for name in kind.__struct_fields__}
    certain = {pair for pair in named if (mark := personal(pair[1])) is not None and mark.certain}

    assert len(named) > 200
    assert certain == set()
    assert {pair for pair in named if strength(pair[1]) == "strong"} == set()
