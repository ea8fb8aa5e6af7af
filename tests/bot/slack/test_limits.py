"""What Slack would refuse is found before it is sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.slack.limits import text_total, validate_blocks, validate_message, validate_view

CAPTURED = Path(__file__).parents[2] / "captured" / "slack"
CASES: dict[str, list[dict[str, Any]]] = json.loads((CAPTURED / "block_cases.json").read_text())
INVALID = {name: blocks for name, blocks in CASES.items() if not name.startswith("00")}


def test_every_known_invalid_message_is_caught_for_its_own_reason() -> None:
    faults = {name: validate_blocks(blocks) for name, blocks in INVALID.items()}

    assert len(INVALID) == 42
    assert [name for name, found in faults.items() if not found] == []
    assert all(
        set(f) == {"code", "message", "field", "pointer", "constraint"} for found in faults.values() for f in found
    )


def test_valid_messages_are_accepted() -> None:
    real = json.loads((CAPTURED / "message.json").read_text())

    assert validate_blocks(CASES["00 valid baseline"]) == []
    assert validate_message({name: value for name, value in real.items() if name != "channel"}) == []


@pytest.mark.parametrize(
    ("case", "code", "pointer"),
    [
        ("03 field 2001", "failed_constraint", "/0/fields/0/text"),
        ("05 header mrkdwn", "unsupported_type", "/0/text/type"),
        ("12 dup action_id", "duplicate_action_id", "/0/elements/1/action_id"),
        ("13 dup block_id", "duplicate_block_id", "/1/block_id"),
        ("17 unknown field", "additional_property", "/0/colour"),
        ("31 total 14k in sections", "msg_blocks_too_long", ""),
        ("42 container in container", "unsupported_type", "/0/child_blocks/0/type"),
    ],
)
def test_a_fault_points_at_its_place(case: str, code: str, pointer: str) -> None:
    assert (code, pointer) in [(f["code"], f["pointer"]) for f in validate_blocks(CASES[case])]


@pytest.mark.parametrize(
    ("blocks", "code"),
    [
        ("[]", "invalid_type"),
        ([], "failed_constraint"),
        ([5], "invalid_type"),
        ([{"type": ["section"]}], "unsupported_type"),
        ([{"type": "rich_text", "elements": "x"}], "invalid_type"),
        ([{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]}], "failed_constraint"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x", "emoji": 1}}], "invalid_type"),
        ([{"type": "header", "text": "x"}], "invalid_type"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x"}, "level": True}], "invalid_type"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x"}, "level": 9}], "failed_constraint"),
        ([{"type": "section", "text": 5}], "invalid_type"),
        ([{"type": "data_visualization"}] * 3, "failed_constraint"),
        ([{"type": "image", "alt_text": "x", "image_url": "ftp://x"}], "failed_constraint"),
    ],
)
def test_wrong_shapes_are_named(blocks: Any, code: str) -> None:
    assert code in [f["code"] for f in validate_blocks(blocks)]


def test_a_message_needs_words_for_those_who_do_not_see_blocks() -> None:
    assert [f["code"] for f in validate_message({"blocks": CASES["00 valid baseline"]})] == ["no_text"]
    assert [f["code"] for f in validate_message({"text": "x" * 4001})] == ["msg_too_long"]
    assert [f["code"] for f in validate_message("x")] == ["invalid_type"]


def test_metadata_has_a_type_a_payload_and_a_size() -> None:
    def faults(metadata: Any) -> list[str]:
        return [f["pointer"] for f in validate_message({"text": "x", "metadata": metadata})]

    assert faults({"event_type": "t", "event_payload": {}}) == []
    assert faults({"event_type": "t"}) == ["/metadata/event_payload"]
    assert faults({"event_type": "t", "event_payload": 5}) == ["/metadata/event_payload"]
    assert faults({"event_type": "t", "event_payload": {"x": "y" * 20_000}}) == ["/metadata"]


def test_a_modal_needs_a_title_and_a_way_to_send_it() -> None:
    field = {
        "type": "input",
        "label": {"type": "plain_text", "text": "x"},
        "element": {"type": "plain_text_input", "action_id": "a"},
    }
    title = {"type": "plain_text", "text": "t"}

    assert validate_view({"type": "modal", "title": title, "submit": title, "blocks": [field]}) == []
    assert [f["pointer"] for f in validate_view({"type": "modal", "blocks": [field]})] == ["/title", "/submit"]
    assert [f["pointer"] for f in validate_view({"type": "modal", "title": title})] == ["/blocks"]
    assert validate_view([])[0]["code"] == "invalid_type"


def test_text_is_counted_wherever_it_stands() -> None:
    assert text_total(CASES["00 valid baseline"]) == len("hhiOKabOKOKtsure?ync")
