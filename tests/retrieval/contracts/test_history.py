"""What commits changed of contracts, in real repositories."""

from pathlib import Path

import pytest

from retrieval.code.git import open_repository
from retrieval.contracts.history import Found, Reached, commit_changes
from tests.retrieval.code.conftest import Work

PROTO = 'syntax = "proto3";\nmessage Coupon { string id = 1; string text = 2; }\n'


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "shop")


async def found(work: Work) -> Found:
    repo = await open_repository("shop", work.path)
    commits = await repo.log(until=work.git("rev-parse", "HEAD"))
    return await commit_changes(repo, [Reached(commit=c, service="shop", reached_ns=7) for c in commits])


async def test_each_commit_answers_for_its_own_change(work: Work) -> None:
    work.commit("Coupons", **{"api/coupon.proto": PROTO, "README.md": "x"})
    gone = work.commit("No text", **{"api/coupon.proto": PROTO.replace(" string text = 2;", "")})
    work.commit("Say more", **{"README.md": "y"})
    (change,) = (await found(work)).changes
    assert (change.commit_sha, change.told, change.reached_ns) == (gone, "field Coupon.2 (text) removed", 7)
    assert str(change.source) == f"shop@{gone}:api/coupon.proto:2"


async def test_a_contract_that_moves_is_compared_with_where_it_was(work: Work) -> None:
    long = PROTO + "".join(f"message M{n} {{ string a = 1; }}\n" for n in range(20))
    work.commit("Coupons", **{"api/coupon.proto": long})
    work.git("mv", "api/coupon.proto", "coupon.proto")
    work.commit("Move", **{"coupon.proto": long.replace("string id = 1", "int32 id = 1")})
    (change,) = (await found(work)).changes
    assert (change.path, change.fact) == ("coupon.proto", "type")


async def test_a_contract_that_is_deleted_takes_all_of_it_away(work: Work) -> None:
    work.commit("Coupons", **{"api/coupon.proto": PROTO})
    (work.path / "api/coupon.proto").unlink()
    work.commit("Gone")
    assert {c.change for c in (await found(work)).changes} == {"removed"}


async def test_a_migration_is_its_steps_and_a_dropped_index_finds_its_table(work: Work) -> None:
    work.commit("Index", **{"db/1.sql": "CREATE INDEX by_user ON orders (user_id);"})
    work.commit("Tidy", **{"db/2.sql": "DROP INDEX by_user;", "db/2.down.sql": "CREATE INDEX by_user ON x (y);"})
    told = [c.told for c in (await found(work)).changes]
    assert told == ["dropped index orders.by_user", "created index orders.by_user"]


async def test_a_contract_that_cannot_be_read_is_told_and_the_others_are_used(work: Work) -> None:
    work.commit("Coupons", **{"a.proto": PROTO, "b.proto": PROTO})
    work.commit("Break", **{"a.proto": "message {", "b.proto": PROTO.replace("text", "label")})
    result = await found(work)
    assert [c.path for c in result.changes] == ["b.proto"]
    (problem,) = result.problems
    assert problem.source.file.endswith(":a.proto") and problem.source.line == 1


async def test_contracts_of_tests_and_of_others_are_not_read(work: Work) -> None:
    for folder in ("tests", "node_modules/x", "vendor"):
        work.commit("Add", **{f"{folder}/a.proto": PROTO, f"{folder}/1.sql": "DROP TABLE a;"})
        work.commit("Change", **{f"{folder}/a.proto": PROTO.replace("text", "label")})
    assert (await found(work)) == Found()
