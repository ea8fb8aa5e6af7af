"""What stands behind the bot in these tests: a ledger in memory, and actions that write down what they were asked."""

from typing import Any

import msgspec

from bot.model import IncidentView, Posted, Refused, Rerun, UnknownIncident


class MemoryLedger:
    """`bot.model.Ledger`; `history` keeps every write, so that a crash can be staged after any of them."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Posted] = {}
        self.history: list[tuple[str, Posted]] = []

    async def intend(self, posted: Posted) -> None:
        self.history.append(("intend", posted))
        self.kept[posted.incident_id, posted.part] = posted

    async def sent(self, posted: Posted) -> None:
        self.history.append(("sent", posted))
        self.kept[posted.incident_id, posted.part] = posted

    async def part(self, incident_id: str, part: str) -> Posted | None:
        return self.kept.get((incident_id, part))

    async def parts(self, incident_id: str) -> list[Posted]:
        return [p for (i, _), p in self.kept.items() if i == incident_id]

    async def find(self, channel: str, ts: str) -> str | None:
        return next(
            (p.incident_id for p in self.kept.values() if p.part == "root" and (p.channel, p.ts) == (channel, ts)), None
        )


class Desk:
    """`bot.model.Actions` over one incident; `raises` makes the next call fail as given."""

    def __init__(self, view: IncidentView) -> None:
        self.shown = view
        self.asked: list[tuple[Any, ...]] = []
        self.raises: Exception | None = None
        self.strangers: set[str] = set()

    async def latest(self, channel: str) -> str:
        if channel != "C0INCIDENTS":
            raise UnknownIncident(channel)
        return self.shown.incident_id

    async def view(self, incident_id: str) -> IncidentView:
        self._known(incident_id)
        return self.shown

    async def allow(self, incident_id: str, *, user: str, channel: str) -> None:
        self._known(incident_id)
        if user in self.strangers:
            raise Refused(incident_id)

    async def rerun(self, incident_id: str, wish: Rerun) -> None:
        self._known(incident_id)
        self.asked.append(("rerun", incident_id, wish))

    async def feedback(self, incident_id: str, *, user: str, verdict: str, commit: str = "") -> None:
        self._known(incident_id)
        self.asked.append(("feedback", incident_id, user, verdict, commit))

    async def answer(self, incident_id: str, *, user: str, what: str, value: str) -> None:
        self._known(incident_id)
        self.asked.append(("answer", incident_id, user, what, value))

    def shows(self, **changes: Any) -> None:
        self.shown = msgspec.structs.replace(self.shown, **changes)

    def _known(self, incident_id: str) -> None:
        if self.raises is not None:
            error, self.raises = self.raises, None
            raise error
        if incident_id != self.shown.incident_id:
            raise UnknownIncident(incident_id)
