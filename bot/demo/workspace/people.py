"""The user's side: what people type and press, sent to the bot as Slack sends it, signed, or over Socket Mode."""

import asyncio
import hashlib
import hmac
import json
import time
from typing import Any
from urllib.parse import urlencode

import aiohttp
from msgspec import Struct

from bot.demo.workspace.server import SIGNING_SECRET, Workspace
from bot.demo.workspace.state import APP_ID, BOT_USER, DEFAULT_CHANNEL, DEFAULT_USER, TEAM_ID

ACK_SECONDS = 3.0


class Ack(Struct, frozen=True):
    """How the bot acknowledged; `seconds` over three is what Slack shows as "operation_timeout"."""

    status: int
    body: str
    seconds: float

    @property
    def data(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.body) if self.body.startswith("{") else {}
        return loaded


def signed(body: bytes, *, secret: str = SIGNING_SECRET, at: float) -> dict[str, str]:
    """The headers of https://docs.slack.dev/authentication/verifying-requests-from-slack."""
    stamp = str(int(at))
    digest = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}


class People:
    """Everyone in the workspace. `bot_url` is the bot's `/slack/events`; "" = over Socket Mode."""

    def __init__(self, workspace: Workspace, bot_url: str = "", *, secret: str = SIGNING_SECRET) -> None:
        self._workspace = workspace
        self._bot_url = bot_url
        self._secret = secret

    async def slash(self, text: str, *, channel: str = DEFAULT_CHANNEL, user: str = DEFAULT_USER) -> Ack:
        """`/triage TEXT`"""
        payload = {
            **self._common(channel, user),
            "command": "/triage",
            "text": text,
            "api_app_id": APP_ID,
            "is_enterprise_install": "false",
        }
        return await self._send("slash_commands", payload, form=payload)

    async def press(
        self, ts: str, action_id: str, *, channel: str = DEFAULT_CHANNEL, user: str = DEFAULT_USER, option: int = 0
    ) -> Ack:
        """Press a button of a message that is really there; of an overflow, its option number `option`.

        Raises: LookupError when there is none.
        """
        message = self._workspace.state.message(channel, ts)
        blocks = message.get("blocks", []) if message else []
        for block in blocks:
            for element in block.get("elements", []):
                if element.get("action_id") == action_id:
                    return await self._pressed(message or {}, element, channel=channel, user=user, option=option)
        raise LookupError(f"no {action_id} on {ts}")

    async def submit(self, view_id: str, values: dict[str, str], *, user: str = DEFAULT_USER) -> Ack:
        """Send a modal back; `values` are by block_id."""
        view = self._workspace.state.views[view_id]
        state: dict[str, Any] = {}
        for block in view["blocks"]:
            if block["type"] == "input":
                element = block["element"]
                told = {"type": element["type"], "value": values.get(block["block_id"]) or None}
                state[block["block_id"]] = {element["action_id"]: told}
        payload = {
            "type": "view_submission",
            "team": {"id": TEAM_ID},
            "user": {"id": user, "team_id": TEAM_ID},
            "api_app_id": APP_ID,
            "trigger_id": self._workspace.trigger(),
            "view": {**view, "state": {"values": state}},
        }
        return await self._send("interactive", payload, form={"payload": json.dumps(payload)})

    async def mention(
        self,
        text: str,
        *,
        channel: str = DEFAULT_CHANNEL,
        thread_ts: str = "",
        event_id: str = "",
    ) -> Ack:
        """`@receipts TEXT` in a channel or thread."""
        now = self._workspace.now()
        event = {
            "type": "app_mention",
            "user": DEFAULT_USER,
            "text": f"<@{BOT_USER}> {text}",
            "ts": self._workspace.state.next_ts(now),
            "channel": channel,
            "event_ts": f"{now:.6f}",
        }
        if thread_ts:
            event["thread_ts"] = thread_ts
        return await self.event(event, event_id=event_id)

    async def event(self, event: dict[str, Any], *, event_id: str = "") -> Ack:
        """Any event of the Events API."""
        payload = {
            "token": "unused",
            "team_id": TEAM_ID,
            "api_app_id": APP_ID,
            "event": event,
            "type": "event_callback",
            "event_id": event_id or f"Ev{self._workspace.state.number():08d}",
            "event_time": int(self._workspace.now()),
            "authorizations": [{"team_id": TEAM_ID, "user_id": BOT_USER, "is_bot": True}],
        }
        return await self._send("events_api", payload, form=None)

    def _common(self, channel: str, user: str) -> dict[str, str]:
        return {
            "token": "unused",
            "team_id": TEAM_ID,
            "team_domain": "demo",
            "channel_id": channel,
            "channel_name": "incidents",
            "user_id": user,
            "user_name": self._workspace.state.users.get(user, user),
            "response_url": self._workspace.response_url(channel, user),
            "trigger_id": self._workspace.trigger(),
        }

    async def _pressed(
        self, message: dict[str, Any], element: dict[str, Any], *, channel: str, user: str, option: int
    ) -> Ack:
        common = self._common(channel, user)
        action = {"type": element["type"], "action_id": element["action_id"], "action_ts": message["ts"]}
        if element["type"] == "overflow":
            action["selected_option"] = element["options"][option]
        else:
            action["value"] = element.get("value", "")
        payload = {
            "type": "block_actions",
            "team": {"id": TEAM_ID, "domain": "demo"},
            "user": {"id": user, "username": common["user_name"], "team_id": TEAM_ID},
            "api_app_id": APP_ID,
            "container": {"type": "message", "message_ts": message["ts"], "channel_id": channel, "is_ephemeral": False},
            "channel": {"id": channel, "name": "incidents"},
            "message": message,
            "response_url": common["response_url"],
            "trigger_id": common["trigger_id"],
            "actions": [action],
        }
        return await self._send("interactive", payload, form={"payload": json.dumps(payload)})

    async def _send(self, kind: str, payload: dict[str, Any], *, form: dict[str, str] | None) -> Ack:
        if not self._bot_url:
            return await self._send_socket(kind, payload)
        if form is None:
            body, content_type = json.dumps(payload).encode(), "application/json"
        else:
            body, content_type = urlencode(form).encode(), "application/x-www-form-urlencoded"
        headers = {**signed(body, secret=self._secret, at=self._workspace.now()), "Content-Type": content_type}
        started = time.monotonic()
        timeout = aiohttp.ClientTimeout(total=ACK_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(self._bot_url, data=body, headers=headers) as answer,
        ):
            return Ack(answer.status, await answer.text(), time.monotonic() - started)

    async def _send_socket(self, kind: str, payload: dict[str, Any]) -> Ack:
        envelope = f"env-{self._workspace.state.number()}"
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._workspace.acks[envelope] = waiting
        started = time.monotonic()
        told = {"envelope_id": envelope, "type": kind, "payload": payload, "accepts_response_payload": True}
        await self._workspace.sockets[-1].send_json(told)
        ack = await asyncio.wait_for(waiting, ACK_SECONDS)
        return Ack(200, json.dumps(ack.get("payload") or ""), time.monotonic() - started)
