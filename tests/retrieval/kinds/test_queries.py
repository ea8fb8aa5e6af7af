"""What an alert asks: words, places, window; and that the answers are found in a store."""

from msgspec.structs import replace

from retrieval.index import open_index
from retrieval.kinds import KINDS, KNOWLEDGE, Material, queries, store_sources
from retrieval.model import Case
from retrieval.ranking.legs import retrieve
from tests.building import FRAMES, GUILTY, MINUTE, ONSET, a_case, a_commit, an_alert
from tests.contract.index_documents import FixedClock
from tests.retrieval.kinds.incident import FAILING, sources


def case() -> Case:
    return a_case(sources=sources())


def test_every_kind_is_asked_within_its_reach() -> None:
    made = case()
    asked = queries(made, acl=("team",), knowledge="build-2")
    window = made.window
    assert window is not None

    assert {kind for kind, _ in asked} == set(KINDS)
    by_kind = dict(reversed(asked))
    assert (by_kind["log"].from_ns, by_kind["log"].to_ns) == (window.from_ns, window.to_ns)
    assert by_kind["diff"].from_ns == window.diffs_from_ns
    assert by_kind["deploy"].from_ns is None and by_kind["deploy"].to_ns == window.to_ns
    assert by_kind["log"].services == ("price",)
    assert by_kind["postmortem"].services == ()
    assert all(q.acl == ("team",) and q.kinds == (kind,) for kind, q in asked)
    assert {kind for kind, q in asked if q.snapshot == "build-2"} == KNOWLEDGE
    assert {q.snapshot for kind, q in asked if kind not in KNOWLEDGE} == {"live"}


def test_diffs_reach_back_to_the_oldest_commit_that_was_deployed() -> None:
    made = case()
    old = a_commit(GUILTY, "price/format.py", "Written long before", at=ONSET - 90_000 * MINUTE)
    made = replace(made, suspects=(replace(made.suspects[0], commit=old), *made.suspects[1:]))

    assert dict(queries(made))["diff"].from_ns == old.committed_ns


def test_the_alert_s_words_and_the_crash_s_places_are_asked_for() -> None:
    alert = replace(an_alert(), labels={**an_alert().labels, "status_code": "500", "environment": "prod"})
    asked = queries(replace(case(), alerts=(alert,)))
    query = asked[0][1]

    for word in ("HighErrorRate", "500s", "price", "eu-west-1", "500", "AttributeError", "format_discount"):
        assert word in query.text.split()
    assert query.symbols[0] == FRAMES[-1]
    assert query.paths[0] == "price/format.py"
    assert query.error_signature and query.stack_signature
    assert {q.environment for kind, q in asked if kind == "log"} == {"", "prod"}


def test_the_representative_trace_is_asked_for_by_id_and_by_way() -> None:
    ways = [q.keys for kind, q in queries(case()) if kind == "trace" and q.keys]

    assert ways[0] == {"trace_id": FAILING}
    assert list(ways[1]) == ["path_signature"]
    documents = list(KINDS["trace"].documents(Material(sources=sources())))
    assert any(d.keys.get("path_signature") == ways[1]["path_signature"] for d in documents)


def test_a_failing_trace_represents_where_no_error_was_grouped() -> None:
    ways = [q.keys for kind, q in queries(replace(case(), crashes=())) if kind == "trace" and q.keys]

    assert ways[0] == {"trace_id": FAILING}


def test_a_bare_alert_asks_too() -> None:
    bare = Case(incident_id="i", alerts=(an_alert(),))

    asked = queries(bare)

    assert {kind for kind, _ in asked} == set(KINDS)
    assert all(query.from_ns is None for _, query in asked)


async def test_the_store_answers_with_what_explains_the_incident() -> None:
    index = await open_index(None, clock=FixedClock())
    made = case()
    await store_sources(index, made.sources, {})
    commits = (
        a_commit(GUILTY, "price/format.py", "Show coupon text on receipts"),
        a_commit("d" * 40, "README.md", "Say how to run it"),
    )
    await index.put(list(KINDS["diff"].documents(Material(sources=made.sources, commits=commits))))

    hits = (await retrieve(index, [query for _, query in queries(made)], at_ns=ONSET)).hits

    assert hits[0].document.error_signature
    diffs = [h.document.keys["commit_sha"] for h in hits if h.document.kind == "diff"]
    assert diffs[0] == GUILTY
    sections = [h.document.attributes["heading"] for h in hits if h.document.kind == "postmortem"]
    assert sections[0] == "Root cause"
    assert {h.document.kind for h in hits} >= {"trace", "log", "diff", "deploy", "flag", "config", "test", "postmortem"}
    await index.close()
