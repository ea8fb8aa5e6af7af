"""What a reader sees: every rung, in few lines, within Slack's limits."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.model import IncidentView
from bot.slack.card import card
from bot.slack.limits import BUDGET_CHARACTERS, text_total, validate_message
from bot.slack.message import BUTTONS, message
from bot.slack.picture import render_svg
from bot.slack.terminal import render_text
from bot.slack.thread import thread
from retrieval.model import (
    Attempt,
    Bisect,
    Claim,
    CrashGroup,
    ErrorSignature,
    MissingData,
    Patch,
    Proof,
    Verdict,
)
from tests.bot.slack.house import said
from tests.bot.slack.views import (
    BAD,
    GOOD,
    HOSTILE,
    T0,
    alert,
    at,
    case,
    evidence,
    hypothesis,
    looking,
    proof,
    suspect,
    view,
)

EXPECTED = Path(__file__).parent / "expected"

SHOWN: dict[str, IncidentView] = {
    **{verdict.value: view(at(verdict)) for verdict in Verdict},
    "looking": looking(),
    "failed": view(status="failed", stage="timeout", known="Press Re-run to look again", case=None),
    "resolved": view(firing=0, resolved=1, alerts=(alert(status="resolved", ends_ns=T0 + 40 * 60 * 10**9),)),
    "unreadable": view(
        status="failed",
        stage="unreadable",
        known="",
        case=None,
        alerts=(alert(annotations={"raw": '{"alerts": [\n  {"labels": "<!channel>"}'}, labels={}, name="unreadable"),),
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_words_are_as_agreed(name: str) -> None:
    assert render_text(SHOWN[name]) + "\n" == (EXPECTED / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", SHOWN)
def test_slack_and_terminal_say_the_same(name: str) -> None:
    shown = card(SHOWN[name])
    in_slack = said(message(SHOWN[name]))

    assert all(line.text in in_slack and line.label in in_slack for line in shown.lines)
    assert shown.title in in_slack and shown.foot in in_slack


@pytest.mark.parametrize("name", SHOWN)
def test_a_message_fits_and_stays_under_twenty_lines(name: str) -> None:
    built = message(SHOWN[name])

    assert validate_message(built) == []
    assert text_total(built["blocks"]) < 4_000
    assert len(card(SHOWN[name]).lines) + 2 <= 20


@pytest.mark.parametrize("verdict", [Verdict.INSUFFICIENT, Verdict.LEAD])
def test_a_low_verdict_says_so_first_tells_what_was_looked_at_and_asks(verdict: Verdict) -> None:
    built = message(view(at(verdict)))
    words = said(built)

    assert words.split("\n")[0].split(" ", 1)[1].startswith(("Insufficient evidence", "Only a lead"))
    assert "311 log records" in words and "logs of checkout" in words
    assert built["blocks"][-1]["elements"][0]["action_id"] == "receipts_missing"
    assert "roll back" not in words


def test_every_claim_that_is_shown_is_cited_and_linked() -> None:
    section = message(view())["blocks"][1]["elements"][0]["elements"]
    links = {e["text"]: e["url"] for e in section if e["type"] == "link"}

    assert {"E1", "E2", "E3", "E4", "E5", "E6"} <= set(links)
    assert links["E5"] == "https://receipts.example.com/incidents/inc-42#E5"


def test_without_a_public_address_citations_are_plain() -> None:
    section = message(view(public_url=""))["blocks"][1]["elements"][0]["elements"]

    assert [e["text"] for e in section if e["type"] == "link"] == ["runbook at wiki.example.com"]
    assert "E1" in [e["text"] for e in section]


def test_buttons_carry_the_incident_and_nothing_else() -> None:
    elements = message(view())["blocks"][-1]["elements"]

    assert [e["action_id"] for e in elements if e["type"] == "button"] == list(BUTTONS)
    assert {e["value"] for e in elements if e["type"] == "button"} == {"inc-42"}
    assert all(o["value"].endswith(" inc-42") for e in elements if e["type"] == "overflow" for o in e["options"])


def _lines(of: IncidentView) -> dict[str, str]:
    return {line.label: line.text for line in card(of).lines}


def test_a_flag_is_switched_back_rather_than_code_rolled_back() -> None:
    flag = evidence(
        1, "flag", "coupon_text = on at 13:57", content=json.dumps({"flag": "coupon_text", "value": True, "at_ns": 1})
    )
    told = hypothesis(
        rule="flag_change", suspected_commit=None, claims=(Claim("coupon_text was switched on", ("E1",)),)
    )
    lines = _lines(view(case(Verdict.SUPPORTED, evidence=(flag,), hypotheses=(told,), proof=None)))

    assert lines["Do now"] == "switch flag coupon_text back from True"
    assert lines["Because"] == "coupon_text was switched on E1"


def test_a_configuration_key_is_set_back() -> None:
    key = evidence(1, "config", "pool = 2", content=json.dumps({"key": "pool", "value": "2", "service": "checkout"}))
    told = hypothesis(rule="config_change", suspected_commit=None, claims=(Claim("pool went from 20 to 2", ("E1",)),))
    lines = _lines(view(case(Verdict.SUPPORTED, evidence=(key,), hypotheses=(told,), proof=None)))

    assert lines["Do now"] == "set pool back from 2"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"value": 1}'])
def test_evidence_that_cannot_be_read_gives_no_step(content: str) -> None:
    key = evidence(1, "config", "pool = 2", content=content)
    told = hypothesis(rule="config_change", claims=(Claim("pool went from 20 to 2", ("E1",)),))

    assert "Do now" not in _lines(view(case(Verdict.SUPPORTED, evidence=(key,), hypotheses=(told,), proof=None)))


def test_a_test_that_fails_before_the_change_too_recommends_no_roll_back() -> None:
    error = ErrorSignature("KeyError", "x")
    failing = Attempt(commit=GOOD, outcome="failed", error_signature=error, matches_production=True)
    lines = _lines(view(case(proof=msgspec.structs.replace(proof(), at_good=failing, bisect=None, patch=None))))

    assert "Do now" not in lines
    assert lines["Proof"].startswith("⚪ fails at 9f8e7d6 as in production (KeyError)")


def test_lamps_are_dark_where_nothing_was_shown() -> None:
    other = ErrorSignature("ImportError", "no module")
    ran = Proof(
        service="checkout",
        repo="checkout",
        at_deployed=Attempt(commit=BAD, outcome="error", error_signature=other),
        at_good=Attempt(commit=GOOD, outcome="timeout"),
        patch=Patch(diff="x", strategy="guard", rationale="", outcome="failed"),
    )
    text = _lines(view(case(Verdict.SUPPORTED, proof=ran)))["Proof"]

    assert text.startswith("⚪ no end in time at 9f8e7d6 · ⚪ fails at a1b2c3d, but not as in production (ImportError)")
    assert "⚪ no patch helps yet (failed)" in text


def test_the_rollback_goes_to_what_ran_before_the_suspected_deploy() -> None:
    unknown = msgspec.structs.replace(suspect(), deploy=msgspec.structs.replace(suspect().deploy, previous_sha=""))

    assert _lines(view())["Do now"] == "roll back checkout to 9f8e7d6"
    assert _lines(view(case(suspects=(unknown,))))["Do now"] == "roll back checkout to 9f8e7d6"
    assert _lines(view(case(suspects=(), proof=None)))["Do now"] == "roll back checkout to 9f8e7d6"
    nothing = case(suspects=(unknown,), proof=None, rollout=type(case().rollout)())
    assert "Do now" not in _lines(view(nothing))


def test_a_storm_says_how_many_and_what_was_left_out() -> None:
    first = card(view(firing=7, resolved=2, truncated=5, refired=3, changed="verdict lead → proved")).lines

    assert "7 firing, 2 resolved · 5 more that the sender left out · fired again 3×" in first[0].text
    assert first[1].label == "Changed"


def test_an_incident_of_another_day_names_the_day() -> None:
    assert card(view(now_ns=T0 + 2 * 86400 * 10**9)).lines[0].text.startswith("since 2026-11-30 13:58 UTC")


def test_small_shares_and_calm_severities_are_told_as_such() -> None:
    few = case(topology=type(case().topology)(failing_share={"checkout": 0.004}))
    calm = view(few, alerts=(alert(labels={"service": "checkout", "severity": "warning"}),))

    assert "<1 % of requests" in card(calm).lines[0].text
    assert card(calm).title.startswith("🟠")


def test_a_failure_after_a_conclusion_still_shows_the_conclusion() -> None:
    assert "Before that" in _lines(view(status="failed", stage="crashed", known="Press Re-run"))
    assert _lines(view(status="failed", stage="kill_switch", case=None))["Failed"].startswith("the kill switch is on")
    assert _lines(view(status="failed", stage="odd reason", case=None))["Failed"] == "odd reason"


def test_more_is_missing_than_is_shown() -> None:
    missing = tuple(MissingData(f"thing {n}", "why", "where") for n in range(9))
    labels = [line.label for line in card(view(case(Verdict.LEAD, missing=missing))).lines]

    assert labels.count("Missing") == 4


def test_an_incident_without_alerts_is_still_told() -> None:
    assert validate_message(message(view(alerts=(), case=None, status="looking"))) == []
    assert card(view(alerts=(), case=None, status="looking")).title.endswith("inc-42")


def _hostile() -> IncidentView:
    told = hypothesis(
        summary=HOSTILE,
        suspected_file=HOSTILE,
        claims=(Claim(HOSTILE, ("E1",)), Claim(HOSTILE, ("E5",))),
        would_disprove=HOSTILE,
    )
    bad = msgspec.structs.replace(
        suspect(), commit=msgspec.structs.replace(suspect().commit, subject=HOSTILE, author=HOSTILE)
    )
    pieces = (evidence(1, "log", HOSTILE, source=HOSTILE, why=HOSTILE), evidence(5, "diff", HOSTILE))
    ran = msgspec.structs.replace(
        proof(),
        files={"tests/test_receipts_repro.py": HOSTILE},
        bisect=Bisect(culprit=BAD),
        patch=Patch(diff=HOSTILE, strategy="guard", rationale=HOSTILE, outcome="passed"),
    )
    crash = CrashGroup(key="k", service=HOSTILE, signature=ErrorSignature(HOSTILE, HOSTILE))
    of = case(
        hypotheses=(told,),
        suspects=(bad,),
        evidence=pieces,
        proof=ran,
        crashes=(crash,),
        looked_at=(HOSTILE,),
        missing=(MissingData(HOSTILE, HOSTILE, HOSTILE),),
    )
    foreign = alert(
        name=HOSTILE,
        labels={"service": HOSTILE, "region": HOSTILE},
        annotations={"summary": HOSTILE, "runbook_url": "javascript:alert(1)", "raw": HOSTILE},
    )
    return view(of, alerts=(foreign,), changed=HOSTILE)


@pytest.mark.parametrize("status", ["done", "looking", "failed"])
def test_hostile_text_neither_pings_nor_links_nor_hides(status: str) -> None:
    hostile = msgspec.structs.replace(_hostile(), status=status, stage=HOSTILE, known=HOSTILE)
    for built in [message(hostile), *thread(hostile).values()]:
        sent = json.dumps(built, ensure_ascii=False)
        addresses = [e["url"] for e in _elements(built["blocks"]) if e.get("type") == "link"]

        assert validate_message(built) == []
        assert text_total(built["blocks"]) <= BUDGET_CHARACTERS
        assert not any(form in sent for form in ("<!", "<@", "@here", "\u202e", "\u200b", "\x1b", "\\u001b", "\ue000"))
        assert "49" not in built["text"] and "mrkdwn" not in {e.get("type") for e in _elements(built["blocks"])}
        assert all(a.startswith("https://receipts.example.com/") for a in addresses)


def test_a_huge_case_still_fits() -> None:
    long = "x" * 50_000
    claims = tuple(Claim(long, tuple(f"E{n}" for n in range(1, 200))) for _ in range(50))
    of = case(
        hypotheses=(hypothesis(claims=claims, would_disprove=long),),
        evidence=tuple(evidence(n, "log", long, source=long) for n in range(1, 200)),
        proof=msgspec.structs.replace(
            proof(), files={"tests/test_receipts_repro.py": long}, patch=Patch(diff=long, strategy="g", rationale=long)
        ),
        looked_at=(long,) * 50,
        missing=(MissingData(long, long, long),) * 50,
    )
    huge = view(of, alerts=(alert(annotations={"summary": long}),) * 500, incident_id="i" * 60)
    for built in [message(huge), *thread(huge).values()]:
        assert validate_message(built) == []
        assert text_total(built["blocks"]) <= BUDGET_CHARACTERS
    assert "in the bundle" in said(thread(huge)["evidence"])


def _elements(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(e for v in value.values() for e in _elements(v))]
    return [e for v in value for e in _elements(v)] if isinstance(value, list) else []


def test_the_picture_is_well_formed_and_shows_the_words() -> None:
    root = {**message(_hostile()), "ts": "1.0"}
    replies = [{**m, "ts": f"2.{n}", "thread_ts": "1.0"} for n, m in enumerate(thread(view()).values())]
    upload = {"ts": "3.0", "thread_ts": "1.0", "text": "", "files": [{"name": "receipts-<x>.zip", "size": 12}]}
    other = {
        "ts": "4.0",
        "text": "plain",
        "blocks": [{"type": "divider"}, {"type": "section", "text": {"text": "a & b"}}],
    }
    svg = render_svg([root, *replies, upload, other], channel="incidents")
    words = "".join(ET.fromstring(svg).itertext())

    assert svg == render_svg([root, *replies, upload, other], channel="incidents")
    assert "format_discount" in words and "receipts-<x>.zip" in words and "a & b" in words
    assert not any(part in svg for part in ("href", "url(", "<image", "<style", "<script"))


def test_the_picture_keeps_its_words_inside() -> None:
    svg = ET.fromstring(render_svg([{**message(view()), "ts": "1.0"}]))
    for line in svg.iter("{http://www.w3.org/2000/svg}text"):
        spans = [(len(span.text or ""), float(span.get("font-size", "0"))) for span in line]
        assert float(line.get("x", "0")) + sum(length * size * 0.5 for length, size in spans) < 860


def test_the_lamps_are_drawn_without_an_emoji_face() -> None:
    svg = render_svg([{**message(view()), "ts": "1.0"}])

    assert svg.count("●") == 4 and "🟢" not in svg and "🔴" not in svg


def test_while_it_looks_again_the_conclusion_before_stays_in_sight() -> None:
    assert "(proved)" in _lines(looking(case=case(), revision=9))["Before that"]
