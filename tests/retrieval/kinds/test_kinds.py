"""Records to documents and back, for every registered kind."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from retrieval.index import open_index
from retrieval.kinds import KINDS, Keeping, Material, load_sources, store_sources
from retrieval.kinds.log import COUNT
from retrieval.kinds.sections import CAUSE_WEIGHT, CEREMONY_WEIGHT
from retrieval.model import CaseSources, ContractChange, Document, FileChange, Hunk, LogRecord, SourceRef, Symbol
from retrieval.ports import Index
from tests.building import BAD, FRAMES, GUILTY, MINUTE, ONSET, a_commit, a_config, a_log, a_series, a_span
from tests.contract.index_documents import FixedClock, RefusesHunter2, query
from tests.retrieval.kinds.incident import FAILING, chatter, healthy_traces, sources

ROOT = Path(__file__).resolve().parents[3]
ALL = {"acl": ("public",), "from_ns": 0, "to_ns": 2 * ONSET}


def material(**fields: object) -> Material:
    symbol = Symbol(
        symbol_id="price/format.py::Coupon.format_discount", language="python", kind="method", path="price/format.py",
        name="format_discount", qualname="Coupon.format_discount", start_line=5, end_line=8, calls=("upper",),
    )  # fmt: skip
    made = Material(
        sources=sources(),
        commits=(a_commit(GUILTY, "price/format.py", "Show coupon text on receipts"),),
        touched={("shop", GUILTY): (symbol,)},
        symbols={"shop": (symbol,)},
        files={"shop": ("price/app.py", "price/format.py")},
    )
    return replace(made, **fields)


def documents(kind: str, **fields: object) -> list[Document]:
    return list(KINDS[kind].documents(material(**fields)))


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_makes_documents_that_can_be_found_and_cited(name: str) -> None:
    made = documents(name)

    assert made
    assert len({d.id for d in made}) == len(made)
    for d in made:
        assert d.kind == name and d.id.startswith(f"{name}:")
        assert d.text and d.source and d.title
        assert all(isinstance(v, str) and v for v in d.keys.values())


@pytest.mark.parametrize("name", sorted(KINDS))
def test_ids_do_not_depend_on_what_else_was_read(name: str) -> None:
    whole = {d.id for d in documents(name)}
    again = {d.id for d in documents(name, acl={"": ("team",)}, retention_ns={name: 5})}

    assert whole == again
    assert whole.isdisjoint(d.id for d in documents(name, snapshot="build-2"))


@pytest.mark.parametrize("name", sorted(KINDS))
def test_access_and_retention_are_the_material_s(name: str) -> None:
    for d in documents(name, acl={"price": ("pay",), "": ("rest",)}, retention_ns={name: 5}):
        assert d.acl == (("pay",) if d.service == "price" else ("rest",))
        assert d.expires_ns == (d.time_ns + 5 if d.time_ns else None)


def test_documents_are_the_same_under_any_hash_seed() -> None:
    code = (
        "import msgspec, hashlib\n"
        "from tests.retrieval.kinds.test_kinds import KINDS, documents\n"
        "made = [documents(name) for name in sorted(KINDS)]\n"
        "print(hashlib.sha256(msgspec.msgpack.encode(made)).hexdigest())\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(seen) == 1


def test_a_service_s_configuration_is_found_as_a_whole_as_it_stood() -> None:
    changes = tuple(a_config(f"key{n % 3}", minute=n - 20, value=str(n)) for n in range(9))
    put = replace(sources(), config=(*changes, replace(a_config("lonely"), service="web")))
    whole = [d for d in documents("config", sources=put) if "config_snapshot" in d.keys]

    assert [d.text for d in whole][-1] == "key0 = 6\nkey1 = 7\nkey2 = 8"
    assert len(whole) == 5
    assert {d.service for d in whole} == {"price"}


def test_what_a_commit_did_to_a_contract_is_one_document_for_each_group() -> None:
    change = ContractChange(
        service="shop", format="openapi", path="price/api.yaml", what="field", name="Coupon.text", change="removed",
        owner="Coupon", member="text", breaks="readers", rule="gone", used_by=("GET /total",), repo="shop",
        commit_sha=GUILTY, source=SourceRef(f"shop@{GUILTY}:price/api.yaml", 4),
    )  # fmt: skip
    pair = (change, replace(change, name="Coupon.kind", member="kind"))
    made = [d for d in documents("contract", contract_changes=pair) if d.keys.get("commit_sha") == GUILTY]

    assert len(made) == 1
    assert made[0].service == "price" and made[0].keys["endpoint"] == "/total"
    assert made[0].symbols == ("price/api.yaml::Coupon.text", "price/api.yaml::Coupon.kind")
    assert "breaks readers" in made[0].text and made[0].time_ns > 0


async def test_a_triage_reads_back_what_was_stored() -> None:
    index = await open_index(None, clock=FixedClock())
    put = sources()

    stored = await store_sources(index, put, {})
    assert await store_sources(index, put, {}) == stored
    back = await load_sources(index, **ALL)  # type: ignore[arg-type]

    assert stored.counts["log"] == await index.count(query(kinds=("log",)))
    parts = ("spans", "series", "deploys", "flags", "config", "tests", "postmortems", "tickets", "contract_files")
    for name in (*parts, "dumps", "profiles", "coverage", "environments"):
        assert getattr(back, name) == getattr(put, name)
    kept = [r for r in put.logs if r.is_error or r.trace_id == FAILING]
    assert [r for r in back.logs if r in kept] == kept
    told = ("traces", "logs", "metrics", "deploys", "flags", "config", "junit", "postmortems", "tickets", "contracts")
    assert back.present == (*told, "dumps", "profiles", "coverage", "environment")
    await index.close()


async def test_what_is_read_in_two_parts_comes_back_as_one() -> None:
    index = await open_index(None, clock=FixedClock())
    whole = a_series()
    early, late = replace(whole, points=whole.points[:9]), replace(whole, points=whole.points[9:])

    await store_sources(index, CaseSources(series=(early,), spans=healthy_traces(3)), {})
    await store_sources(index, CaseSources(series=(late,), logs=(a_log(),)), {})
    back = await load_sources(index, **ALL)  # type: ignore[arg-type]

    assert back.series == (whole,)
    assert len(back.spans) == 6 and back.logs == (a_log(),)
    await index.close()


async def test_only_the_window_the_services_and_the_visible_come_back() -> None:
    index = await open_index(None, clock=FixedClock())
    await store_sources(index, sources(), {}, Keeping(acl={"edge": ("secret",), "": ("public",)}))

    back = await load_sources(index, acl=("public",), from_ns=ONSET, to_ns=ONSET + 5 * MINUTE)
    assert {s.service for s in back.spans} == {"price"}
    assert [p[0] for p in back.series[0].points] == [ONSET + m * MINUTE for m in range(5)]
    assert len(back.deploys) == 2  # what ran was set long before
    assert all(ONSET <= r.time_ns < ONSET + 5 * MINUTE for r in back.logs)

    both = await load_sources(index, acl=("public", "secret"), from_ns=0, to_ns=2 * ONSET, services=("edge",))
    assert {s.service for s in both.spans} == {"edge"}
    assert both.deploys == () and len(both.tests) == 2
    await index.close()


async def test_more_documents_than_a_page_of_one_moment_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from retrieval.kinds import loading

    monkeypatch.setattr(loading, "_PAGE", 4)
    index = await open_index(None, clock=FixedClock())
    logs = tuple(
        replace(a_log(), time_ns=ONSET + (n // 15), source=SourceRef("logs/x.jsonl", n + 1)) for n in range(40)
    )
    await store_sources(index, CaseSources(logs=logs), {})

    assert (await load_sources(index, **ALL)).logs == logs  # type: ignore[arg-type]
    await index.close()


def test_repeated_lines_become_templates_with_counts_and_examples() -> None:
    quiet = documents("log", sources=CaseSources(logs=chatter(50)))

    assert sum(d.attributes["count"] for d in quiet) == 50
    assert len(quiet) <= 3
    first = quiet[0]
    assert sum(first.attributes["per_minute"].values()) == first.attributes["count"]
    restored = KINDS["log"].restore(quiet)["logs"]
    assert sum(record.attributes.get(COUNT, 0) for _, record in restored) == 50
    assert all(isinstance(record, LogRecord) for _, record in restored)


def test_an_error_log_is_found_by_frames_and_signatures_of_the_repository() -> None:
    (error,) = [d for d in documents("log") if d.error_signature]

    assert error.paths == ("price/format.py", "price/app.py")
    assert error.symbols == ("price/format.py::format_discount", "price/app.py::total")
    assert error.stack_signature
    assert error.keys["trace_id"] == FAILING
    assert error.source == "logs/price.jsonl:12"
    assert "NoneType" in error.text
    assert error.language == "python"


def test_a_failed_span_is_told_with_its_neighbours_and_its_way() -> None:
    made = documents("trace")
    (error,) = [d for d in made if d.severity]
    (part,) = [d for d in made if d.title == "edge in a failing trace"]
    healthy = [d for d in made if "healthy" in d.title]

    assert "edge GET /total > price GET /total" in error.text
    assert "edge GET /total [server] ok 2.0 ms" in error.text
    assert error.keys["path_signature"] == part.keys["path_signature"] == healthy[0].keys["path_signature"]
    assert sum(d.attributes["spans"] for d in healthy) == 60
    assert len(healthy) <= 6


def test_a_circle_and_doubled_spans_lose_nothing() -> None:
    first, second = a_span(), replace(a_span(), span_id="b", service="edge")
    circle = (replace(first, parent_span_id="b"), replace(second, parent_span_id=first.span_id), first)

    made = documents("trace", sources=CaseSources(spans=circle))

    assert len({d.id for d in made}) == 3
    assert {d.keys["span_id"] for d in made} == {"b", first.span_id}


def test_a_diff_says_which_symbols_it_touches() -> None:
    (made,) = documents("diff")

    assert made.symbols == ("price/format.py::Coupon.format_discount",)
    assert made.paths == ("price/format.py",)
    assert made.service == "price"
    assert made.keys["commit_sha"] == GUILTY
    assert made.source == f"shop@{GUILTY}:price/format.py"
    assert "Show coupon text" in made.text and "+    return x" in made.text


def test_sections_that_name_a_cause_weigh_more() -> None:
    weights = {d.attributes["heading"]: d.attributes["weight"] for d in documents("postmortem")}

    assert weights == {"Participants": CEREMONY_WEIGHT, "Root cause": CAUSE_WEIGHT}


def test_a_postmortem_without_sections_is_still_there() -> None:
    bare = replace(sources().postmortems[0], sections=())
    made = documents("postmortem", sources=CaseSources(postmortems=(bare,)))

    assert KINDS["postmortem"].restore(made) == {"postmortems": [(0, bare)]}


async def test_a_secret_that_survived_costs_its_document_only(index_with_redactor: Index) -> None:
    logs = tuple(
        replace(a_log(), body=body, source=SourceRef("logs/x.jsonl", n))
        for n, body in enumerate(("fine", "it is hunter2", "fine too"), 1)
    )

    stored = await store_sources(index_with_redactor, CaseSources(logs=logs), {})

    assert stored.counts["log"] == 2
    assert [(s.subject, s.reason) for s in stored.skipped] == [("logs/x.jsonl:2", "secret")]


@pytest.fixture
async def index_with_redactor() -> AsyncIterator[Index]:
    index = await open_index(None, clock=FixedClock(), redactor=RefusesHunter2())
    yield index
    await index.close()


def test_frames_are_named_as_the_crash_groups_name_them() -> None:
    (error,) = [d for d in documents("log") if d.error_signature]

    assert set(FRAMES) == set(error.symbols)


def test_a_deploy_is_found_by_its_commit() -> None:
    assert all(d.keys["commit_sha"] == BAD and BAD in d.text for d in documents("deploy"))


def test_a_long_change_is_cut_between_hunks_and_each_part_has_its_own_symbols() -> None:
    def symbol(name: str, start: int) -> Symbol:
        return Symbol(
            symbol_id=f"a.py::{name}", language="python", kind="function", path="a.py", name=name, qualname=name,
            start_line=start, end_line=start + 99,
        )  # fmt: skip

    hunks = tuple(
        Hunk(old_start=at, old_lines=0, new_start=at, new_lines=100, added=("x",) * 100) for at in (1, 201, 401)
    )
    change = FileChange(path="a.py", status="modified", hunks=hunks)
    binary = FileChange(path="logo.png", status="added", binary=True)
    commit = replace(a_commit(GUILTY, "a.py", "Rewrite"), files=(change, binary))

    made = documents("diff", commits=(commit,), touched={("shop", GUILTY): (symbol("f", 1), symbol("g", 401))})

    assert [d.symbols for d in made] == [("a.py::f",), ("a.py::f", "a.py::g"), ("a.py::g",), ()]
    assert [d.keys["diff_id"][-2:] for d in made] == ["#0", "#1", "#2", "#0"]


def test_a_dump_s_document_tells_the_deadlock_and_where_its_threads_stand() -> None:
    (made,) = documents("dump")

    assert "deadlock: payer -> auditor" in made.text
    assert made.severity == 17 and made.service == "price"
    assert made.symbols == ("price/format.py::Coupon.format_discount", "price/format.py::Coupon.audit")


def test_a_test_s_coverage_names_the_functions_that_it_ran() -> None:
    (made,) = documents("coverage")

    assert made.symbols == ("price/format.py::Coupon.format_discount",)
    assert made.keys == {"test_id": "tests.test_format::test_none"}


def test_an_environment_begins_with_what_differs_from_the_baseline() -> None:
    good, bad = sorted(documents("environment"), key=lambda d: d.source)

    assert bad.text.splitlines()[:2] == [
        "differs: interpreter CPython 3.11.8 -> CPython 3.11.9",
        "differs: packages.redis 5.0.1 -> 5.1.0",
    ]
    assert "differs" not in good.text
