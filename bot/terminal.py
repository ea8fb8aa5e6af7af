"""A channel without Slack: every change of an incident as text."""

import hashlib
from collections.abc import Callable

from bot.model import IncidentView, Ledger, Posted

_NAME = "terminal"


class TerminalChannel:
    """`write` gets each text that differs from the last one written for the incident, also across restarts."""

    def __init__(self, render: Callable[[IncidentView], str], write: Callable[[str], None], ledger: Ledger) -> None:
        self._render = render
        self._write = write
        self._ledger = ledger

    async def show(self, view: IncidentView) -> None:
        text = self._render(view)
        before = await self._ledger.part(view.incident_id, "root")
        digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        if before and (before.digest == digest or before.revision > view.revision):
            return
        self._write(text)
        await self._ledger.sent(
            Posted(
                incident_id=view.incident_id,
                part="root",
                channel=_NAME,
                ts=view.incident_id,
                digest=digest,
                revision=view.revision,
            )
        )

    async def deliver(self, view: IncidentView) -> None:
        """Nothing more: the text names the bundle, the page holds the rest."""

    async def close(self) -> None:
        """Nothing is held open."""
