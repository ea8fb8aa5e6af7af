"""Incidents told in a Slack channel: one root message each, edited in place; what proves it in its thread.

Promises of `SlackChannel` (the contract of `bot.model.Channel`):
  * what is posted is posted once, also when the process dies at any point (`Ledger.intend` before, `sent` after);
  * a view of a lower revision never overwrites a higher one; the same view again changes nothing;
  * while the triage looks, an edit never holds it up: it is sent in the background, and only the latest counts.
"""

import asyncio
import logging

from msgspec.structs import replace

from bot.model import BundleRef, IncidentView, Ledger, Posted
from bot.slack.errors import SlackError, SlackReason
from bot.slack.message import Message, message
from bot.slack.posting import Posting
from bot.slack.thread import digest_of, thread
from bot.slack.turns import Urgency
from bot.slack.upload import Upload

log = logging.getLogger(__name__)

ROOT = "root"
CLOSING_SECONDS = 5.0


class _Slot:
    """One incident's root message while somebody wants to write it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.wanted: IncidentView | None = None
        self.users = 0
        self.background: asyncio.Task[None] | None = None


class SlackChannel:
    """`bot.model.Channel` over Slack. `channel` is the id of the channel that incidents are posted to."""

    def __init__(self, posting: Posting, ledger: Ledger, channel: str) -> None:
        self._posting = posting
        self._upload = Upload(posting)
        self._ledger = ledger
        self._channel = channel
        self._slots: dict[str, _Slot] = {}

    async def show(self, view: IncidentView) -> None:
        """Post the root message or edit it. Returns at once for progress on a message that is already there.

        Raises: SlackError, when it could not be sent; the next call tries again.
        """
        slot = self._slots.setdefault(view.incident_id, _Slot())
        if slot.wanted is None or view.revision >= slot.wanted.revision:
            slot.wanted = view
        known = await self._ledger.part(view.incident_id, ROOT)
        if view.status == "looking" and known is not None and known.ts:
            if slot.background is None:
                slot.users += 1
                slot.background = asyncio.create_task(self._progress(view.incident_id, slot))
                slot.background.add_done_callback(_tell_failure)
            return
        slot.users += 1
        try:
            await self._flush(slot)
        finally:
            self._leave(view.incident_id, slot)

    async def deliver(self, view: IncidentView) -> None:
        """Evidence, test, patch and bundle into the thread; parts that changed since are edited, a new bundle is added.

        Raises: SlackError.
        """
        root = await self._ledger.part(view.incident_id, ROOT)
        if root is None or not root.ts:
            await self.show(view)
            root = await self._ledger.part(view.incident_id, ROOT)
        if root is None or not root.ts:
            return
        for part, told in thread(view).items():
            wanted = self._posted(view, part, root.channel, digest_of(told))
            await self._put(wanted, told, urgency=Urgency.THREAD, thread_ts=root.ts)
        if view.bundle is not None:
            await self._bundle(view, view.bundle, root)

    async def close(self) -> None:
        """Wait for edits under way, but not for a Slack that is away: progress that is lost is told anew at the end."""
        tasks = [slot.background for slot in self._slots.values() if slot.background is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _progress(self, incident_id: str, slot: _Slot) -> None:
        try:
            while slot.wanted is not None:
                # A conclusion that comes meanwhile is told in its place, not after it.
                await self._posting.room(self._channel)
                await self._flush(slot)
        except SlackError as error:
            log.warning("progress of incident %s not shown: %s", incident_id, error)
            slot.wanted = None if slot.wanted is not None and slot.wanted.status == "looking" else slot.wanted
        finally:
            slot.background = None
            self._leave(incident_id, slot)

    def _leave(self, incident_id: str, slot: _Slot) -> None:
        slot.users -= 1
        if slot.users == 0:
            self._slots.pop(incident_id, None)

    async def _flush(self, slot: _Slot) -> None:
        """Send the latest view that is wanted; what others wanted before it has become moot."""
        async with slot.lock:
            view, slot.wanted = slot.wanted, None
            if view is None:
                return
            try:
                await self._root(view)
            except BaseException:
                slot.wanted = slot.wanted or view
                raise

    async def _root(self, view: IncidentView) -> None:
        told = message(view)
        urgency = Urgency.PROGRESS if view.status == "looking" else Urgency.RESULT
        await self._put(self._posted(view, ROOT, self._channel, digest_of(told)), told, urgency=urgency)

    async def _put(self, wanted: Posted, told: Message, *, urgency: Urgency, thread_ts: str = "") -> None:
        known = await self._ledger.part(wanted.incident_id, wanted.part)
        if known is None:
            await self._new(wanted, told, urgency=urgency if thread_ts else Urgency.NEW, thread_ts=thread_ts)
            return
        wanted = replace(wanted, channel=known.channel)
        if not known.ts:
            ts = await self._posting.find(wanted, thread_ts)
            if not ts:
                ts = await self._posting.post(wanted, told, urgency=Urgency.NEW, thread_ts=thread_ts)
                await self._ledger.sent(replace(wanted, ts=ts))
                return
            known = replace(known, ts=ts, digest="", revision=min(known.revision, wanted.revision))
            await self._ledger.sent(known)
        if wanted.revision < known.revision or wanted.digest == known.digest:
            return
        try:
            await self._posting.edit(replace(wanted, ts=known.ts), told, urgency=urgency)
        except SlackError as error:
            if error.reason is not SlackReason.MESSAGE_GONE or urgency is Urgency.PROGRESS:
                raise
            # Deleted by somebody, or too old to edit: a conclusion must not be lost with it.
            log.warning("%s of incident %s is gone and posted anew", wanted.part, wanted.incident_id)
            await self._new(wanted, told, urgency=urgency, thread_ts=thread_ts)
        else:
            await self._ledger.sent(replace(wanted, ts=known.ts))

    async def _new(self, wanted: Posted, told: Message, *, urgency: Urgency, thread_ts: str) -> None:
        await self._ledger.intend(wanted)
        ts = await self._posting.post(wanted, told, urgency=urgency, thread_ts=thread_ts)
        await self._ledger.sent(replace(wanted, ts=ts))

    async def _bundle(self, view: IncidentView, bundle: BundleRef, root: Posted) -> None:
        known = await self._ledger.part(view.incident_id, "bundle")
        if known is not None and known.ts and known.digest == bundle.sha256:
            return
        wanted = self._posted(view, "bundle", root.channel, bundle.sha256)
        await self._ledger.intend(wanted)
        resumed = known is not None and not known.ts
        ts = await self._upload.bundle(view, bundle, root, unsure=resumed)
        await self._ledger.sent(replace(wanted, ts=ts))

    @staticmethod
    def _posted(view: IncidentView, part: str, channel: str, digest: str) -> Posted:
        return Posted(incident_id=view.incident_id, part=part, channel=channel, digest=digest, revision=view.revision)


def _tell_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("showing progress stopped: %s", type(error).__name__)
