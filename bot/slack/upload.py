"""The bundle as a file in the thread, in Slack's three steps; or a note where it can be had, when files are not taken.

https://docs.slack.dev/messaging/working-with-files#upload: an address for name and length, the bytes to that address,
then the sharing. Only the last step is seen by anyone, so only that one may not be repeated blindly.
"""

import asyncio
import json
import logging

from bot.model import BundleRef, IncidentView, Posted
from bot.slack.errors import SlackError, SlackReason
from bot.slack.posting import Posting
from bot.slack.thread import bundle_name, bundle_note, note_part
from bot.slack.turns import Urgency

log = logging.getLogger(__name__)

MAX_BYTES = 200 * 1024 * 1024
# What says that this workspace will not take the file, now or later.
_REFUSED = frozenset(
    {
        SlackReason.FILES_DISABLED,
        SlackReason.MISSING_SCOPE,
        SlackReason.NOT_IN_CHANNEL,
        SlackReason.RESTRICTED,
        SlackReason.TOO_LONG,
        SlackReason.REJECTED,
        SlackReason.BAD_CALL,
    }
)


class Upload:
    def __init__(self, posting: Posting) -> None:
        self._posting = posting
        self._api = posting.api

    async def bundle(self, view: IncidentView, bundle: BundleRef, root: Posted, *, unsure: bool) -> str:
        """Share the bundle once; returns the file's id, or the ts of the note. Raises: SlackError."""
        name = bundle_name(view, bundle)
        if unsure and (found := await self._shared(root, name)):
            return found
        try:
            if bundle.size > MAX_BYTES:
                raise SlackError(SlackReason.TOO_LONG, method="upload", name="file_too_large")
            return await self._share(name, await asyncio.to_thread(bundle.path.read_bytes), bundle, root)
        except SlackError as error:
            if error.reason not in _REFUSED:
                raise
            log.warning("bundle of incident %s not attached: %s", view.incident_id, error)
            note = Posted(incident_id=view.incident_id, part=note_part(bundle), channel=root.channel)
            told = bundle_note(view, bundle, error.reason.value)
            return await self._posting.post(note, told, urgency=Urgency.THREAD, thread_ts=root.ts, unsure=unsure)

    async def _share(self, name: str, content: bytes, bundle: BundleRef, root: Posted) -> str:
        backoff = self._api.backoff
        for attempt in range(backoff.attempts):
            try:
                given = await self._api.call("files.getUploadURLExternal", filename=name, length=len(content))
                file_id = str(given.get("file_id", ""))
                await self._api.send_bytes(str(given.get("upload_url", "")), content)
                await self._complete(file_id, name, bundle, root)
                return file_id
            except SlackError as error:
                await backoff.wait(attempt, error)
                if error.unsure and (found := await self._shared(root, name)):
                    return found
        raise AssertionError("wait raises after the last attempt")

    async def _complete(self, file_id: str, name: str, bundle: BundleRef, root: Posted) -> None:
        files = json.dumps([{"id": file_id, "title": f"{name} (sha256 {bundle.sha256})"}])
        await self._api.call("files.completeUploadExternal", files=files, channel_id=root.channel, thread_ts=root.ts)

    async def _shared(self, root: Posted, name: str) -> str:
        """The id of a file of this name in the thread, or the ts of a note that stands for it, or ""."""
        for message in await self._posting.recent(root.channel, root.ts):
            for file in message.get("files") or []:
                if isinstance(file, dict) and name in (file.get("name"), file.get("title")):
                    return str(file.get("id", "")) or str(message.get("ts", ""))
        return ""
