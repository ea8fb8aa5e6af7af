"""Who may see what (row B14): the settings' section `access`, as tags of services, people, channels and HTTP readers.

Asked twice: at retrieval, where an incident is looked into with the tags of the channel that it is told in, and before
anything is shown, where what an incident was made from is held against the tags of whoever looks.
"""

import hmac
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bot.intake.access import credentials, digest
from bot.model import IncidentView
from bot.settings import AccessSettings
from retrieval.kinds.access import may_read
from retrieval.model import Case

SEEN = "seen"  # key of `Case.options`: the tag sets of all that the case was made from
Sets = tuple[tuple[str, ...], ...]
LOG = "log"
WITHHELD = "it is about services that this channel may not see"


class Reader(Struct, frozen=True, kw_only=True):
    """Somebody who looks: a person of Slack, in a channel, or a bearer of a reader's token (its name)."""

    user: str = ""
    channel: str = ""
    token: str = ""


class Access:
    """`channel` is the one that incidents are told in and looked into for; "" is the log of a server without Slack,
    which `access.channels` knows as `log`."""

    def __init__(self, settings: AccessSettings, channel: str = "") -> None:
        self._settings = settings
        self._channel = Reader(channel=channel or LOG)
        self._digests = {
            name: digest("bearer", reader.token.get_secret_value().strip()) for name, reader in settings.readers.items()
        }

    def documents(self) -> dict[str, tuple[str, ...]]:
        """Tags of each service's documents, "" those of everything else (`Keeping.acl`)."""
        named = {name: tuple(tags) for name, tags in self._settings.services.items()}
        return {"": tuple(self._settings.default), **named}

    def every(self) -> tuple[str, ...]:
        """All tags that the settings give to documents."""
        return tuple(sorted({tag for tags in self.documents().values() for tag in tags}))

    def of_service(self, service: str) -> tuple[str, ...]:
        return tuple(self._settings.services.get(service, self._settings.default))

    def tags(self, reader: Reader) -> tuple[str, ...]:
        """The tags that the settings give; a person in a channel has both theirs and the channel's."""
        settings = self._settings
        found = set(settings.everyone)
        if reader.user:
            found.update(settings.users.get(reader.user, ()))
        if reader.channel:
            found.update(settings.channels.get(reader.channel, ()))
        if reader.token:
            found.update(settings.readers[reader.token].tags)
        return tuple(sorted(found))

    def run_tags(self) -> tuple[str, ...]:
        """With what incidents are looked into."""
        return self.tags(self._channel)

    def sees_service(self, service: str) -> bool:
        """Whether incidents may be looked into with what belongs to a service."""
        return may_read(self.run_tags(), [self.of_service(service)])

    def bearer(self, headers: Mapping[str, str]) -> Reader | None:
        """Who sends this request; None for nobody that the settings know. All are compared, in constant time."""
        given = credentials(headers)
        if given is None:
            return None
        found = [name for name, known in self._digests.items() if hmac.compare_digest(digest(*given), known)]
        return Reader(token=found[0]) if found else None

    def needed(self, view: IncidentView) -> Sets:
        """The tag sets of which a reader needs one tag each: of the alerts' services, of all that the case was made
        from, and while it is looked into every tag that it is looked into with, since what is known so far is shown."""
        found = {self.of_service(alert.service) for alert in view.alerts}
        if view.case is not None:
            found.update(seen_of(view.case))
        if view.status == "looking":
            found.update((tag,) for tag in self.tags(self._channel))
        return tuple(sorted(found))

    def allows(self, view: IncidentView, reader: Reader) -> bool:
        return may_read(self.tags(reader), self.needed(view))

    def for_channel(self, view: IncidentView) -> IncidentView:
        """The view as the channel may see it: as it is, or that there is an incident and nothing else of it."""
        if may_read(self.run_tags(), self.needed(replace(view, status="done"))):
            return view
        known = "Whoever may see them finds it on its page; `access.channels` gives a channel its tags."
        return replace(
            view, status="failed", stage=WITHHELD, known=known, alerts=(), case=None, bundle=None, changed=""
        )


def noted(case: Case, seen: Sets) -> Case:
    """The case with what it was made from."""
    return replace(case, options={**case.options, SEEN: [list(tags) for tags in seen]})


def seen_of(case: Case) -> Sets:
    return tuple(tuple(str(tag) for tag in tags) for tags in case.options.get(SEEN, ()))


def withheld(view: IncidentView) -> bool:
    return view.stage == WITHHELD
