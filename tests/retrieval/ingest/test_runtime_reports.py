"""Dumps, profiles, coverage and environments as files of a case folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrieval.index import open_index
from retrieval.ingest.case_folder import read_files, read_sources
from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.profiles import FORMATS
from retrieval.ingest.profiles.base import amount
from retrieval.ingest.readers import READERS, coverage, dumps, environments, origin, profiles
from retrieval.ingest.readers.base import Reader
from retrieval.ingest.redaction.redactor import KeyedRedactor
from retrieval.kinds import Keeping, load_sources, store_sources
from retrieval.model import Profile
from tests.contract.index_documents import FixedClock

CAPTURED = Path(__file__).resolve().parents[2] / "captured" / "dumps"
MINUTE = 60 * 10**9


def read(reader: Reader, path: Path, name: str = "") -> tuple[list[Any], list[str]]:
    intake = Intake()
    found = list(reader.read(SourceFile(path, name or f"{reader.kind}/{path.name}"), intake))
    return found, [problem.reason for problem in intake.problems()]


def profile(name: str) -> Profile:
    (found,), problems = read(profiles.READER, CAPTURED / "profiles" / name)
    assert problems == []
    return found  # type: ignore[no-any-return]


def written(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / name


# Whose it is, and when.


@pytest.mark.parametrize(
    ("name", "service"),
    [
        ("dumps/payments/jstack.txt", "payments"), ("dumps/payments/eu/jstack.txt", "payments"),
        ("dumps/payments.txt", "payments"), ("dumps/payments-jstack-2026-11-30T22-50-45Z.txt", "payments"),
        ("dumps/ts-order-service.dump.txt", "ts-order-service"), ("dumps/jstack.txt", ""), ("dumps/1764543045.txt", ""),
        ("profiles/price-heap-before.txt", "price"), ("profiles/heap_before.txt", ""),
    ],
)  # fmt: skip
def test_the_folder_or_else_the_file_s_name_says_whose_a_report_is(name: str, service: str) -> None:
    assert origin.service_of(name) == service


@pytest.mark.parametrize(
    ("name", "text", "seconds"),
    [
        ("dumps/a.txt", "2025-05-14 06:45:00\nFull thread dump", 1_747_205_100),
        ("dumps/a-2025-05-14T06-45-00Z.txt", "", 1_747_205_100), ("dumps/a-20250514T064500Z.txt", "", 1_747_205_100),
        ("dumps/a-1747205100.txt", "", 1_747_205_100), ("dumps/a.txt", "no moment, 2025-05-14 only", 0),
        ("dumps/a-2025-99-14T06-45-00Z.txt", "", 0),
    ],
)  # fmt: skip
def test_when_a_report_was_taken_is_what_it_or_its_name_says(name: str, text: str, seconds: int) -> None:
    assert origin.taken_ns(name, text) == seconds * 10**9


def test_a_file_s_own_time_counts_for_nothing() -> None:
    (found,), _ = read(dumps.READER, CAPTURED / "threads" / "python-pyspy.txt", "dumps/pay/spy.txt")
    assert (found.time_ns, found.service, str(found.source)) == (0, "pay", "dumps/pay/spy.txt:4")


# Dumps.


def test_a_lock_graph_that_was_made_elsewhere_is_read_as_json(tmp_path: Path) -> None:
    graph = {
        "threads": [{"name": "a", "holds": ["1"], "waits_for": "2"}, {"name": "b", "holds": ["2"], "waits_for": "1"}]
    }
    (found,), problems = read(dumps.READER, written(tmp_path, "locks.json", json.dumps(graph)))
    assert ([t.name for t in found.threads], problems) == (["a", "b"], [])


@pytest.mark.parametrize("text", ["", "nothing", "{", "[1]", '{"threads": 7}', '{"threads": []}', "\x00" * 99])
def test_what_is_no_dump_is_reported_with_what_was_expected(tmp_path: Path, text: str) -> None:
    assert read(dumps.READER, written(tmp_path, "a.txt", text)) == ([], [dumps.UNREADABLE])


def test_what_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    found, problems = read(dumps.READER, tmp_path / "gone.txt")
    assert found == [] and problems[0].startswith("cannot be read")


# Profiles.


def test_every_format_of_profiles_has_a_captured_one_and_no_other_takes_it() -> None:
    taken = {}
    for path in sorted((CAPTURED / "profiles").iterdir()):
        text = path.read_text("utf-8")
        taken[path.name] = [name for name, reads in FORMATS.items() if reads(text) is not None]
    assert all(len(names) == 1 for names in taken.values()), taken
    assert {names[0] for names in taken.values()} == set(FORMATS)


def test_collapsed_stacks_give_own_and_total_cost_and_the_heaviest_stacks() -> None:
    found = profile("python-stacks.txt")
    rows = {(row.site, row.line): row for row in found.rows}

    assert (found.kind, found.unit, found.total) == ("cpu", "samples", 199)
    assert (rows["sub", 185].own, rows["sub", 185].total) == (113, 168)
    assert rows["main", 11].path == "work.py" and rows["main", 11].total == 199
    assert sum(row.own for row in found.rows) == found.total
    assert found.stacks[0][1] == 113 and found.stacks[0][0].startswith("<module> (work.py:20);main")


def test_speedscope_tells_time_in_nanoseconds() -> None:
    found = profile("python.speedscope.json")
    assert (found.unit, found.total) == ("ns", 990_000_000)
    assert sum(row.own for row in found.rows) == found.total


def test_an_evented_speedscope_profile_is_the_time_between_its_events(tmp_path: Path) -> None:
    told = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "a"}, {"name": "b"}]},
        "profiles": [{"type": "evented", "unit": "milliseconds", "events": [
            {"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 2}, {"type": "C", "frame": 1, "at": 7},
            {"type": "C", "frame": 0, "at": 8}]}],
    }  # fmt: skip
    (found,), _ = read(profiles.READER, written(tmp_path, "a.json", json.dumps(told)))
    assert {row.site: (row.own, row.total) for row in found.rows} == {"a": (3e6, 8e6), "b": (5e6, 5e6)}


def test_pprof_tells_time_or_space_by_its_type() -> None:
    cpu, heap = profile("go-cpu.txt"), profile("go-heap.txt")

    assert (cpu.kind, cpu.unit, cpu.total, cpu.rows[0].site) == ("cpu", "ns", 10**9, "main.spin")
    assert (heap.kind, heap.unit, heap.rows[0].own) == ("heap", "bytes", int(6.25 * 2**20))


def test_a_histogram_of_the_heap_counts_objects_and_bytes() -> None:
    found = profile("java-histo.txt")
    assert (found.total, found.rows[1].site, found.rows[1].count) == (2_736_064, "java.util.HashMap$Node", 2_995)


def test_tracemalloc_s_last_snapshot_counts() -> None:
    found = profile("python-tracemalloc.txt")
    assert (found.rows[0].path, found.rows[0].line, found.rows[0].own) == ("/srv/app/work.py", 6, 843 * 1024)


def test_memray_s_locations_have_bytes_and_allocations() -> None:
    found = profile("python-memray.txt")
    assert (found.rows[0].site, found.rows[0].line) == ("sub", 185)
    assert found.rows[0].own > 10**9 and found.rows[0].count > 10**6


@pytest.mark.parametrize("text", ["", "a b c", "a;b x", '{"profiles": []}', "hello 12\nworld 13", "num #instances"])
def test_what_is_no_profile_is_reported(tmp_path: Path, text: str) -> None:
    found, problems = read(profiles.READER, written(tmp_path, "a.txt", text))
    assert found == [] and "is no profile" in problems[0]


@pytest.mark.parametrize(("text", "value"), [("6.25MB", 6_250_000), ("990ms", 990_000_000), ("0", 0), ("1,024", 1024),
                                             ("12 parsecs", None), ("", None), ("9" * 40, None)])  # fmt: skip
def test_sizes_are_read_with_their_units(text: str, value: int | None) -> None:
    assert amount(text) == value


# Coverage.

JACOCO = """<?xml version="1.0"?><!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd">
<report name="pay"><package name="shop/pay"><sourcefile name="Pay.java"><line nr="3" mi="0" ci="4"/>
<line nr="4" mi="2" ci="0"/><line nr="5" mi="0" ci="1"/></sourcefile></package></report>"""


@pytest.mark.parametrize("name", ["coverage.xml", "coverage.info"])
def test_coverage_of_a_whole_run_is_the_lines_that_ran(name: str) -> None:
    found, problems = read(coverage.READER, CAPTURED / "coverage" / name)
    assert [(c.path, c.test_id, c.lines) for c in found] == [("shop/fmt.py", "", ((1, 4), (7, 7)))]
    assert problems == []


def test_contexts_tell_which_test_ran_a_line() -> None:
    found, _ = read(coverage.READER, CAPTURED / "coverage" / "coverage.json")
    by_test = {c.test_id: c.lines for c in found if c.path == "shop/fmt.py"}
    assert by_test["tests/test_fmt.py::test_none"] == ((2, 3),)
    assert by_test["tests/test_fmt.py::test_text"] == ((2, 2), (4, 4))


def test_jacoco_s_lines_count_where_an_instruction_ran(tmp_path: Path) -> None:
    found, problems = read(coverage.READER, written(tmp_path, "jacoco.xml", JACOCO))
    assert [(c.path, c.lines) for c in found] == [("shop/pay/Pay.java", ((3, 3), (5, 5)))] and problems == []


def test_lcov_names_the_test_that_it_is_of(tmp_path: Path) -> None:
    text = "TN:test_pay\nSF:src/pay.js\nDA:1,3\nDA:x,1\nDA:2,0\nend_of_record\n"
    (found,), _ = read(coverage.READER, written(tmp_path, "lcov.info", text))
    assert (found.test_id, found.path, found.lines) == ("test_pay", "src/pay.js", ((1, 1),))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><coverage/>', "declares entities"), ("<coverage><x", "is broken XML"),
        ("<other/>", coverage.UNREADABLE), ("{}", coverage.UNREADABLE), ("{", coverage.UNREADABLE),
        ("words", coverage.UNREADABLE), ("SF:a.py\nend_of_record", "names no line that ran"),
    ],
)  # fmt: skip
def test_what_is_no_coverage_is_reported(tmp_path: Path, text: str, reason: str) -> None:
    found, problems = read(coverage.READER, written(tmp_path, "a.xml", text))
    assert found == [] and problems[0].startswith(reason)


# Environments.


def test_a_fingerprint_keeps_shapes_of_variables_and_never_values(tmp_path: Path) -> None:
    told = {
        "run_id": "ci-7", "interpreter": "CPython 3.11.9", "time": "2025-05-14T06:45:00Z", "baseline": True,
        "variables": {"DATABASE_URL": "postgres://ada:hunter2@db:5432/pay"}, "seeds": {"PYTHONHASHSEED": 0},
    }  # fmt: skip
    (found,), problems = read(environments.READER, written(tmp_path, "pay.json", json.dumps(told)))

    assert problems == []
    assert "hunter2" not in str(found) and found.variables["DATABASE_URL"].startswith("aaa://aaa:aaa0@")
    assert (found.service, found.baseline, found.seeds) == ("pay", True, {"PYTHONHASHSEED": "0"})
    assert found.time_ns == 1_747_205_100 * 10**9


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"colour": "red"}', "7"])
def test_what_is_no_fingerprint_is_reported(tmp_path: Path, text: str) -> None:
    found, problems = read(environments.READER, written(tmp_path, "a.json", text))
    assert found == [] and len(problems) == 1


# All of them.

BROKEN: dict[str, Callable[[str], str]] = {
    "cut": lambda text: text[: len(text) // 3],
    "doubled": lambda text: text + text,
    "backwards": lambda text: "\n".join(reversed(text.split("\n"))),
    "with nulls": lambda text: text.replace("a", "\x00"),
}


@pytest.mark.parametrize("damage", sorted(BROKEN))
@pytest.mark.parametrize("kind", ["dumps", "profiles", "coverage", "environment"])
def test_no_reader_raises_for_what_a_file_holds(tmp_path: Path, kind: str, damage: str) -> None:
    reader = next(r for r in READERS if r.kind == kind)
    for path in sorted(p for p in CAPTURED.rglob("*") if p.is_file()):
        found, problems = read(reader, written(tmp_path, path.name, BROKEN[damage](path.read_text("utf-8"))))
        assert found or problems


@pytest.mark.parametrize("kind", ["dumps", "profiles", "coverage"])
async def test_what_real_runtimes_print_is_stored_whole_and_read_back(kind: str) -> None:
    """Names of threads, classes and locks must not be taken for people's or for secrets."""
    redactor = KeyedRedactor(b"k" * 32, "k")
    folder = CAPTURED / ("threads" if kind == "dumps" else kind)
    sources = await read_files(kind, [folder], redactor=redactor)
    index = await open_index(None, clock=FixedClock(), redactor=redactor)

    stored = await store_sources(index, sources, {}, Keeping(redactor=redactor))
    back = await load_sources(index, acl=("public",), from_ns=0, to_ns=2**62)
    await index.close()

    assert stored.skipped == ()
    part = next(r.part for r in READERS if r.kind == kind)
    assert sorted(getattr(back, part), key=repr) == sorted(getattr(sources, part), key=repr)


