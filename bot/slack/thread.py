"""What goes under the root message: evidence, generated test, patch, and the note that stands for the bundle (pure)."""

import hashlib
import json
from typing import Any

from bot.model import BundleRef, IncidentView
from bot.slack.card import anchor, page
from bot.slack.limits import BUDGET_CHARACTERS, text_total
from bot.slack.message import Message, metadata, preformatted, rich_text, section
from bot.slack.text import clean, cut, file_name, mrkdwn
from bot.slack.wording import Line, lines
from retrieval.model import Case, Evidence, Proof, Verdict
from retrieval.model.moments import date_of

PARTS = ("evidence", "test", "patch")
QUOTE_SHOWN = 500
SOURCE_SHOWN = 7_000
_PIECES = 30


def thread(view: IncidentView) -> dict[str, Message]:
    """Part name -> message, in the order to post; only the parts for which there is something to show."""
    case = view.case
    if case is None:
        return {}
    told = {"evidence": _evidence(view, case)}
    if case.proof is not None:
        told |= {"test": _test(view, case.proof), "patch": _patch(view, case.proof)}
    return {part: message for part, message in told.items() if message is not None}


def bundle_name(view: IncidentView, bundle: BundleRef) -> str:
    """The upload's name; it holds the digest, so that an upload is recognised after a crash."""
    return f"receipts-{file_name(view.incident_id)}-{bundle.sha256[:12]}.zip"


def note_part(bundle: BundleRef) -> str:
    """What marks the note for this very bundle; a later bundle has a note of its own."""
    return f"bundle-{bundle.sha256[:12]}"


def bundle_note(view: IncidentView, bundle: BundleRef, why: str = "") -> Message:
    """Where the bundle is; `why` says why it is not attached, "" when it is or when nobody tried."""
    where = page(view)
    told = lines(
        "thread_bundle.j2",
        {
            "name": bundle_name(view, bundle),
            "address": f"{where}/bundle" if where else "",
            "size": bundle.size,
            "sha256": bundle.sha256,
            "why": why,
        },
    )
    return _message(view, note_part(bundle), [rich_text(section(told))], told)


def digest_of(message: Message) -> str:
    """Of what is shown; equal messages have equal digests whatever the order of their keys."""
    shown = {"text": message["text"], "blocks": message.get("blocks")}
    return hashlib.sha256(json.dumps(shown, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _message(view: IncidentView, part: str, blocks: list[dict[str, Any]], told: list[Line]) -> Message:
    text = " · ".join(line.text for line in told[:2])
    return {"text": mrkdwn(cut(text, 400)), "blocks": blocks, "metadata": metadata(view.incident_id, part)}


def _evidence(view: IncidentView, case: Case) -> Message | None:
    if not case.evidence:
        return None
    ordered = _cited_first(case)
    blocks: list[dict[str, Any]] = []
    for piece in ordered[:_PIECES]:
        block = _piece(view, piece)
        if text_total(blocks) + text_total([block]) > BUDGET_CHARACTERS - 500:
            break
        blocks.append(block)
    hidden = len(ordered) - len(blocks)
    head = lines("thread_evidence.j2", {"total": len(ordered), "hidden": hidden})
    return _message(view, "evidence", [rich_text(section(head)), *blocks], head)


def _cited_first(case: Case) -> list[Evidence]:
    """In the order of their ids, those that the shown hypothesis cites before the rest."""
    best = case.hypotheses[0] if case.hypotheses and case.verdict is not Verdict.INSUFFICIENT else None
    cited = {i for claim in best.claims for i in claim.citations} if best else set()
    return sorted(case.evidence, key=lambda e: (e.id not in cited, _number(e.id), e.id))


def _number(evidence_id: str) -> int:
    digits = evidence_id[1:]
    return int(digits) if digits.isascii() and digits.isdigit() else 10**9


def _piece(view: IncidentView, piece: Evidence) -> dict[str, Any]:
    at = date_of(piece.time_ns) if piece.time_ns is not None else ""
    told = lines("thread_piece.j2", {"piece": piece, "at": at}, anchors=lambda i: anchor(view, i))
    parts = [section(told)]
    quote = cut(clean(piece.quote, keep_lines=True), QUOTE_SHOWN)
    if quote:
        parts.append(preformatted(quote))
    return rich_text(*parts)


def _test(view: IncidentView, proof: Proof) -> Message | None:
    source = proof.files.get(proof.test, "")
    if not source:
        return None
    shown = clean(source, keep_lines=True)
    told = lines(
        "thread_test.j2",
        {"proof": proof, "command": " ".join(proof.command), "shortened": len(shown) > SOURCE_SHOWN},
    )
    return _message(view, "test", [rich_text(section(told), preformatted(cut(shown, SOURCE_SHOWN)))], told)


def _patch(view: IncidentView, proof: Proof) -> Message | None:
    patch = proof.patch
    if patch is None or not patch.diff:
        return None
    diff = clean(patch.diff, keep_lines=True)
    own = patch.regression
    tests = own and {
        "passed": int(own.get("passed") or 0),
        "failed": int(own.get("failed") or 0),
        "before": int(own.get("failed_before") or 0),
    }
    told = lines("thread_patch.j2", {"patch": patch, "tests": tests, "shortened": len(diff) > SOURCE_SHOWN})
    return _message(view, "patch", [rich_text(section(told), preformatted(cut(diff, SOURCE_SHOWN)))], told)
