"""What happens when a person types, presses or submits: acknowledged at once, worked on afterwards.

Slack gives three seconds for the acknowledgement, so it is the first thing that every listener does. What a press means
is decided here, from the incident's id; nothing else of a message that comes back is believed.
"""

import asyncio
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.model import Actions, Ledger, Refused, Rerun, UnknownIncident
from bot.slack import replies
from bot.slack.api import SlackApi
from bot.slack.commands import Again, Command, Help, Judge, Look, NotYet, Wrong, parse
from bot.slack.dialog import CALLBACK, answers, dialog, first_field
from bot.slack.errors import SlackError
from bot.slack.message import GIVE, MORE, Message
from bot.slack.wording import sentence

log = logging.getLogger(__name__)

Body = dict[str, Any]
_MENTION = re.compile(r"<@[A-Z0-9]+(?:\|[^>]*)?>")
_SEEN_EVENTS = 2000
_DRAIN_SECONDS = 5.0


class Listeners:
    """One handler set for HTTP and Socket Mode. `now_ns` is the clock."""

    def __init__(self, actions: Actions, api: SlackApi, ledger: Ledger, now_ns: Callable[[], int]) -> None:
        self._actions = actions
        self._api = api
        self._ledger = ledger
        self._now_ns = now_ns
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._running: set[asyncio.Task[Any]] = set()

    def register(self, app: AsyncApp) -> None:
        """Every kind of request that Slack sends has a listener; what means nothing to us is acknowledged too."""
        app.command(re.compile(r"^/"))(self.command)
        app.action(GIVE[0])(self.give)
        app.action(MORE)(self.more)
        app.action(re.compile(r"^receipts_(bundle|evidence|rerun|right|wrong)$"))(self.press)
        app.action(re.compile(".*"))(_acknowledge)
        app.view(CALLBACK)(self.submitted)
        app.event("app_mention")(self.mention)
        app.event(re.compile(".*"))(_acknowledge)

    async def close(self) -> None:
        """Wait for work that was acknowledged and is not done yet."""
        if self._running:
            await asyncio.wait(self._running, timeout=_DRAIN_SECONDS)

    async def command(self, ack: AsyncAck, body: Body) -> None:
        await ack()
        self._start(self._command(body), body)

    async def mention(self, ack: AsyncAck, body: Body) -> None:
        await ack()
        if self._is_new(str(body.get("event_id", ""))):
            self._start(self._mention(body), body)

    async def press(self, ack: AsyncAck, body: Body) -> None:
        await ack()
        self._start(self._press(body), body)

    async def more(self, ack: AsyncAck, body: Body) -> None:
        await ack()
        self._start(self._more(body), body)

    async def give(self, ack: AsyncAck, body: Body) -> None:
        await ack()
        self._start(self._give(body), body)

    async def submitted(self, ack: AsyncAck, body: Body) -> None:
        told = body.get("view") or {}
        values = ((told.get("state") or {}).get("values") or {}).values()
        filled = any(str((f or {}).get("value") or "").strip() for fields in values for f in fields.values())
        field = first_field(told)
        if not filled and field:
            await ack(response_action="errors", errors={field: sentence("dialog_empty.j2")})
            return
        await ack()
        self._start(self._submitted(body), body)

    async def _command(self, body: Body) -> None:
        wish = parse(str(body.get("text", "")), user=_user(body), now_ns=self._now_ns())
        await self._tell(body, await self.answer(wish, user=_user(body), channel=str(body.get("channel_id", ""))))

    async def _mention(self, body: Body) -> None:
        """The same grammar, for threads, where Slack has no slash commands; the thread's incident is meant."""
        event = body.get("event") or {}
        channel, thread_ts = str(event.get("channel", "")), str(event.get("thread_ts", ""))
        text = _MENTION.sub(" ", str(event.get("text", "")))
        wish = parse(text, user=str(event.get("user", "")), now_ns=self._now_ns())
        here = await self._ledger.find(channel, thread_ts) if thread_ts else None
        told = await self.answer(wish, user=str(event.get("user", "")), channel=channel, here=here or "")
        await self._whisper(channel, str(event.get("user", "")), told, thread_ts)

    async def _press(self, body: Body) -> None:
        action = _action(body)
        incident, name = str(action.get("value", "")), str(action.get("action_id", "")).removeprefix("receipts_")
        wishes: dict[str, Command] = {
            "rerun": Again(incident=incident, wish=Rerun(user=_user(body))),
            "right": Judge(incident=incident, verdict="right", user=_user(body)),
            "wrong": Judge(incident=incident, verdict="wrong", user=_user(body)),
        }
        wish = wishes.get(name) or Look(name, incident)
        await self._tell(body, await self.answer(wish, user=_user(body), channel=_channel(body)))

    async def _more(self, body: Body) -> None:
        """The overflow: "before=2h INCIDENT"."""
        chosen = str((_action(body).get("selected_option") or {}).get("value", ""))
        change, _, incident = chosen.partition(" ")
        found = re.fullmatch(r"before=(\d{1,3}h)", change)
        wish: Command = Wrong(change)
        if found:
            wish = Again(incident=incident, wish=Rerun(user=_user(body), before=found.group(1)))
        await self._tell(body, await self.answer(wish, user=_user(body), channel=_channel(body)))

    async def _give(self, body: Body) -> None:
        incident = str(_action(body).get("value", ""))
        try:
            await self._actions.allow(incident, user=_user(body), channel=_channel(body))
            view = dialog(await self._actions.view(incident))
        except UnknownIncident:
            await self._tell(body, replies.unknown(incident, "status"))
            return
        except Refused:
            await self._tell(body, replies.refused(incident))
            return
        await self._api.call("views.open", trigger_id=body.get("trigger_id"), view=view)

    async def _submitted(self, body: Body) -> None:
        told = body.get("view") or {}
        incident = str(told.get("private_metadata", ""))
        root = await self._ledger.part(incident, "root")
        await self._actions.allow(incident, user=_user(body), channel=root.channel if root else "")
        case = (await self._actions.view(incident)).case
        given = answers(told, case.missing if case else ())
        for what, value in given.items():
            await self._actions.answer(incident, user=_user(body), what=what, value=value)
        if root is not None and given:
            await self._whisper(root.channel, _user(body), replies.given(incident), root.ts)

    async def answer(self, wish: Command, *, user: str, channel: str, here: str = "") -> Message:
        """Do what is wished and say so. `here` is the incident that is meant when none is named."""
        if isinstance(wish, Help):
            return replies.help_text()
        if isinstance(wish, NotYet):
            return replies.not_yet(wish)
        if isinstance(wish, Wrong):
            return replies.wrong(wish)
        named = wish.incident or here
        what = wish.what if isinstance(wish, Look) else "rerun" if isinstance(wish, Again) else "feedback"
        try:
            incident = named or await self._actions.latest(channel)
            await self._actions.allow(incident, user=user, channel=channel)
            return await self._do(wish, incident)
        except UnknownIncident:
            return replies.unknown(named, what)
        except Refused:
            return replies.refused(named)

    async def _do(self, wish: Look | Again | Judge, incident: str) -> Message:
        if isinstance(wish, Again):
            await self._actions.rerun(incident, wish.wish)
            return replies.again(incident, wish.wish)
        if isinstance(wish, Judge):
            await self._actions.feedback(incident, user=wish.user, verdict=wish.verdict, commit=wish.commit)
            return replies.judged(incident, wish)
        view = await self._actions.view(incident)
        tell = {"status": replies.status, "evidence": replies.evidence, "bundle": replies.bundle}
        return tell[wish.what](view)

    async def failed(self, error: BaseException, body: Body) -> None:
        """The one place where whatever was raised ends: the person is told, the log knows which it was."""
        reference = secrets.token_hex(4)
        log.error("slack request failed (%s): %s", reference, type(error).__name__, exc_info=error)
        view = body.get("view") or {}
        incident = str(_action(body).get("value", "")) or str(view.get("private_metadata", ""))
        event = body.get("event") or {}
        told = replies.failed(incident, reference)
        if body.get("response_url"):
            await self._tell(body, told)
        elif event.get("channel") and event.get("user"):
            await self._whisper(event["channel"], event["user"], told, str(event.get("thread_ts", "")))
        elif view and (root := await self._ledger.part(incident, "root")) is not None:
            await self._whisper(root.channel, _user(body), told, root.ts)

    def _start(self, work: Coroutine[Any, Any, None], body: Body) -> None:
        """Work that goes on after the acknowledgement, in a task of its own: Bolt takes back an acknowledgement that
        was given in the same moment as its listener fails, and Slack would show a time-out."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(lambda done: self._ended(done, body))

    def _ended(self, task: asyncio.Task[None], body: Body) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            telling = asyncio.get_running_loop().create_task(self.failed(error, body))
            self._running.add(telling)
            telling.add_done_callback(self._running.discard)

    async def _tell(self, body: Body, told: Message) -> None:
        """To the person who asked, where they asked; `response_url` works also where the bot is no member."""
        url = str(body.get("response_url", ""))
        try:
            if url:
                await self._api.respond(url, {**told, "response_type": "ephemeral", "replace_original": False})
                return
        except SlackError as error:
            log.warning("answer not taken at its address: %s", error)
        await self._whisper(_channel(body) or str(body.get("channel_id", "")), _user(body), told)

    async def _whisper(self, channel: str, user: str, told: Message, thread_ts: str = "") -> None:
        where = {"channel": channel, "user": user, "thread_ts": thread_ts, "link_names": False, "parse": "none"}
        try:
            await self._api.repeat("chat.postEphemeral", **where, **told)
        except SlackError as error:
            log.warning("answer to %s not shown: %s", user, error)

    def _is_new(self, event_id: str) -> bool:
        """Slack sends an event again when it was not sure that we got it."""
        if event_id in self._seen:
            return False
        self._seen[event_id] = None
        while len(self._seen) > _SEEN_EVENTS:
            self._seen.popitem(last=False)
        return True


async def _acknowledge(ack: AsyncAck) -> None:
    await ack()


def _action(body: Body) -> Body:
    actions = body.get("actions") or [{}]
    return actions[0] if isinstance(actions[0], dict) else {}


def _user(body: Body) -> str:
    user = body.get("user")
    return str(user.get("id", "")) if isinstance(user, dict) else str(body.get("user_id", ""))


def _channel(body: Body) -> str:
    return str((body.get("channel") or {}).get("id", ""))