def test_threads_that_are_too_many_are_counted(tmp_path: Path) -> None:
    graph = {"threads": [{"name": f"t{n}", "holds": [str(n)]} for n in range(2_500)]}
    (found,), problems = read(dumps.READER, written(tmp_path, "locks.json", json.dumps(graph)))
    assert (len(found.threads), problems) == (2_000, ["500 threads beyond 2000 different ones were left out"])


async def test_a_case_folder_may_hold_all_of_them(tmp_path: Path) -> None:
    case = tmp_path / "case"
    for part, name in (("dumps", "threads/java-jstack.txt"), ("profiles", "profiles/go-heap.txt"),
                       ("coverage", "coverage/coverage.json")):  # fmt: skip
        (case / part / "pay").mkdir(parents=True)
        (case / part / "pay" / Path(name).name).write_text((CAPTURED / name).read_text("utf-8"))
    (case / "environment").mkdir()
    (case / "environment" / "baseline.json").write_text(json.dumps({"os": "Debian 12", "run_id": "ci-7"}))

    sources = await read_sources(case, redactor=KeyedRedactor(b"k" * 32, "k"), scratch=tmp_path)

    assert sources.present == ("coverage", "dumps", "environment", "profiles")
    assert [d.service for d in sources.dumps] == [p.service for p in sources.profiles] == ["pay"]
    assert (sources.environments[0].baseline, len(sources.coverage)) == (True, 3)
    assert sources.problems == ()
