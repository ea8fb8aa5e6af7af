"""What Slack accepts, checked before it is sent.

Answers in the shape of `blocks.validate` (https://docs.slack.dev/reference/methods/blocks.validate): a list of
{code, message, field, pointer, constraint}, empty when all is well. Slack's own models are no validator: of 42 invalid
messages slack_sdk's caught 22 and altered 5 silently.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bot.slack.blockkit import MESSAGE, VIEW, modal
from bot.slack.schema import Fault, array, by_type, fault, record, required, string

__all__ = [
    "BUDGET_CHARACTERS",
    "MAX_CHARACTERS",
    "MAX_TEXT",
    "Fault",
    "text_total",
    "validate_blocks",
    "validate_message",
    "validate_view",
]

# Slack answers `msg_blocks_too_long` above about 13,200 characters of text in all blocks; undocumented, see
# slackapi/bolt-js #2509. What is sent keeps to the budget.
MAX_CHARACTERS = 13_200
BUDGET_CHARACTERS = 10_000
# `chat.update` answers `msg_too_long` above this, although `chat.postMessage` takes more.
MAX_TEXT = 4_000
# https://docs.slack.dev/reference/block-kit/blocks/markdown-block: cumulative for one payload.
MAX_MARKDOWN = 12_000
# https://docs.slack.dev/messaging/message-metadata
MAX_METADATA = 16_384

_BLOCKS = array(by_type(MESSAGE), least=1, most=50)
_VIEW_BLOCKS = array(by_type(VIEW), least=1, most=100)
_METADATA = record(
    {
        "event_type": required(string(255)),
        "event_payload": required(lambda v, p, f: None if isinstance(v, dict) else f.append(_not_object(p))),
    }
)


def validate_blocks(blocks: Any, *, pointer: str = "") -> list[Fault]:
    """The faults of a message's blocks; pointers are relative to the list (`/0/text/type`)."""
    faults: list[Fault] = []
    _BLOCKS(blocks, pointer, faults)
    if isinstance(blocks, list):
        whole = [b for b in blocks if isinstance(b, dict)]
        _unique_block_ids(blocks, pointer, faults)
        _unique_action_ids(blocks, pointer, faults)
        _one_table(whole, pointer, faults)
        _totals(whole, pointer, faults)
    return faults


def validate_message(payload: Any) -> list[Fault]:
    """The faults of a message as `chat.postMessage` takes it: text, blocks, metadata.

    Stricter than Slack in one thing: `text` is required, because notifications and screen readers need it (code
    `no_text`, which `blocks.validate` does not report).
    """
    if not isinstance(payload, dict):
        return [_not_object("")]
    faults: list[Fault] = []
    text = payload.get("text")
    if not isinstance(text, str) or not text.strip():
        faults.append(fault("no_text", "a message needs text for notifications", "/text", min=1))
    elif len(text) > MAX_TEXT:
        faults.append(fault("msg_too_long", f"text over {MAX_TEXT} characters", "/text", max=MAX_TEXT, got=len(text)))
    if "blocks" in payload:
        faults.extend(validate_blocks(payload["blocks"], pointer="/blocks"))
    if "metadata" in payload:
        _METADATA(payload["metadata"], "/metadata", faults)
        if len(str(payload["metadata"])) > MAX_METADATA:
            faults.append(fault("metadata_too_large", "metadata is too large", "/metadata", max=MAX_METADATA))
    return faults


def validate_view(view: Any) -> list[Fault]:
    """The faults of a modal or home view."""
    faults: list[Fault] = []
    modal(view, "", faults)
    blocks = view.get("blocks") if isinstance(view, dict) else None
    if blocks is not None:
        _VIEW_BLOCKS(blocks, "/blocks", faults)
    if isinstance(blocks, list):
        _unique_block_ids(blocks, "/blocks", faults)
        _unique_action_ids(blocks, "/blocks", faults)
    return faults


def text_total(blocks: Any) -> int:
    """Characters of all text in the blocks, as Slack's undocumented total counts them."""
    return sum(len(text) for text in _texts(blocks))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("text", "alt_text") and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _unique_block_ids(blocks: list[Any], pointer: str, faults: list[Fault]) -> None:
    ids = Counter(b["block_id"] for b in blocks if isinstance(b, dict) and isinstance(b.get("block_id"), str))
    seen: set[str] = set()
    for position, block in enumerate(blocks):
        block_id = block.get("block_id") if isinstance(block, dict) else None
        if isinstance(block_id, str) and ids[block_id] > 1:
            if block_id in seen:
                faults.append(fault("duplicate_block_id", "block_id is not unique", f"{pointer}/{position}/block_id"))
            seen.add(block_id)


def _unique_action_ids(blocks: list[Any], pointer: str, faults: list[Fault]) -> None:
    for position, block in enumerate(blocks):
        elements = block.get("elements") if isinstance(block, dict) else None
        if not isinstance(elements, list):
            continue
        seen: set[str] = set()
        for number, element in enumerate(elements):
            action_id = element.get("action_id") if isinstance(element, dict) else None
            if isinstance(action_id, str) and action_id in seen:
                where = f"{pointer}/{position}/elements/{number}/action_id"
                faults.append(fault("duplicate_action_id", "action_id is not unique in its block", where))
            elif isinstance(action_id, str):
                seen.add(action_id)


def _one_table(blocks: list[dict[str, Any]], pointer: str, faults: list[Fault]) -> None:
    for kind, most in (("table", 1), ("data_visualization", 2)):
        count = sum(1 for b in blocks if b.get("type") == kind)
        if count > most:
            faults.append(fault("failed_constraint", f"at most {most} {kind} block(s)", pointer, max=most, got=count))


def _totals(blocks: list[dict[str, Any]], pointer: str, faults: list[Fault]) -> None:
    total = text_total(blocks)
    if total > MAX_CHARACTERS:
        faults.append(
            fault("msg_blocks_too_long", "all text together is too long", pointer, max=MAX_CHARACTERS, got=total)
        )
    markdown = sum(len(str(b.get("text", ""))) for b in blocks if b.get("type") == "markdown")
    if markdown > MAX_MARKDOWN:
        faults.append(
            fault("failed_constraint", "markdown blocks together are too long", pointer, max=MAX_MARKDOWN, got=markdown)
        )


def _not_object(pointer: str) -> Fault:
    return fault("invalid_type", "must be of type object", pointer, type="object")
