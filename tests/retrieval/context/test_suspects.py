"""Which commits reached the path before the onset, from real repositories."""

from pathlib import Path

import pytest
from msgspec import structs

from retrieval.code.git import open_repository
from retrieval.context.rollout import find_rollout
from retrieval.context.suspects import find_suspects
from retrieval.context.window import make_window
from retrieval.errors import Reason, RepositoryError
from retrieval.model import Case, ServiceInfo, Suspect, Topology
from tests.retrieval.code.conftest import Work
from tests.retrieval.context.scene import ALERT, alert, deploy, onset, sources

Told = list[tuple[str, Reason]]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "shop")


async def suspects(
    path: Path, *deploys: object, told: Told | None = None, prefix: str = "", topology: Topology | None = None
) -> list[Suspect]:
    info = {"shop": ServiceInfo(name="shop", repo="shop-repo", path_prefix=prefix)}
    case = Case(
        incident_id="i", alerts=(alert(),), sources=sources(*deploys, services=info), onset=onset(-5),
        window=make_window(onset(-5)), topology=topology or Topology(path=("edge", "shop")),
    )  # fmt: skip
    case = structs.replace(case, rollout=find_rollout(case.sources.deploys, onset(-5), case.alerts))
    repos = {"shop-repo": await open_repository("shop-repo", path)}

    def tell(service: str, error: RepositoryError) -> None:
        (told if told is not None else []).append((service, error.reason))

    return list(await find_suspects(case, repos, on_problem=tell))


def steps(work: Work, count: int, prefix: str = "") -> list[str]:
    return [work.commit(f"Step {n}", **{f"{prefix}m.py": f"def f():\n    return {n}\n"}) for n in range(count)]


async def test_commits_between_what_ran_and_what_was_deployed_newest_first(work: Work) -> None:
    shas = steps(work, 6)
    found = await suspects(work.path, deploy(-2000, shas[1]), deploy(-20, shas[4], previous_sha=shas[1]))
    assert [s.commit.sha for s in found] == [shas[4], shas[3], shas[2]]
    assert found[0].symbols == ("m.py::f",) and found[0].service == "shop"
    assert {s.deploy.git_sha for s in found} == {shas[4]}


async def test_deploys_after_the_onset_or_long_before_bring_no_suspects(work: Work) -> None:
    shas = steps(work, 5)
    rows = [deploy(-3000, shas[1]), deploy(-2000, shas[2], previous_sha=shas[1]), deploy(0, shas[4])]
    assert await suspects(work.path, *rows) == []


async def test_each_commit_belongs_to_the_rollout_that_first_brought_it(work: Work) -> None:
    shas = steps(work, 6)
    rows = [deploy(-2000, shas[0]), deploy(-300, shas[2]), deploy(-200, shas[2], percent=50.0), deploy(-20, shas[5])]
    found = await suspects(work.path, *rows)
    assert [s.commit.sha for s in found] == [shas[n] for n in (5, 4, 3, 2, 1)]
    assert [s.deploy.git_sha for s in found] == [shas[5]] * 3 + [shas[2]] * 2
    assert found[-1].reached_ns == rows[1].started_ns


async def test_what_was_rolled_back_is_no_suspect(work: Work) -> None:
    shas = steps(work, 4)
    rows = [deploy(-2000, shas[0]), deploy(-300, shas[1]), deploy(-200, shas[3]), deploy(-100, shas[1])]
    assert [s.commit.sha for s in await suspects(work.path, *rows)] == [shas[1]]


async def test_merges_are_left_out_but_not_what_they_merge(work: Work) -> None:
    base = steps(work, 1)[0]
    work.git("checkout", "-q", "-b", "side")
    side = work.commit("Side", **{"s.py": "x = 1\n"})
    work.git("checkout", "-q", "main")
    work.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    merge = work.git("rev-parse", "HEAD")
    found = await suspects(work.path, deploy(-2000, base), deploy(-20, merge))
    assert [s.commit.sha for s in found] == [side]


