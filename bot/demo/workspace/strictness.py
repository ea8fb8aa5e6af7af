"""Arguments and blocks, checked by other means than the bot's own validator: one mistake must not hide another."""

import json
from collections.abc import Iterator
from typing import Any


class ApiFault(Exception):
    """An answer with `ok: false`; `more` is added to it."""

    def __init__(self, name: str, **more: Any) -> None:
        super().__init__(name)
        self.name = name
        self.more = more


# method -> (required, optional)
ARGUMENTS: dict[str, tuple[str, str]] = {
    "auth.test": ("", ""),
    "chat.postMessage": (
        "channel",
        "text blocks attachments metadata thread_ts reply_broadcast unfurl_links unfurl_media link_names parse mrkdwn",
    ),
    "chat.update": (
        "channel ts",
        "text blocks attachments metadata link_names parse file_ids reply_broadcast markdown_text as_user",
    ),
    "chat.postEphemeral": ("channel user", "text blocks attachments thread_ts link_names parse markdown_text as_user"),
    "chat.delete": ("channel ts", "as_user"),
    "conversations.history": ("channel", "cursor include_all_metadata inclusive latest limit oldest"),
    "conversations.replies": ("channel ts", "cursor include_all_metadata inclusive latest limit oldest"),
    "conversations.info": ("channel", "include_locale include_num_members"),
    "files.getUploadURLExternal": ("filename length", "alt_txt snippet_type"),
    "files.completeUploadExternal": ("files", "channel_id channels initial_comment thread_ts blocks"),
    "views.open": ("view", "trigger_id interactivity_pointer"),
    "reactions.add": ("channel name timestamp", ""),
    "blocks.validate": ("", "blocks message view"),
    "apps.connections.open": ("", ""),
}


def check_arguments(method: str, arguments: dict[str, Any]) -> None:
    """Raises: ApiFault for an unknown method, a missing argument, an argument that the method does not have."""
    if method not in ARGUMENTS:
        raise ApiFault("unknown_method", req_method=method)
    needed, allowed = (set(names.split()) for names in ARGUMENTS[method])
    for name in sorted(needed):
        if arguments.get(name) in (None, ""):
            missing = {"channel": "channel_not_found", "ts": "message_not_found"}.get(name, "invalid_arguments")
            raise ApiFault(missing, response_metadata={"messages": [f"[ERROR] missing required field: {name}"]})
    for name in sorted(arguments):
        if name not in needed | allowed | {"token", "team_id"}:
            raise ApiFault(
                "invalid_arg_name", response_metadata={"messages": [f"[ERROR] unknown argument: {name:.80}"]}
            )


def check_blocks(blocks: Any) -> None:
    """Raises: ApiFault when the blocks break one of the numbers that are easy to count. Counts on the JSON itself."""
    if not isinstance(blocks, list) or any(not isinstance(b, dict) or not b.get("type") for b in blocks):
        raise ApiFault("invalid_blocks_format")
    if len(blocks) > 50:
        raise ApiFault("invalid_blocks", errors=["no more than 50 items allowed"])
    texts = list(_strings(blocks, ("text", "alt_text")))
    if sum(len(text) for text in texts) > 13_200:
        raise ApiFault("msg_blocks_too_long")
    if any(not text for text in texts):
        raise ApiFault("invalid_blocks", errors=["must be more than 0 characters"])
    for block in blocks:
        if block["type"] == "header" and len(block.get("text", {}).get("text", "")) > 150:
            raise ApiFault("invalid_blocks", errors=["header text over 150 characters"])
        names = [e.get("action_id") for e in block.get("elements", []) if isinstance(e, dict) and e.get("action_id")]
        if len(names) != len(set(names)):
            raise ApiFault("invalid_blocks", errors=["action_id already exists"])
    if any(len(value) > 2000 for value in _strings(blocks, ("value",))):
        raise ApiFault("invalid_blocks", errors=["value over 2000 characters"])


def check_metadata(metadata: Any) -> None:
    """Raises: ApiFault."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_payload"), dict):
        raise ApiFault("invalid_metadata_format")
    if not isinstance(metadata.get("event_type"), str) or not metadata["event_type"]:
        raise ApiFault("invalid_metadata_schema")
    if len(json.dumps(metadata)) > 16_384:
        raise ApiFault("metadata_too_large")


def _strings(value: Any, names: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in names and isinstance(inner, str):
                yield inner
            else:
                yield from _strings(inner, names)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, names)
