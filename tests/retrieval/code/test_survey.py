"""The symbols of one service at one commit."""

from retrieval.code.git import open_repository
from retrieval.code.survey import calls_of, survey
from retrieval.model import ServiceInfo


async def test_every_source_file_of_the_service_is_read_at_the_commit(work, monkeypatch) -> None:
    sha = work.commit(
        "Begin",
        **{
            "shop/a.py": "def f():\n    return g()\n",
            "shop/b.py": "def g():\n    return 1\n",
            "shop/notes.md": "def h()\n",
            "other/c.py": "def k():\n    return 2\n",
        },
    )
    work.commit("Later", **{"shop/b.py": "def later():\n    return 1\n"})
    repo = await open_repository("shop", work.path)
    shop = ServiceInfo(name="shop", path_prefix="shop/")
    symbols = await survey(repo, sha, shop)
    assert [s.symbol_id for s in symbols] == ["shop/a.py::f", "shop/b.py::g"]
    assert calls_of(symbols) == {"shop/a.py::f": ("shop/b.py::g",), "shop/b.py::g": ()}
    monkeypatch.setattr("retrieval.code.survey.MAX_FILES", 1)
    assert [s.path for s in await survey(repo, sha, shop, ["shop/b.py"])] == ["shop/b.py"]
