"""The service graph, from traces as they are really recorded."""

from retrieval.context.topology import build_topology
from retrieval.context.window import make_window
from retrieval.model import Topology
from tests.retrieval.context.scene import at, onset, sources, span

WINDOW = make_window(onset(-5))


def graph(*records: object, entry: str = "shop", since: float | None = None) -> Topology:
    return build_topology(sources(*records), WINDOW, entry, onset_ns=None if since is None else at(since))


def request(minute: float, *, failed: bool = False, trace: str = "") -> list[object]:
    """edge -> shop -> (prices, stock)"""
    trace = trace or f"t{minute}"
    return [
        span(minute, "edge", trace=trace, name_id="1", failed=failed),
        span(minute, "edge", trace=trace, name_id="2", parent="1", kind="client"),
        span(minute, "shop", trace=trace, name_id="3", parent="2", failed=failed),
        span(minute, "prices", trace=trace, name_id="4", parent="3"),
        span(minute, "stock", trace=trace, name_id="5", parent="3", failed=failed),
    ]


def test_edges_and_the_failing_path_come_from_parent_links() -> None:
    found = graph(*request(-10), *request(-4, failed=True), *request(-3))
    assert found.edges == {"edge": {"shop": 3}, "shop": {"prices": 3, "stock": 3}}
    assert found.failing == {"edge": {"shop": 1}, "shop": {"prices": 1, "stock": 1}}
    assert found.path == ("edge", "shop", "prices", "stock")
    assert found.failing_share == {"edge": 0.3333, "prices": 0.0, "shop": 0.3333, "stock": 0.3333}


def test_the_share_counts_from_the_onset() -> None:
    assert graph(*request(-10), *request(-4, failed=True), since=-5).failing_share["shop"] == 1.0


def test_without_failing_requests_the_path_is_the_alerted_services() -> None:
    other = span(-4, "billing", trace="b")
    assert graph(*request(-4), other).path == ("edge", "shop", "prices", "stock")
    assert graph(other, entry="unknown").path == ("billing",)
    assert graph().path == ("shop",) and graph(entry="").path == ()


def test_spans_outside_of_the_window_do_not_count() -> None:
    assert graph(*request(-90), *request(60)).edges == {}


def test_a_cycle_of_services_and_of_parent_links_ends() -> None:
    ring = [
        span(-4, "a", trace="t", name_id="1", parent="3", failed=True),
        span(-4, "b", trace="t", name_id="2", parent="1"),
        span(-4, "c", trace="t", name_id="3", parent="2"),
        span(-4, "d", trace="t", name_id="4", parent="4"),
    ]
    found = graph(*ring, entry="a")
    assert found.edges == {"a": {"b": 1}, "b": {"c": 1}, "c": {"a": 1}}
    assert set(found.path) == {"a", "b", "c", "d"}
    assert graph(*ring[:3], entry="b").path == ("b", "c", "a")


def test_missing_parents_duplicates_and_skewed_clocks_are_tolerated() -> None:
    records = [
        span(-4, "edge", trace="t", name_id="1"),
        span(-4, "edge", trace="t", name_id="1"),
        span(-7, "shop", trace="t", name_id="2", parent="1", failed=True),
        span(-3, "stock", trace="t", name_id="3", parent="lost", failed=True),
    ]
    found = graph(*records)
    assert found.edges == {"edge": {"shop": 1}}
    assert found.path == ("edge", "stock", "shop")
    assert found.failing_share == {"edge": 0.0, "shop": 1.0, "stock": 1.0}


def test_peers_without_spans_of_their_own_are_known_by_name() -> None:
    records = [
        span(-4, "shop", trace="t", name_id="1"),
        span(-4, "shop", trace="t", name_id="2", parent="1", kind="client", **{"peer.service": "bank"}),
        span(-4, "shop", trace="t", name_id="3", parent="1", kind="client", **{"server.address": "stock.local:8080"}),
        span(-4, "shop", trace="t", name_id="4", parent="1", kind="client", **{"server.address": "10.0.0.7"}),
        span(-4, "shop", trace="t", name_id="5", parent="1", kind="client", **{"db.system": "postgresql"}),
        span(-4, "shop", trace="t", name_id="6", parent="1", kind="producer", **{"messaging.system": 7}),
        span(-4, "shop", trace="t", name_id="7", parent="1", kind="client", **{"server.address": "shop.internal"}),
        span(-4, "stock", trace="t", name_id="8"),
    ]
    assert graph(*records).edges == {"shop": {"bank": 1, "postgresql": 1, "stock": 1}}


def test_a_worker_that_survives_its_failures_has_a_share_all_the_same() -> None:
    records = []
    for n in range(10):
        records += [
            span(-4 + n / 10, "worker", "run", trace=f"t{n}", name_id="r", kind="internal"),
            span(-4 + n / 10, "worker", "job", trace=f"t{n}", parent="r", kind="internal", failed=n < 3),
        ]
    assert graph(*records, entry="worker").failing_share == {"worker": 0.3}
