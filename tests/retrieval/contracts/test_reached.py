"""Which changes of contracts had reached production, from repositories and from files."""

from pathlib import Path

from msgspec import structs

from retrieval.code.git import open_repository
from retrieval.contracts.reached import find_contract_changes
from retrieval.model import Case, Contract, ContractElement, Rollout, SourceRef, Suspect
from tests.building import a_case, a_deploy
from tests.retrieval.code.conftest import Work

PROTO = 'syntax = "proto3"; message Coupon { string id = 1; string text = 2; }'


async def suspected(work: Work) -> Case:
    repo = await open_repository("shop", work.path)
    (commit, *_) = await repo.log(until=work.git("rev-parse", "HEAD"))
    suspect = Suspect(commit=commit, service="price", deploy=a_deploy(), reached_ns=a_deploy().started_ns)
    return a_case(suspects=(suspect,))


async def test_a_suspect_s_change_reached_production_with_its_rollout(tmp_path: Path) -> None:
    work = Work(tmp_path / "shop")
    work.commit("Coupons", **{"a.proto": PROTO})
    work.commit("Less", **{"a.proto": PROTO.replace(" string text = 2;", "")})
    case = await suspected(work)
    found = await find_contract_changes(case, {"shop": await open_repository("shop", work.path)})
    assert [(c.service, c.reached_ns) for c in found.changes] == [("price", a_deploy().started_ns)]
    assert (await find_contract_changes(case, {})).changes == ()


async def test_a_repository_that_cannot_answer_is_told_and_the_rest_is_used(tmp_path: Path) -> None:
    work = Work(tmp_path / "shop")
    work.commit("Coupons", **{"a.proto": PROTO})
    work.commit("Less", **{"a.proto": PROTO.replace(" string text = 2;", "")})
    case = await suspected(work)
    repo = await open_repository("shop", work.path)
    (work.path / ".git").rename(work.path / "gone")
    found = await find_contract_changes(case, {"shop": repo})
    assert found.changes == ()
    assert [str(p.source) for p in found.problems] == ["repos/shop"]


def versions(*names: str) -> tuple[Contract, ...]:
    field = ContractElement(what="field", name="Coupon.2", owner="Coupon", member="text")
    return tuple(
        Contract(
            service="price", format="protobuf", family="a.proto", version=name, elements=(field,) if n == 0 else (),
            source=SourceRef(f"contracts/price/{name}/a.proto"),
        )
        for n, name in enumerate(names)
    )  # fmt: skip


async def test_what_is_called_current_came_with_the_current_deploy_and_a_number_says_nothing() -> None:
    for names, reached in ((("before", "after"), a_deploy().started_ns), (("v1", "v2"), None)):
        case = a_case(suspects=())
        case = structs.replace(case, sources=structs.replace(case.sources, contract_files=versions(*names)))
        (change,) = (await find_contract_changes(case, {})).changes
        assert change.reached_ns == reached
        (unknown,) = (await find_contract_changes(structs.replace(case, rollout=Rollout()), {})).changes
        assert unknown.reached_ns is None
