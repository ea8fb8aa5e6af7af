"""One message, posted once whatever happens in between; or found again; or edited.

A lost answer does not say whether the message was posted. So every message carries metadata that names its incident and
part, and before a post is repeated, or resumed after a crash, the channel is searched for it.
"""

import logging
from typing import Any

from bot.model import Posted
from bot.slack.api import SlackApi
from bot.slack.errors import SlackError, SlackReason
from bot.slack.limits import validate_message
from bot.slack.message import EVENT_TYPE, Message
from bot.slack.turns import Turns, Urgency

log = logging.getLogger(__name__)

PAGE = 200
PAGES = 10


class Posting:
    """Posts, edits and finds messages in channels, each call in its turn."""

    def __init__(self, api: SlackApi, turns: Turns) -> None:
        self.api = api
        self._turns = turns

    async def post(
        self, posted: Posted, message: Message, *, urgency: Urgency, thread_ts: str = "", unsure: bool = False
    ) -> str:
        """Post, and return the message's ts. `unsure`: an earlier try may have succeeded. Raises: SlackError."""
        arguments = {**sendable(message), "channel": posted.channel, "thread_ts": thread_ts, **QUIET}
        backoff = self.api.backoff
        for attempt in range(backoff.attempts):
            try:
                if unsure and (found := await self.find(posted, thread_ts)):
                    return found
                async with self._turns.turn(posted.channel, urgency):
                    answer = await self._in_turn("chat.postMessage", posted.channel, arguments)
                return str(answer.get("ts", ""))
            except SlackError as error:
                unsure = unsure or error.unsure
                await backoff.wait(attempt, error)
        raise AssertionError("wait raises after the last attempt")

    async def room(self, channel: str) -> None:
        """Wait until this channel can be written to at once: what is worth saying is best decided then."""
        await self._turns.room(channel)

    async def edit(self, posted: Posted, message: Message, *, urgency: Urgency) -> None:
        """Put this content in place of the old; repeating it does no harm. Raises: SlackError."""
        arguments = {**sendable(message), "channel": posted.channel, "ts": posted.ts, "parse": "none"}
        backoff = self.api.backoff
        for attempt in range(backoff.attempts):
            try:
                async with self._turns.turn(posted.channel, urgency):
                    await self._in_turn("chat.update", posted.channel, arguments)
                return
            except SlackError as error:
                await backoff.wait(attempt, error)

    async def find(self, posted: Posted, thread_ts: str = "") -> str:
        """The ts of our message with this incident and part in the channel or thread, or "". Raises: SlackError."""
        wanted = {"incident_id": posted.incident_id, "part": posted.part}
        for message in await self.recent(posted.channel, thread_ts):
            told = message.get("metadata") or {}
            if told.get("event_type") != EVENT_TYPE or message.get("ts") == posted.ts:
                continue
            if told.get("event_payload") == wanted and await self._is_ours(message):
                return str(message.get("ts", ""))
        return ""

    async def recent(self, channel: str, thread_ts: str = "") -> list[dict[str, Any]]:
        """The latest messages of a channel, or of a thread; at most `PAGE` times `PAGES`. Raises: SlackError."""
        method = "conversations.replies" if thread_ts else "conversations.history"
        arguments: dict[str, Any] = {"channel": channel, "ts": thread_ts, "limit": PAGE, "include_all_metadata": "true"}
        found: list[dict[str, Any]] = []
        for _ in range(PAGES):
            answer = await self.api.repeat(method, **arguments)
            found += [m for m in answer.get("messages") or [] if isinstance(m, dict)]
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            arguments["cursor"] = cursor
        return found

    async def _is_ours(self, message: dict[str, Any]) -> bool:
        us = await self.api.identity()
        return (bool(us.bot_id) and message.get("bot_id") == us.bot_id) or message.get("user") == us.user_id

    async def _in_turn(self, method: str, channel: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self.api.call(method, **arguments)
        except SlackError as error:
            if error.reason is SlackReason.RATE_LIMITED:
                self._turns.hold(channel, error.retry_after or 1.0)
            raise


QUIET = {"unfurl_links": False, "unfurl_media": False, "link_names": False, "parse": "none", "mrkdwn": False}


def sendable(message: Message) -> Message:
    """The message, without blocks if Slack would refuse them: words in plain beat no words."""
    faults = validate_message(message)
    if not faults:
        return message
    log.error(
        "a message breaks Slack's limits and is sent without blocks: %s",
        [(f["code"], f["pointer"]) for f in faults][:5],
    )
    return {name: value for name, value in message.items() if name != "blocks"}
