"""What a reader sees of an incident, as lines: one card for Slack, the terminal and the picture (pure)."""

from urllib.parse import quote

from msgspec import Struct

from bot.model import IncidentView
from bot.slack.facts import facts
from bot.slack.text import clean, cut
from bot.slack.wording import Line, Run, lines

_TEMPLATES = {"looking": "looking.j2", "done": "done.j2", "failed": "failed.j2"}
RAW_SHOWN = 1500


class Card(Struct, frozen=True, kw_only=True):
    """`title` is the first line; `raw` a foreign text that is shown as it came, "" but for what could not be read."""

    title: str
    lines: tuple[Line, ...]
    foot: str
    notice: str
    raw: str = ""
    asks: bool = False
    buttons: bool = False


def card(view: IncidentView) -> Card:
    """The lines of design: symptom, cause, proof, what to do, what would disprove it; none without something to say."""
    values = facts(view)
    told = lines(_TEMPLATES.get(view.status, "looking.j2"), values, anchors=lambda i: anchor(view, i))
    title = cut(told[0].text, 150)
    foot = lines("foot.j2", values)[0].text
    return Card(
        title=title,
        lines=tuple(told[1:]),
        foot=foot,
        notice=cut(lines("notice.j2", {**values, "title": title})[0].text, 600),
        raw=_raw(view),
        asks=view.status == "done" and bool(view.case and view.case.missing),
        buttons=view.status == "done" or (view.status == "failed" and view.stage != "unreadable"),
    )


def page(view: IncidentView) -> str:
    """The incident's page, or "" where no public address is configured."""
    base = view.public_url.rstrip("/")
    return f"{base}/incidents/{quote(view.incident_id, safe='')}" if base else ""


def anchor(view: IncidentView, evidence_id: str) -> str:
    """Where a citation leads: the evidence's anchor on the incident page."""
    where = page(view)
    return f"{where}#{quote(evidence_id, safe='')}" if where else ""


def plain(runs: tuple[Run, ...]) -> str:
    return "".join(run.text for run in runs)


def _raw(view: IncidentView) -> str:
    if view.stage != "unreadable" or not view.alerts:
        return ""
    return cut(clean(view.alerts[0].annotations.get("raw", ""), keep_lines=True), RAW_SHOWN)
