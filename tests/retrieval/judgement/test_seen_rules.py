"""What the rules about dumps and profiles say, and when they are silent."""

import pytest
from msgspec.structs import replace

from retrieval.context.observed import (
    LOCKS,
    MEMORY,
    TIME,
    observed,
    place_of_row,
    seen_files,
    seen_service,
    touches,
)
from retrieval.judgement.conclude import conclude
from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import gather_facts
from retrieval.judgement.rules import hypothesise
from retrieval.kinds.queries import queries
from retrieval.model import (
    Case,
    Commit,
    DumpedThread,
    FileChange,
    Frame,
    Hunk,
    Profile,
    ProfileRow,
    SourceRef,
    ThreadDump,
    Verdict,
)
from retrieval.ranking.culprits import rank_commits, rank_functions
from tests import building as b

DAY = 86_400 * 10**9
PATH = "price/format.py"


def thread(name: str, function: str, holds: str = "", wants: str = "", line: int = 7) -> DumpedThread:
    library = Frame(file="/usr/lib/python3.11/threading.py", function="run", line=975, in_app=False)
    own = Frame(file=f"/app/{PATH}", function=function, line=line)
    return DumpedThread(
        name=name, state="BLOCKED", frames=(library, own), holds=tuple(holds), waits_for=wants, line=line
    )  # fmt: skip


def dump(*threads: DumpedThread, time_ns: int = b.ONSET + b.MINUTE, service: str = "price") -> ThreadDump:
    return ThreadDump(
        language="python", service=service, time_ns=time_ns, threads=threads, source=SourceRef("dumps/price/now.txt")
    )


RING = (thread("payer", "format_discount", "1", "2"), thread("auditor", "audit", "2", "1", line=40))
QUEUE = (thread("holder", "format_discount", "1"), *(thread(f"w{n}", "audit", "", "1") for n in range(6)))


def heap(size: int, name: str, baseline: bool = False, kind: str = "heap") -> Profile:
    row = ProfileRow(site="format_discount", own=size, total=size, count=9, path=f"/app/{PATH}", line=7)
    other = ProfileRow(site="decode", own=1_000, total=1_000, path="/usr/lib/python3.11/json/decoder.py", line=3)
    return Profile(
        kind=kind, format="py", unit="bytes" if kind == "heap" else "samples", service="price", total=size + 1_000,
        rows=(row, other), baseline=baseline, source=SourceRef(f"profiles/price/{name}.txt"),
    )  # fmt: skip


GREW = (heap(10_000, "before", baseline=True), heap(900_000, "now"))


def quiet(**sources: object) -> Case:
    """The incident without its crash: nothing but the alert, the deploy and what `sources` adds."""
    case = b.a_case()
    kept = replace(case.sources, logs=(), spans=(), config=(), flags=(), **sources)
    return replace(case, sources=kept, crashes=(), seen_files=(PATH,))


def drafts(case: Case) -> dict[str, Draft]:
    return {draft.rule: draft for draft in hypothesise(gather_facts(case))}


def test_a_deadlock_is_told_with_each_of_its_threads() -> None:
    found = drafts(quiet(dumps=(dump(*RING),)))["deadlock"]
    text, cited = found.claims[0]

    assert text == "payer holds 1 and waits for 2; auditor holds 2 and waits for 1"
    assert [c.source for c in cited] == ["dumps/price/now.txt:7", "dumps/price/now.txt:40"]
    assert found.suspected_function == f"{PATH}::format_discount"
    assert "payer, auditor of price wait for each other's locks" in found.summary


def test_a_deadlock_where_a_suspect_changed_the_code_is_supported_and_no_more() -> None:
    case = conclude(quiet(dumps=(dump(*RING),)), [])
    assert case.hypotheses[0].rule == "deadlock" and case.verdict is Verdict.SUPPORTED


def test_a_deadlock_that_no_suspect_is_near_stays_a_lead() -> None:
    case = conclude(replace(quiet(dumps=(dump(*RING),)), suspects=()), [])
    assert case.hypotheses[0].rule == "deadlock" and case.verdict is Verdict.LEAD