async def test_a_path_prefix_keeps_other_services_commits_out(work: Work) -> None:
    base = work.commit("Begin", **{"services/shop/a.py": "1\n", "services/shopping/a.py": "1\n"})
    mine = work.commit("Mine", **{"services/shop/a.py": "2\n"})
    work.commit("Theirs", **{"services/shopping/a.py": "2\n"})
    work.git("mv", "services/shop/a.py", "moved.py")
    moved = work.commit("Move out")
    found = await suspects(work.path, deploy(-2000, base), deploy(-20, moved), prefix="services/shop/")
    assert [s.commit.sha for s in found] == [moved, mine]
    shared = work.commit("Shared", **{"lib/b.py": "3\n"})
    found = await suspects(work.path, deploy(-2000, moved), deploy(-20, shared), prefix="services/shop/")
    assert [s.commit.sha for s in found] == [shared]


async def test_without_a_known_start_the_commits_of_the_last_month_are_taken_and_it_is_told(tmp_path: Path) -> None:
    work = Work(tmp_path / "recent", epoch=ALERT // 10**9 - 7200)
    shas = steps(work, 5)
    told: Told = []
    rows = [deploy(-2000, "f" * 40), deploy(-20, shas[4])]
    assert [s.commit.sha for s in await suspects(work.path, *rows, told=told)] == shas[::-1]
    assert told == [("shop", Reason.NOT_FOUND)]
    assert [s.commit.sha for s in await suspects(work.path, rows[1])] == shas[::-1]
    work.git("clone", "-q", "--depth", "2", f"file://{work.path}", str(tmp_path / "shallow"))
    told.clear()
    found = await suspects(tmp_path / "shallow", deploy(-2000, shas[0]), rows[1], told=told)
    assert [s.commit.sha for s in found] == [shas[4], shas[3]] and found[1].commit.files == ()
    assert told == [("shop", Reason.SHALLOW)]


async def test_commits_that_are_long_older_than_an_unknown_start_are_no_suspects(work: Work) -> None:
    assert await suspects(work.path, deploy(-20, steps(work, 3)[2])) == []


async def test_a_rollout_that_git_cannot_tell_is_told_and_spoils_no_other(work: Work) -> None:
    told: Told = []
    shas = steps(work, 4)
    rows = [deploy(-2000, shas[0]), deploy(-300, shas[2]), deploy(-200, "e" * 40), deploy(-20, "f" * 40)]
    found = await suspects(work.path, *rows, told=told)
    assert [s.commit.sha for s in found] == [shas[2], shas[1]]
    assert [reason for _, reason in told] == [Reason.NOT_FOUND] * 4


async def test_a_damaged_repository_is_told_and_has_no_suspects(work: Work) -> None:
    shas = steps(work, 2)
    blob = work.git("rev-parse", f"{shas[0]}:m.py")
    (work.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    told: Told = []
    assert await suspects(work.path, deploy(-2000, shas[0]), deploy(-20, shas[1]), told=told) == []
    assert told == [("shop", Reason.CORRUPT)]


async def test_services_off_the_path_are_asked_only_when_none_on_it_has_a_repository(work: Work) -> None:
    shas = steps(work, 2)
    rows = [deploy(-2000, shas[0]), deploy(-20, shas[1])]
    found = await suspects(work.path, *rows, topology=Topology(path=("edge",)))
    assert [s.commit.sha for s in found] == [shas[1]]
    info = {"shop": ServiceInfo(name="shop", repo="shop-repo")}
    case = Case(
        incident_id="i", alerts=(alert("edge"),), sources=sources(*rows, services=info), onset=onset(-5),
        window=make_window(onset(-5)), topology=Topology(path=("edge",)),
    )  # fmt: skip
    repos = {"shop-repo": await open_repository("shop-repo", work.path)}
    assert [s.commit.sha for s in await find_suspects(case, repos)] == [shas[1]]
    assert await find_suspects(structs.replace(case, onset=None), repos) == ()
    assert await find_suspects(case, {}) == ()
