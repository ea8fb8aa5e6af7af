"""What a person is told who asked for something: small messages that only they see (pure)."""

from typing import Any

from bot.model import IncidentView, Rerun
from bot.slack.card import anchor, page
from bot.slack.commands import Judge, NotYet, Wrong
from bot.slack.message import Message, message, rich_text, section
from bot.slack.text import cut, mrkdwn
from bot.slack.thread import bundle_name
from bot.slack.wording import lines
from retrieval.model import Verdict
from retrieval.model.moments import date_of

PIECES = 8


def help_text() -> Message:
    return _reply("reply_help.j2")


def wrong(wish: Wrong) -> Message:
    return _reply("reply_wrong.j2", word=wish.word, example=wish.example, options=wish.options)


def not_yet(wish: NotYet) -> Message:
    return _reply("reply_not_yet.j2", what=wish.what)


def unknown(incident: str, what: str) -> Message:
    return _reply("reply_unknown.j2", incident=incident, what=what)


def refused(incident: str) -> Message:
    return _reply("reply_refused.j2", incident=incident)


def again(incident: str, wish: Rerun) -> Message:
    as_of = date_of(wish.as_of_ns)[:16] if wish.as_of_ns is not None else ""
    return _reply(
        "reply_again.j2",
        incident=incident,
        before=wish.before,
        after=wish.after,
        service=wish.service,
        snapshot=wish.snapshot,
        as_of=as_of,
    )


def judged(incident: str, wish: Judge) -> Message:
    return _reply("reply_judged.j2", incident=incident, verdict=wish.verdict, commit=wish.commit)


def given(incident: str) -> Message:
    return _reply("reply_given.j2", incident=incident)


def failed(incident: str, reference: str) -> Message:
    return _reply("reply_failed.j2", incident=incident, reference=reference)


def status(view: IncidentView) -> Message:
    """The root message again, without its buttons."""
    shown = message(view)
    return {"text": shown["text"], "blocks": [b for b in shown["blocks"] if b["type"] != "actions"]}


def evidence(view: IncidentView) -> Message:
    case = view.case
    pieces = case.evidence if case else ()
    values: dict[str, Any] = {
        "incident": view.incident_id,
        "total": len(pieces),
        "pieces": pieces[:PIECES],
        "address": page(view),
        "verdict": Verdict(case.verdict).value.replace("_", " ") if case else "",
    }
    told = lines("reply_evidence.j2", values, anchors=lambda i: anchor(view, i))
    return {"text": mrkdwn(cut(told[0].text, 300)), "blocks": [rich_text(section(told))]}


def bundle(view: IncidentView) -> Message:
    ref, where = view.bundle, page(view)
    return _reply(
        "reply_bundle.j2",
        incident=view.incident_id,
        name=bundle_name(view, ref) if ref else "",
        size=ref.size if ref else 0,
        sha256=ref.sha256 if ref else "",
        address=f"{where}/bundle" if where else "",
        looking=view.status == "looking",
    )


def _reply(template: str, **values: Any) -> Message:
    told = lines(template, values)
    return {"text": mrkdwn(cut(told[0].text, 300)), "blocks": [rich_text(section(told))]}