@pytest.mark.parametrize(
    "other",
    [
        dump(*RING, service="mail"),
        dump(*RING, time_ns=b.ONSET - DAY),
        dump(*RING, time_ns=b.ONSET + 2 * DAY),
        dump(*QUEUE),
    ],
)
def test_what_is_of_another_service_or_another_day_is_no_deadlock_of_this_incident(other: ThreadDump) -> None:
    assert "deadlock" not in drafts(quiet(dumps=(other,)))


def test_a_dump_without_time_or_service_counts() -> None:
    assert "deadlock" in drafts(quiet(dumps=(dump(*RING, time_ns=0, service=""),)))


def test_a_queue_is_told_with_the_thread_that_holds_the_lock() -> None:
    found = drafts(quiet(dumps=(dump(*QUEUE),)))["contention"]

    assert "6 threads wait for it" in found.claims[0][0] and "holder holds" in found.claims[0][0]
    assert found.suspected_function == f"{PATH}::format_discount"
    assert found.score < drafts(quiet(dumps=(dump(*RING),)))["deadlock"].score


def test_growth_of_the_heap_is_a_leak_that_cites_both_reports() -> None:
    found = drafts(quiet(profiles=GREW))["leak"]
    text, cited = found.claims[0]

    assert text == "format_discount grew from 10000 to 900000 bytes"
    assert [c.source for c in cited] == ["profiles/price/before.txt", "profiles/price/now.txt"]
    assert cited[1].quote == "format_discount: 900000 bytes of 901000, 9 objects"
    assert found.suspected_function == f"{PATH}::format_discount"


def test_growth_of_a_function_s_share_is_a_hot_path() -> None:
    profiles = (heap(100, "before", True, "cpu"), heap(900_000, "now", kind="cpu"))
    found = drafts(quiet(profiles=profiles))
    assert "9.1 % to 99.9 %" in found["hot_path"].summary and "leak" not in found


@pytest.mark.parametrize("profiles", [GREW[1:], (GREW[0], heap(10_100, "now")), ()])
def test_without_growth_between_two_reports_nothing_is_said(profiles: tuple[Profile, ...]) -> None:
    assert not {"leak", "hot_path"} & drafts(quiet(profiles=profiles)).keys()


def test_a_crash_with_a_stack_that_a_deploy_brought_is_told_before_a_queue() -> None:
    case = b.a_case()
    case = replace(case, sources=replace(case.sources, dumps=(dump(*QUEUE),)), seen_files=(PATH,))
    assert hypothesise(gather_facts(case))[0].rule == "code_change"


# Rankings and retrieval.


def changing(case: Case, sha: str, *lines: str) -> Case:
    hunk = Hunk(old_start=90, old_lines=0, new_start=90, new_lines=len(lines), added=lines)
    changed = FileChange(path="price/other.py", status="modified", hunks=(hunk,))
    suspects = tuple(
        replace(s, commit=replace(s.commit, files=(changed,)), symbols=()) if s.commit.sha == sha else s
        for s in case.suspects
    )
    return replace(case, suspects=suspects)


def test_functions_that_hang_are_ranked_like_those_on_a_stack() -> None:
    scores = rank_functions(quiet(dumps=(dump(*RING),)), None, None)
    assert scores[f"{PATH}::audit"] == pytest.approx(0.5)


def test_a_commit_that_changed_locks_is_favoured_where_threads_hang() -> None:
    plain, locks = ("total += 1",), ("with self.lock:",)
    hanging = quiet(dumps=(dump(*RING),))
    scores = [rank_commits(changing(hanging, b.LATER, *lines), None, None, ())[b.LATER] for lines in (plain, locks)]
    assert scores[1] == pytest.approx(scores[0] + 0.1)

    calm = [rank_commits(changing(quiet(), b.LATER, *lines), None, None, ())[b.LATER] for lines in (plain, locks)]
    assert calm[0] == calm[1]


@pytest.mark.parametrize(
    ("line", "symptom"),
    [
        ("synchronized (ledger) {", LOCKS), ("m.mu.Lock()", LOCKS), ("with lock:", LOCKS),
        ("CACHE[key] = value", MEMORY), ("@lru_cache(maxsize=None)", MEMORY), ("rows.append(row)", MEMORY),
        ("for row in rows:", TIME), ("re.compile(pattern)", TIME),
    ],
)  # fmt: skip
def test_changed_lines_that_speak_of_the_trouble_are_known(line: str, symptom: str) -> None:
    commit = commit_of(line)
    assert touches(commit, symptom)
    assert not touches(commit, "")
    assert not touches(commit_of("total = price - discount"), symptom)


