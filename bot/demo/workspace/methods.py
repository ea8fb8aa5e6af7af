"""The Web API, a function a method: (workspace, arguments) -> what is answered beside `ok`. Raises: ApiFault."""

import hashlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bot.demo.workspace.state import APP_ID, BOT_ID, BOT_USER, TEAM_ID, Channel, File
from bot.demo.workspace.strictness import ApiFault, check_blocks, check_metadata
from bot.slack.limits import Fault, validate_blocks, validate_message, validate_view

if TYPE_CHECKING:
    from bot.demo.workspace.server import Workspace

Answer = dict[str, Any]
TRIGGER_SECONDS = 3.0
_CHECKS: dict[str, Callable[[Any], list[Fault]]] = {
    "blocks": validate_blocks,
    "message": validate_message,
    "view": validate_view,
}


def auth_test(workspace: "Workspace", arguments: Answer) -> Answer:
    return {
        "url": workspace.base_url,
        "team": "demo",
        "user": "receipts",
        "team_id": TEAM_ID,
        "user_id": BOT_USER,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def post_message(workspace: "Workspace", arguments: Answer) -> Answer:
    channel = _channel(workspace, arguments)
    _content(arguments)
    thread_ts = str(arguments.get("thread_ts", ""))
    if thread_ts:
        _parent(channel, thread_ts)
    message = _message(workspace, arguments)
    if thread_ts:
        message["thread_ts"] = thread_ts
    channel.messages.append(message)
    return {"channel": channel.id, "ts": message["ts"], "message": message}


def update(workspace: "Workspace", arguments: Answer) -> Answer:
    channel = _channel(workspace, arguments)
    message = _own(channel, str(arguments["ts"]), "cant_update_message")
    _content(arguments, most=4_000)
    for name in ("text", "blocks", "metadata"):
        if name in arguments:
            message[name] = arguments[name]
    message["edited"] = {"user": BOT_USER, "ts": workspace.state.next_ts(workspace.now())}
    return {"channel": channel.id, "ts": message["ts"], "text": message.get("text", ""), "message": message}


def delete(workspace: "Workspace", arguments: Answer) -> Answer:
    channel = _channel(workspace, arguments)
    message = _own(channel, str(arguments["ts"]), "cant_delete_message")
    channel.messages.remove(message)
    return {"channel": channel.id, "ts": message["ts"]}


def post_ephemeral(workspace: "Workspace", arguments: Answer) -> Answer:
    channel = _channel(workspace, arguments)
    if arguments["user"] not in channel.members:
        raise ApiFault("user_not_in_channel")
    _content(arguments)
    message = {**_message(workspace, arguments), "to": arguments["user"], "thread_ts": arguments.get("thread_ts", "")}
    channel.ephemeral.append(message)
    return {"message_ts": message["ts"]}


def history(workspace: "Workspace", arguments: Answer) -> Answer:
    channel = _channel(workspace, arguments)
    roots = [m for m in reversed(channel.messages) if m.get("thread_ts") in (None, m["ts"])]
    return _page(roots, arguments)


def replies(workspace: "Workspace", arguments: Answer) -> Answer:
    channel = _channel(workspace, arguments)
    ts = str(arguments["ts"])
    found = [m for m in channel.messages if m["ts"] == ts or m.get("thread_ts") == ts]
    if not found:
        raise ApiFault("thread_not_found")
    return _page(found, arguments)


def info(workspace: "Workspace", arguments: Answer) -> Answer:
    channel = _channel(workspace, arguments, member=False)
    return {
        "channel": {
            "id": channel.id,
            "name": channel.name,
            "is_archived": channel.archived,
            "is_member": BOT_USER in channel.members,
        }
    }


def get_upload_url(workspace: "Workspace", arguments: Answer) -> Answer:
    if workspace.state.uploads_refused:
        raise ApiFault(workspace.state.uploads_refused)
    length = str(arguments["length"])
    if not length.isdigit() or int(length) < 1:
        raise ApiFault("invalid_arguments")
    file = File(id=f"F{workspace.state.number():08d}", name=str(arguments["filename"]), length=int(length))
    workspace.state.files[file.id] = file
    return {"upload_url": f"{workspace.base_url}upload/{file.id}", "file_id": file.id}


def complete_upload(workspace: "Workspace", arguments: Answer) -> Answer:
    wanted = arguments["files"]
    if not isinstance(wanted, list) or not wanted or any(not isinstance(f, dict) or not f.get("id") for f in wanted):
        raise ApiFault("invalid_arguments")
    files = [workspace.state.files.get(str(f["id"])) for f in wanted]
    ready = [f for f in files if f is not None and f.uploaded and not f.shared]
    if len(ready) != len(files):
        raise ApiFault("file_not_found")
    for file, told in zip(ready, wanted, strict=True):
        file.title = str(told.get("title", file.name))
    if arguments.get("channel_id"):
        _share(workspace, ready, arguments)
    return {"files": [{"id": f.id, "title": f.title} for f in ready]}


def open_view(workspace: "Workspace", arguments: Answer) -> Answer:
    trigger = str(arguments.get("trigger_id", ""))
    given = workspace.triggers.pop(trigger, None)
    if given is None:
        raise ApiFault("exchanged_trigger_id" if trigger in workspace.spent else "invalid_trigger_id")
    workspace.spent.add(trigger)
    if workspace.now() - given > TRIGGER_SECONDS:
        raise ApiFault("expired_trigger_id")
    faults = validate_view(arguments["view"])
    if faults:
        raise ApiFault("invalid_arguments", errors=faults)
    view = {**arguments["view"], "id": f"V{workspace.state.number():08d}", "app_id": APP_ID, "hash": trigger}
    workspace.state.views[view["id"]] = view
    return {"view": view}


def react(workspace: "Workspace", arguments: Answer) -> Answer:
    channel = _channel(workspace, arguments)
    message = workspace.state.message(channel.id, str(arguments["timestamp"]))
    if message is None:
        raise ApiFault("message_not_found")
    name = str(arguments["name"])
    if not re.fullmatch(r"[a-z0-9_+'-]{1,100}", name):
        raise ApiFault("invalid_name")
    names = message.setdefault("reactions", [])
    if name in names:
        raise ApiFault("already_reacted")
    names.append(name)
    return {}


def validate(workspace: "Workspace", arguments: Answer) -> Answer:
    given = [name for name in ("blocks", "message", "view") if name in arguments]
    if len(given) != 1:
        raise ApiFault("invalid_arguments")
    value = arguments[given[0]]
    checks: dict[str, Callable[[Any], list[Fault]]] = {
        "blocks": validate_blocks,
        "message": validate_message,
        "view": validate_view,
    }
    faults = [f for f in checks[given[0]](value) if f["code"] != "no_text"]
    if faults:
        raise ApiFault(f"invalid_{given[0]}", errors=faults)
    return {}


METHODS: dict[str, Callable[["Workspace", Answer], Answer]] = {
    "auth.test": auth_test,
    "chat.postMessage": post_message,
    "chat.update": update,
    "chat.delete": delete,
    "chat.postEphemeral": post_ephemeral,
    "conversations.history": history,
    "conversations.replies": replies,
    "conversations.info": info,
    "files.getUploadURLExternal": get_upload_url,
    "files.completeUploadExternal": complete_upload,
    "views.open": open_view,
    "reactions.add": react,
    "blocks.validate": validate,
}


def receive_upload(workspace: "Workspace", file_id: str, content: bytes) -> int:
    """The bytes of an upload; returns the HTTP status."""
    file = workspace.state.files.get(file_id)
    if file is None:
        return 404
    if file.uploaded:
        return 410
    if len(content) != file.length:
        return 400
    file.uploaded = True
    file.sha256 = hashlib.sha256(content).hexdigest()
    workspace.vault.keep(file_id, content)
    return 200


def _channel(workspace: "Workspace", arguments: Answer, *, member: bool = True) -> Channel:
    channel = workspace.state.channels.get(str(arguments["channel"]))
    if channel is None:
        raise ApiFault("channel_not_found")
    if member and channel.archived:
        raise ApiFault("is_archived")
    if member and BOT_USER not in channel.members:
        raise ApiFault("not_in_channel")
    return channel


def _parent(channel: Channel, thread_ts: str) -> dict[str, Any]:
    parent = next((m for m in channel.messages if m["ts"] == thread_ts), None)
    if parent is None:
        raise ApiFault("thread_not_found")
    if parent.get("thread_ts") not in (None, thread_ts):
        raise ApiFault("cannot_reply_to_message")
    return parent


def _own(channel: Channel, ts: str, otherwise: str) -> dict[str, Any]:
    message = next((m for m in channel.messages if m["ts"] == ts), None)
    if message is None:
        raise ApiFault("message_not_found")
    if message.get("bot_id") != BOT_ID:
        raise ApiFault(otherwise)
    return message


def _content(arguments: Answer, most: int = 40_000) -> None:
    text, blocks = arguments.get("text"), arguments.get("blocks")
    if not text and not blocks:
        raise ApiFault("no_text")
    if text is not None and (not isinstance(text, str) or len(text) > most):
        raise ApiFault("msg_too_long" if isinstance(text, str) else "invalid_arguments")
    if blocks is not None:
        check_blocks(blocks)
        faults = validate_blocks(blocks)
        if faults:
            raise ApiFault("invalid_blocks", errors=faults)
    if "metadata" in arguments:
        check_metadata(arguments["metadata"])


def _message(workspace: "Workspace", arguments: Answer) -> dict[str, Any]:
    message = {
        "type": "message",
        "ts": workspace.state.next_ts(workspace.now()),
        "user": BOT_USER,
        "bot_id": BOT_ID,
        "app_id": APP_ID,
        "text": arguments.get("text", ""),
    }
    return message | {name: arguments[name] for name in ("blocks", "metadata") if name in arguments}


def _page(messages: list[dict[str, Any]], arguments: Answer) -> Answer:
    limit = int(arguments.get("limit", 100) or 100)
    if not 1 <= limit <= 999:
        raise ApiFault("invalid_limit")
    start = str(arguments.get("cursor", "") or "0")
    if not start.isdigit():
        raise ApiFault("invalid_cursor")
    oldest, latest = float(arguments.get("oldest", 0) or 0), float(arguments.get("latest", "inf") or "inf")
    within = [m for m in messages if oldest < float(m["ts"]) < latest]
    shown = within[int(start) : int(start) + limit]
    with_metadata = str(arguments.get("include_all_metadata", "")).lower() in ("true", "1")
    told = [{k: v for k, v in m.items() if with_metadata or k != "metadata"} for m in shown]
    more = int(start) + limit < len(within)
    cursor = str(int(start) + limit) if more else ""
    return {"messages": told, "has_more": more, "response_metadata": {"next_cursor": cursor}}


def _share(workspace: "Workspace", files: list[File], arguments: Answer) -> None:
    channel = _channel(workspace, {"channel": arguments["channel_id"]})
    thread_ts = str(arguments.get("thread_ts", ""))
    if thread_ts:
        _parent(channel, thread_ts)
    message = _message(workspace, {"text": str(arguments.get("initial_comment", ""))})
    message["upload"] = True
    message["files"] = [{"id": f.id, "name": f.name, "title": f.title, "size": f.length} for f in files]
    if thread_ts:
        message["thread_ts"] = thread_ts
    for file in files:
        file.shared = True
    channel.messages.append(message)
