"""The modal that asks for what is missing (row B8), and what was written into it (pure)."""

import hashlib
from typing import Any

from bot.model import IncidentView
from bot.slack.message import plain_text
from bot.slack.text import clean, cut
from bot.slack.wording import sentence
from retrieval.model import MissingData

CALLBACK = "receipts_missing_given"
ASKED = 5
_ANSWER = "answer"


def dialog(view: IncidentView) -> dict[str, Any]:
    """A modal with one optional field for each missing thing; the incident's id is all that it carries."""
    missing = view.case.missing[:ASKED] if view.case else ()
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "title": plain_text(cut(sentence("dialog_title.j2"), 24)),
        "submit": plain_text(cut(sentence("dialog_submit.j2"), 24)),
        "private_metadata": view.incident_id[:3000],
        "blocks": [_field(item) for item in missing] or [_nothing()],
    }


def answers(payload_view: dict[str, Any], missing: tuple[MissingData, ...]) -> dict[str, str]:
    """What was asked -> what a person wrote; fields left empty are left out."""
    asked = {_block_id(item): item.what for item in missing}
    given: dict[str, str] = {}
    for block_id, fields in ((payload_view.get("state") or {}).get("values") or {}).items():
        value = (fields.get(_ANSWER) or {}).get("value") if isinstance(fields, dict) else None
        if block_id in asked and isinstance(value, str) and value.strip():
            given[asked[block_id]] = value.strip()
    return given


def first_field(payload_view: dict[str, Any]) -> str:
    """Where an error is shown when nothing was filled in; "" for a modal without fields."""
    blocks = payload_view.get("blocks") or []
    return next((str(b.get("block_id")) for b in blocks if isinstance(b, dict) and b.get("type") == "input"), "")


def _field(item: MissingData) -> dict[str, Any]:
    element = {"type": "plain_text_input", "action_id": _ANSWER, "multiline": True, "max_length": 3000}
    hint = cut(clean(f"{item.why}. {item.where_to_get_it}"), 1900)
    return {
        "type": "input",
        "block_id": _block_id(item),
        "optional": True,
        "label": plain_text(cut(clean(item.what), 1900) or "?"),
        "hint": plain_text(hint or "?"),
        "element": element,
    }


def _nothing() -> dict[str, Any]:
    return {"type": "section", "text": plain_text(sentence("dialog_nothing.j2"))}


def _block_id(item: MissingData) -> str:
    return "missing-" + hashlib.sha256(item.what.encode("utf-8", "replace")).hexdigest()[:16]