def commit_of(line: str) -> Commit:
    hunk = Hunk(old_start=1, old_lines=0, new_start=1, new_lines=1, added=(line,))
    return replace(b.a_commit(b.GUILTY, PATH, "x"), files=(FileChange(path=PATH, status="modified", hunks=(hunk,)),))


@pytest.mark.parametrize(
    ("summary", "symptom"),
    [
        ("price is out of memory", MEMORY),
        ("threads hung in price", LOCKS),
        ("CPU at 100 %", TIME),
        ("hungry users", ""),
    ],
)
def test_the_alert_s_words_tell_the_kind_of_trouble_where_no_report_does(summary: str, symptom: str) -> None:
    case = quiet()
    case = replace(case, alerts=(replace(case.alerts[0], name="PriceAlert", annotations={"summary": summary}),))
    assert observed(case).symptom == symptom


def test_diffs_are_asked_for_by_the_words_of_the_trouble_and_the_functions_that_show_it() -> None:
    asked = dict(queries(quiet(dumps=(dump(*RING),))))
    assert "mutex" in asked["diff"].text and f"{PATH}::audit" in asked["diff"].symbols
    assert "mutex" not in asked["log"].text


def test_the_files_of_the_repository_that_reports_name_are_found() -> None:
    case = replace(quiet(dumps=(dump(*RING),), profiles=GREW), seen_files=())
    assert seen_files(case, lambda service: (PATH, "price/app.py")) == (PATH,)
    assert seen_service(case) == "price"


@pytest.mark.parametrize(
    ("site", "place"),
    [
        ("main.(*Cache).Put", "cache/cache.go::Cache.Put"), ("shop/Pay.charge", "src/shop/Pay.java::Pay.charge"),
        ("shop.Pay.charge_[j]", "src/shop/Pay.java::Pay.charge"), ("shop.Pay$Line", "src/shop/Pay.java::Pay.Line"),
        ("main.unknown", ""), ("[B", ""), ("java.lang.String", ""),
    ],
)  # fmt: skip
def test_a_row_without_a_path_is_found_by_its_class_or_its_name(site: str, place: str) -> None:
    case = quiet()
    touched = replace(case.suspects[0], symbols=("cache/cache.go::Cache.Put", "cache/cache.go::Get"))
    case = replace(case, suspects=(touched,), seen_files=("src/shop/Pay.java",))
    assert place_of_row(case, ProfileRow(site=site, own=1)) == place


@pytest.mark.parametrize(
    ("summary", "what"), [("threads hung", "a thread dump of price"), ("out of memory", "heap report")]
)
def test_a_dump_or_a_profile_that_would_tell_more_is_asked_for(summary: str, what: str) -> None:
    case = quiet()
    case = replace(case, alerts=(replace(case.alerts[0], annotations={"summary": summary}),))
    assert any(what in wanted.what for wanted in conclude(case, []).missing)
    assert not any("dump" in w.what or "heap" in w.what for w in conclude(quiet(dumps=(dump(*RING),)), []).missing)


def test_a_single_profile_shows_its_hottest_place_and_says_nothing_more() -> None:
    case = quiet(profiles=(heap(900_000, "now", kind="cpu"),))
    assert observed(case).places == ((f"{PATH}::format_discount", 0.4),)
    assert "hot_path" not in drafts(case)


@pytest.mark.parametrize(("waiting", "told"), [(6, True), (3, False)])
def test_a_lock_whose_holder_is_unknown_is_told_only_where_many_wait(waiting: int, told: bool) -> None:
    found = drafts(quiet(dumps=(dump(*(thread(f"g{n}", "audit", "", "1") for n in range(waiting))),)))
    assert ("contention" in found) is told
    if told:
        assert "the dump does not tell who holds it" in found["contention"].claims[0][0]
        assert found["contention"].suspected_function == f"{PATH}::audit"
