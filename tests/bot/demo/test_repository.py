"""The shop's history: the same everywhere, and hard enough to be worth a triage."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from bot.demo.repository import CULPRIT, RELEASES, build_repository
from retrieval.code.git import GitRepository
from retrieval.errors import RepositoryError


async def test_the_history_has_the_same_names_wherever_it_is_built(tmp_path: Path) -> None:
    heads = {await build_repository(tmp_path / name) for name in ("one", "two")}
    assert heads == {"6e44d66f7a9e4943f9ca347235ab832bc6088bed"}


async def test_what_was_released_is_in_it(shop: GitRepository) -> None:
    for sha in (RELEASES.price_good, RELEASES.price_canary, RELEASES.checkout, RELEASES.storefront):
        assert await shop.resolve(sha) == sha
    for newer, older in (
        (RELEASES.checkout, RELEASES.checkout_before),
        (RELEASES.storefront, RELEASES.storefront_before),
    ):
        assert await shop.is_ancestor(older, newer)


async def test_it_is_the_work_of_several_people_over_months(shop: GitRepository) -> None:
    commits = await shop.log(until="6e44d66")
    assert len(commits) >= 45
    assert len({commit.author for commit in commits}) >= 5
    assert commits[0].committed_ns - commits[-1].committed_ns > 120 * 86_400 * 10**9


async def test_the_fault_hides_among_innocent_commits_to_the_same_file(shop: GitRepository) -> None:
    commits = await shop.log(after=RELEASES.price_good, until=RELEASES.price_canary)
    suspects = [c.sha for c in commits if any(f.path.startswith("price/") for f in c.files)]
    formatting = [c.sha for c in commits if any(f.path == "price/format.py" for f in c.files)]
    assert len(suspects) >= 6
    at = formatting.index(CULPRIT)
    assert formatting[:at]
    assert formatting[at + 1 :]


async def test_every_package_has_an_owner(shop: GitRepository) -> None:
    owners = (await shop.read(RELEASES.price_canary, "CODEOWNERS")).decode()
    assert re.search(r"^/price/ +@shop/payments$", owners, re.M)


async def test_a_folder_that_is_not_empty_is_refused_with_a_remedy(tmp_path: Path) -> None:
    await build_repository(tmp_path)
    with pytest.raises(RepositoryError, match="could not build") as caught:
        await build_repository(tmp_path)
    assert caught.value.remedy


def test_the_history_is_text_that_a_person_can_review() -> None:
    text = (files("bot.demo") / "shop" / "history.mbox").read_text(encoding="utf-8")
    assert text.count("\nSubject: ") >= 45
    assert "GIT binary patch" not in text
