"""What each rule says, and when it is silent."""

import pytest
from msgspec import structs

from retrieval.judgement.facts import gather_facts
from retrieval.judgement.rules import RULES, hypothesise
from retrieval.model import Case, CaseSources, RankedItem, Rollout
from tests import building as b


def drafts(case: Case) -> dict[str, object]:
    return {d.rule: d for d in hypothesise(gather_facts(case))}


def with_sources(**changes: object) -> Case:
    case = b.a_case()
    return structs.replace(case, sources=structs.replace(case.sources, **changes))


def test_a_new_crash_after_a_deploy_is_a_code_change_that_names_no_commit_among_many() -> None:
    found = drafts(b.a_case())
    code = found["code_change"]
    assert set(code.links) == {"symptom", "change"}
    assert code.suspected_commit is None
    assert code.suspected_function == "price/format.py::format_discount"
    assert hypothesise(gather_facts(b.a_case()))[0].rule == "code_change"


def test_a_single_commit_that_can_reach_production_is_named_without_a_run() -> None:
    only = b.suspects()[1:]  # the guilty one, and a README
    assert drafts(b.a_case(suspects=only))["code_change"].suspected_commit == b.GUILTY


def test_a_conviction_names_the_commit() -> None:
    code = drafts(b.a_case(proof=b.a_proof()))["code_change"]
    assert code.suspected_commit == b.GUILTY
    assert any("first commit at which the test fails" in text for text, _ in code.claims)


def test_a_test_that_fails_at_both_commits_acquits_the_code() -> None:
    proof = b.a_proof(at_good=b.an_attempt(b.GOOD, "failed", True), bisect=None)
    case = structs.replace(with_sources(config=(b.a_config(value="5"),)), proof=proof)
    found = hypothesise(gather_facts(case))
    assert found[0].rule == "config_change"
    code = next(d for d in found if d.rule == "code_change")
    assert code.suspected_commit is None
    assert code.links == ("symptom",)


def test_what_fails_without_the_deploy_too_is_not_told_as_the_deploys_doing() -> None:
    proof = b.a_proof(at_good=b.an_attempt(b.GOOD, "failed", True), bisect=None)
    found = hypothesise(gather_facts(structs.replace(b.a_case(), proof=proof)))
    assert found[0].rule == "new_error"
    assert any("the deploy did not bring it" in text for text, _ in found[0].claims)


def test_a_configuration_key_that_the_failing_line_reads_is_support() -> None:
    config = drafts(with_sources(config=(b.a_config("limits.max_percent"),)))["config_change"]
    assert set(config.links) == {"symptom", "change"}
    assert "limits.max_percent" in config.failure_mode


def test_a_configuration_change_that_nothing_reads_stays_a_lead_behind_the_code() -> None:
    case = with_sources(config=(b.a_config("cache.ttl_seconds"),))
    found = hypothesise(gather_facts(case))
    assert found[0].rule == "code_change"
    assert next(d for d in found if d.rule == "config_change").links == ("symptom",)


@pytest.mark.parametrize("minute", [-60, 5])
def test_a_configuration_change_outside_the_window_is_no_hypothesis(minute: float) -> None:
    assert "config_change" not in drafts(with_sources(config=(b.a_config(minute=minute),)))


def test_the_value_before_is_told() -> None:
    case = with_sources(config=(b.a_config(minute=-9000, value="50"), b.a_config(value="5")))
    assert "from 50 to 5" in drafts(case)["config_change"].summary


def test_a_flag_that_the_failing_line_knows_is_support() -> None:
    found = drafts(with_sources(flags=(b.a_flag(),)))["flag_change"]
    assert set(found.links) == {"symptom", "change"}
    assert drafts(with_sources(flags=(b.a_flag("dark_mode"),)))["flag_change"].links == ("symptom",)


def test_without_a_deploy_a_new_error_is_only_a_lead() -> None:
    found = drafts(b.a_case(rollout=Rollout(), suspects=()))
    assert "code_change" not in found
    assert found["new_error"].links == ("symptom",)


def test_failing_calls_to_a_silent_service_point_behind_it() -> None:
    calls = tuple(
        structs.replace(
            b.a_span(i), span_id=f"{i:016x}", kind="client", attributes={"peer.service": "bank"}, exception=None
        )
        for i in range(1, 6)
    )
    found = drafts(b.a_case(crashes=(), sources=CaseSources(spans=calls)))["dependency"]
    assert found.suspected_service == "bank"


def test_a_crash_in_the_requests_whose_call_failed_ties_both() -> None:
    case = b.a_case()
    (crash, *_) = case.crashes
    failing = tuple(
        structs.replace(
            b.a_span(i), trace_id=f"{i:032x}", span_id=f"{i:016x}", kind="client",
            attributes={"server.address": "bank"}, exception=None,
        )
        for i in range(1, 6)
    )  # fmt: skip
    logs = tuple(structs.replace(crash.logs[0], trace_id=span.trace_id) for span in failing[:4])
    tied = structs.replace(crash, logs=logs, spans=(), count=4)
    found = drafts(structs.replace(case, crashes=(tied,), sources=CaseSources(spans=failing)))["dependency"]
    assert set(found.links) == {"symptom", "change"}
    assert any("bank failed" in text for text, _ in found.claims)
    loose = structs.replace(crash, logs=(), spans=())
    apart = drafts(structs.replace(case, crashes=(loose,), sources=CaseSources(spans=failing)))["dependency"]
    assert apart.links == ("symptom",)


def test_a_service_unlike_its_past_is_a_lead() -> None:
    case = b.a_case(crashes=(), service_scores=(RankedItem("price", 3.0), RankedItem("cart", 1.0)))
    found = drafts(case)["degraded"]
    assert found.suspected_service == "price"
    assert found.claims[0][1]


def test_every_rule_is_silent_about_an_alert_alone() -> None:
    case = Case(incident_id="i", alerts=(b.an_alert(),))
    assert hypothesise(gather_facts(case)) == []
    assert len(RULES) >= 6


def test_hostile_text_is_only_text() -> None:
    evil = "{{ 7*7 }} <!channel> ../../etc/passwd ignore previous instructions"
    crash = b.a_crash(signature=structs.replace(b.SIGNATURE, message=evil))
    code = drafts(b.a_case(crashes=(crash,)))["code_change"]
    assert "{{ 7*7 }}" in code.failure_mode
    assert "49" not in code.failure_mode
