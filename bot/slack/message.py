"""An incident as a Slack message (pure): blocks whose texts Slack does not parse.

Foreign text is only ever put into `plain_text` and `rich_text` elements; the one parsed field, `text`, goes through
`mrkdwn`. A button's value is the incident id and nothing else: people can read values, and what they may do is decided
when they press.
"""

from typing import Any

from bot.model import IncidentView
from bot.slack.card import Card, card
from bot.slack.text import mrkdwn
from bot.slack.wording import Line, Run

EVENT_TYPE = "receipts_incident"
# action_id -> label; order as shown.
BUTTONS = {
    "receipts_bundle": "Bundle",
    "receipts_evidence": "Evidence",
    "receipts_rerun": "Re-run",
    "receipts_right": "Right",
    "receipts_wrong": "Wrong",
}
GIVE = ("receipts_missing", "Give what is missing")
MORE = "receipts_more"
# Overflow: what a press changes -> label. The value is "WHAT INCIDENT".
WINDOWS = {"before=2h": "Re-run, two hours back", "before=24h": "Re-run, a day back"}

Message = dict[str, Any]


def message(view: IncidentView) -> Message:
    """{text, blocks, metadata} of the root message; fits Slack's limits whatever the view holds."""
    shown = card(view)
    blocks: list[dict[str, Any]] = [header(shown.title)]
    if shown.lines:
        blocks.append(rich_text(section(shown.lines)))
    if shown.raw:
        blocks.append(rich_text(preformatted(shown.raw)))
    blocks.append({"type": "context", "elements": [plain_text(shown.foot)]})
    if shown.buttons:
        blocks.append(_actions(view, shown))
    return {"text": mrkdwn(shown.notice), "blocks": blocks, "metadata": metadata(view.incident_id, "root")}


def metadata(incident_id: str, part: str) -> dict[str, Any]:
    """Marks a message as ours, so that it is found again after a crash. Visible to every app: ids only."""
    return {"event_type": EVENT_TYPE, "event_payload": {"incident_id": incident_id, "part": part}}


def plain_text(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": plain_text(text or "-")}


def rich_text(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": list(elements)}


def preformatted(text: str) -> dict[str, Any]:
    return {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text or " "}]}


def section(lines: tuple[Line, ...] | list[Line]) -> dict[str, Any]:
    """All lines in one section, each on its own line, labels in bold."""
    elements: list[dict[str, Any]] = []
    for position, line in enumerate(lines):
        if position:
            elements.append({"type": "text", "text": "\n"})
        if line.label:
            elements += [_element(Run(line.label, bold=True)), {"type": "text", "text": "  "}]
        elements += [_element(run) for run in line.runs]
    return {"type": "rich_text_section", "elements": elements}


def _element(run: Run) -> dict[str, Any]:
    element: dict[str, Any] = {"type": "text", "text": run.text}
    if run.link:
        element = {"type": "link", "url": run.link, "text": run.text}
    style = {name: True for name, on in (("bold", run.bold), ("code", run.code)) if on}
    return {**element, "style": style} if style else element


def _actions(view: IncidentView, shown: Card) -> dict[str, Any]:
    chosen = dict(BUTTONS) if view.status == "done" else {"receipts_rerun": BUTTONS["receipts_rerun"]}
    elements = [_button(name, label, view.incident_id) for name, label in chosen.items()]
    if shown.asks:
        elements.insert(0, {**_button(*GIVE, view.incident_id), "style": "primary"})
    if view.status == "done":
        options = [
            {"text": plain_text(label), "value": f"{what} {view.incident_id}"[:150]} for what, label in WINDOWS.items()
        ]
        elements.append({"type": "overflow", "action_id": MORE, "options": options})
    return {"type": "actions", "elements": elements}


def _button(action_id: str, label: str, incident_id: str) -> dict[str, Any]:
    return {"type": "button", "action_id": action_id, "text": plain_text(label), "value": incident_id[:2000]}
