"""Which records belong to a failure, and what they say about request, settings and calls to others."""

import pytest
from msgspec import structs

from bundles.harness.downstream import downstream_of
from bundles.harness.flat import embedded_json, flatten, parse_json
from bundles.harness.occurrences import occurrences
from bundles.harness.replay import untraced_peers
from bundles.harness.requests import request_of
from bundles.harness.settings import settings_at

NOW = 1_700_000_000_000_000_000


def the_request(scene, peers=()):
    return request_of(occurrences(scene.case, scene.crash)[0], "shop", peers)


@pytest.mark.parametrize(
    "attributes",
    [
        {"http.request.method": "GET", "url.path": "/v2/rates", "url.query": "to=IS"},
        {"http.method": "GET", "http.target": "/v2/rates?to=IS"},
        {"http.method": "GET", "http.url": "http://shop:8080/v2/rates?to=IS"},
    ],
    ids=["current names", "old names", "url only"],
)
def test_a_server_span_names_the_request(scene, attributes):
    scene.span(attributes)
    scene.fails("E", "m")
    assert the_request(scene).line == "GET /v2/rates?to=IS"


def test_the_query_comes_from_the_caller_where_the_service_did_not_record_it(scene):
    scene.span({"http.method": "GET", "url.path": "/rates"}, parent="client")
    scene.span(
        {"http.method": "GET", "url.full": "http://shop/rates?to=IS"}, kind="client", service="edge", span_id="client"
    )
    scene.span(
        {"http.method": "GET", "url.full": "http://other/rates?to=XX"}, kind="client", service="shop", span_id="c2"
    )
    scene.fails("E", "m")
    assert the_request(scene).line == "GET /rates?to=IS"


@pytest.mark.parametrize(
    ("body", "attributes", "line"),
    [
        ("Exception on /v1/points [GET]", {}, "GET /v1/points"),
        ('10.0.0.1 - - [x] "GET /p?x=1 HTTP/1.1" 500 12', {}, "GET /p?x=1"),
        ("failed", {"request": {"url": "http://h/p", "method": "GET", "query_string": "x=1"}}, "GET /p?x=1"),
        ("failed", {"method": "GET", "path": "/p?x=1", "status": 500}, "GET /p?x=1"),
    ],
)
def test_logs_name_the_request(scene, body, attributes, line):
    scene.fails("E", "m", body=body, attributes=attributes)
    assert the_request(scene).line == line


def test_an_untraced_access_log_line_beside_the_failure_is_the_last_resort(scene):
    scene.fails("E", "m", trace_id="")
    scene.log('"GET /far HTTP/1.1" 500 1', trace_id="", at_ms=900)
    scene.log('"GET /near HTTP/1.1" 500 1', trace_id="", at_ms=2)
    peers = untraced_peers(scene.case, "shop", NOW)
    assert the_request(scene, peers).line == "GET /near"


def test_headers_that_may_matter_are_kept_and_others_left_out(scene):
    scene.span({
        "http.method": "POST", "http.target": "/x", "user_agent.original": "curl/8", "http.request.body.size": 0,
        "http.request.header.authorization": ["Bearer x"], "http.request.header.x_tenant": ["b"],
        "http.request.header.x-bad": ["a\r\nb"],
    })  # fmt: skip
    scene.fails("E", "m")
    request = the_request(scene)
    assert request.headers == {"user-agent": "curl/8", "x-tenant": "b"}
    assert request.empty


@pytest.mark.parametrize("body", ["", "[Filtered]", "{}", None])
def test_a_body_that_was_not_captured_is_none(scene, body):
    scene.span({"http.method": "POST", "http.target": "/x"})
    scene.fails("E", "m", attributes={"request": {"method": "POST", "url": "http://h/x", "data": body}})
    assert the_request(scene).body is None


def test_without_method_or_path_there_is_no_request(scene):
    scene.span({"url.path": "/x"})
    scene.fails("E", "m")
    assert the_request(scene) is None
    scene.spans.clear()
    assert the_request(scene) is None


def test_a_log_without_a_trace_is_joined_to_the_span_that_was_running(scene):
    scene.span({"http.method": "GET", "http.target": "/a"}, trace_id="1" * 32, at_ms=-900, status="error")
    scene.span({"http.method": "GET", "http.target": "/b"}, trace_id="2" * 32, at_ms=-5, status="error")
    scene.span({"http.method": "GET", "http.target": "/c"}, trace_id="3" * 32, at_ms=-5)
    scene.fails("E", "m", trace_id="")
    assert the_request(scene).line == "GET /b"


def test_one_failure_for_each_trace_and_all_records_of_it(scene):
    scene.fails("E", "m")
    scene.fails("pkg.E", "m", at_ms=1)
    scene.fails("E", "m", trace_id="b" * 32, at_ms=2)
    found = occurrences(scene.case, scene.crash)
    assert [len(o.own) for o in found] == [2, 1]
    assert len(occurrences(scene.case, scene.crash, limit=1)) == 1


def test_settings_are_those_of_the_moment_and_of_the_names_that_the_code_knows(scene):
    scene.fails("E", "m")
    scene.setting("PER_PAGE", "20")
    scene.setting("limits.max_side", "5")
    scene.setting("unknown.key", "5")
    scene.setting("db.password", "x")
    scene.setting("REGION", "[REDACTED]")
    scene.flag("shop.new-math", True)
    scene.flag("rollout", "10%")
    names = {"LIMITS_MAX_SIDE", "FLAG_NEW_MATH", "on", "ROLLOUT", "PATH"}
    found = settings_at(scene.case, "shop", NOW, names)
    assert found.environment == {"PER_PAGE": "20", "LIMITS_MAX_SIDE": "5", "FLAG_NEW_MATH": "on", "ROLLOUT": "10%"}
    assert found.values["limits.max_side"] == "5"
    assert "db.password" not in found.values
    prefixed = settings_at(scene.case, "shop", NOW, {"FLAG_"})
    assert prefixed.environment["FLAG_SHOP_NEW_MATH"] == "true"


def test_calls_to_other_services_with_what_they_answered(scene):
    scene.fails("E", "m")
    scene.span({"http.method": "GET", "http.url": "http://a/x", "http.status_code": 200}, kind="client", span_id="c1")
    scene.span({"http.method": "PUT", "url.full": "http://b/y?z=1"}, kind="client", span_id="c2")
    scene.span({"db.system": "sqlite"}, kind="client", span_id="c3")
    scene.span({"http.method": "GET", "http.url": "http://c/z", "http.status_code": 204}, kind="client", span_id="c4")
    answer = structs.replace(scene.logs[0], span_id="c1", exception=None, attributes={"response": {"body": "[1]"}})
    scene.logs.append(answer)
    found = downstream_of(occurrences(scene.case, scene.crash)[0], "shop")
    assert [(s["method"], s["status"], s["body"]) for s in found.stubs] == [
        ("GET", 200, [1]),
        ("PUT", 0, None),
        ("GET", 204, None),
    ]
    assert found.bodiless == ()


def test_nested_attributes_and_documents_in_text():
    assert flatten({"a": {"b": {"c": 1}}})["a.b.c"] == 1
    assert parse_json("[1") is None
    assert parse_json("3") is None
    assert parse_json(None) is None
    assert embedded_json('x payload={"a": 1} y [1, 2] {broken') == [("payload", {"a": 1}), ("y", [1, 2])]
    assert embedded_json("{" * 1000) == []
