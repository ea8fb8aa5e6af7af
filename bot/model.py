"""What the bot's own rooms tell each other: views of an incident, and the seams between engine and channel."""

from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from retrieval.model import Alert, Case


class BundleRef(Struct, frozen=True, kw_only=True):
    path: Path
    sha256: str
    size: int


class IncidentView(Struct, frozen=True, kw_only=True):
    """All that a message, a page or the terminal shows of one incident at one moment.

    `status` is looking|done|failed. While looking, `stage` names the stage and `known` what is known so far, one line
    each. When failed, `stage` is the reason (crashed | timeout | kill_switch | unreadable: the sender's text could not
    be read and is in the alert's annotations as `raw`) and `known` says what to do next. `case` is None when failed
    before a first conclusion; after a re-run that failed it still is the conclusion before. A case here has no
    telemetry left in `sources`. `revision` grows with every change; a view of a lower revision never overwrites a
    higher one.
    """

    incident_id: str
    status: str
    alerts: tuple[Alert, ...]
    firing: int
    resolved: int
    started_ns: int
    now_ns: int
    revision: int = 0
    stage: str = ""
    known: str = ""
    case: Case | None = None
    bundle: BundleRef | None = None
    seconds: float = 0.0
    refired: int = 0
    truncated: int = 0
    changed: str = ""  # after a re-run: what differs from the conclusion before, one line
    public_url: str = ""


class Posted(Struct, frozen=True, kw_only=True):
    """One message or file that a channel holds. `digest` is that of the content last sent."""

    incident_id: str
    part: str  # root | evidence | test | patch | bundle | ...
    channel: str
    ts: str = ""  # "" while only intended
    digest: str = ""
    revision: int = 0


class Ledger(Protocol):
    """Durable memory of what was told: written before sending (`intend`) and after (`sent`), so that a crash in between
    is seen at the next start and reconciled, never repeated blindly."""

    async def intend(self, posted: Posted) -> None: ...

    async def sent(self, posted: Posted) -> None: ...

    async def part(self, incident_id: str, part: str) -> Posted | None: ...

    async def parts(self, incident_id: str) -> list[Posted]: ...

    async def find(self, channel: str, ts: str) -> str | None:
        """The incident whose root message this is."""
        ...


class Channel(Protocol):
    """Where incidents are told. Idempotent: calling it again with the same view changes nothing."""

    async def show(self, view: IncidentView) -> None:
        """Post the root message, or edit it in place."""
        ...

    async def deliver(self, view: IncidentView) -> None:
        """Evidence, test, patch and bundle into the thread, once per conclusion."""
        ...

    async def close(self) -> None: ...


class UnknownIncident(Exception):
    """No incident has this id, or the channel has none."""


class Refused(Exception):
    """Whoever asks may not see this incident."""


class Rerun(Struct, frozen=True, kw_only=True):
    """What a person asked to change; empty fields stay as they were. Windows like "45m"."""

    user: str
    before: str = ""
    after: str = ""
    service: str = ""
    as_of_ns: int | None = None
    snapshot: str = ""
    answers: dict[str, str] = field(default_factory=dict)  # what a person said was missing -> the value (row B8)


class Actions(Protocol):
    """What a person can do from Slack or over HTTP. All raise UnknownIncident."""

    async def latest(self, channel: str) -> str: ...

    async def view(self, incident_id: str) -> IncidentView: ...

    async def allow(self, incident_id: str, *, user: str, channel: str) -> None:
        """Before anything of an incident is shown to a person or changed by one.

        Raises: Refused.
        """
        ...

    async def rerun(self, incident_id: str, wish: Rerun) -> None:
        """Durable when it returns; the message is edited as the run goes."""
        ...

    async def feedback(self, incident_id: str, *, user: str, verdict: str, commit: str = "") -> None:
        """`verdict` is right|wrong; the last word of a user counts."""
        ...

    async def answer(self, incident_id: str, *, user: str, what: str, value: str) -> None:
        """What was missing, given by a person (row B8); kept, and the triage runs again with it."""
        ...
