"""From a commit's hunks to the symbols that it touched."""

from retrieval.code.git import open_repository
from retrieval.code.touched import references, touched_symbols
from retrieval.model import Symbol

BEFORE = '''"""Fees."""

import math

RATE = 2


def fee(amount):
    return amount * RATE


class Plan:
    kind = "flat"

    def of(self, amount):
        return fee(amount)

    def gone(self):
        return 0
'''


async def touched(work, before: str, after: str, path: str = "shop/fees.py") -> list[str]:
    work.commit("Begin", **{path: before})
    sha = work.commit("Change", **{path: after})
    repo = await open_repository("shop", work.path)
    return [symbol.symbol_id for symbol in await touched_symbols(repo, await repo.commit(sha))]


async def test_a_line_belongs_to_the_innermost_symbol_around_it(work) -> None:
    after = BEFORE.replace("amount * RATE", "math.ceil(amount * RATE)").replace('"flat"', '"steep"')
    assert await touched(work, BEFORE, after) == ["shop/fees.py::fee", "shop/fees.py::Plan"]


async def test_what_was_removed_is_named_as_it_was(work) -> None:
    after = BEFORE[: BEFORE.index("    def gone")].rstrip() + "\n"
    assert await touched(work, BEFORE, after) == ["shop/fees.py::Plan.gone"]


async def test_lines_outside_of_symbols_belong_to_the_module(work) -> None:
    assert await touched(work, BEFORE, BEFORE.replace("RATE = 2", "RATE = 3")) == ["shop/fees.py::<module>"]


async def test_blank_and_comment_lines_belong_to_nothing(work) -> None:
    assert await touched(work, BEFORE, BEFORE.replace("import math\n", "import math\n\n# why two\n")) == []


async def test_a_line_taken_out_of_a_function_touches_the_function_as_it_is_now(work) -> None:
    before = BEFORE.replace("    return amount * RATE", "    amount = abs(amount)\n    return amount * RATE")
    assert await touched(work, before, BEFORE) == ["shop/fees.py::fee"]


async def test_renamed_deleted_and_foreign_files(work) -> None:
    work.commit(
        "Begin", **{"old.py": BEFORE, "gone.py": "def f():\n    return 1\n", "notes.txt": "x\n", "b.py": b"\0\1"}
    )
    (work.path / "gone.py").unlink()
    work.git("mv", "old.py", "new.py")
    work.write("new.py", BEFORE.replace("return fee(amount)", "return fee(abs(amount))"))
    work.write("notes.txt", "y\n")
    work.write("b.py", b"\0\2")
    sha = work.commit("Change")
    repo = await open_repository("shop", work.path)
    found = await touched_symbols(repo, await repo.commit(sha))
    assert [s.symbol_id for s in found] == ["gone.py::f", "new.py::Plan.of"]


async def test_a_file_that_is_too_large_to_parse_is_left_out(work) -> None:
    large = "def f():\n    return 1\n" + "X = 1\n" * 200_000
    assert await touched(work, "def f():\n    return 0\n", large) == ["shop/fees.py::f"]  # what it was, not what it is


def a_symbol(symbol_id: str, calls: tuple[str, ...] = (), kind: str = "function") -> Symbol:
    path, qualname = symbol_id.split("::")
    return Symbol(
        symbol_id=symbol_id, language="python", kind=kind, path=path, name=qualname.split(".")[-1],
        qualname=qualname, start_line=1, end_line=2, calls=calls,
    )  # fmt: skip


def test_names_are_resolved_to_the_nearest_bearer() -> None:
    symbols = [
        a_symbol("a.py::main", ("helper", "Plan", "b.parse")),
        a_symbol("a.py::helper"),
        a_symbol("b.py::helper"),
        a_symbol("b.py::parse"),
        a_symbol("b.py::Plan", (), "class"),
        a_symbol("b.py::Plan.__init__", ("self.reset",), "method"),
        a_symbol("b.py::Plan.reset", ("unknown",), "method"),
        a_symbol("b.py::Other.reset", ("reset",), "method"),
    ]
    assert references(symbols) == {
        "a.py::main": {"a.py::helper", "b.py::Plan", "b.py::Plan.__init__", "b.py::parse"},
        "a.py::helper": set(),
        "b.py::helper": set(),
        "b.py::parse": set(),
        "b.py::Plan": set(),
        "b.py::Plan.__init__": {"b.py::Plan.reset"},
        "b.py::Plan.reset": set(),
        "b.py::Other.reset": {"b.py::Plan.reset"},
    }


def test_a_name_that_many_bear_means_nobody_far_away() -> None:
    symbols = [a_symbol("a.py::main", ("x.get",)), *(a_symbol(f"m{n}.py::get") for n in range(6))]
    assert references(symbols)["a.py::main"] == set()
