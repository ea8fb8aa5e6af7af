"""Which incident does an alert belong to? Pure: what is known and one delivery in, placements out.

An *episode* is one (source, fingerprint, startsAt); an *incident* is what people get one message about. Rules, first
match wins, from what Alertmanager really does (repeats, splits, HA pairs, a start that moves backwards):

1. the same episode is known: a repeat; or, when it had been resolved, it fired again and its incident is open again
2. the alert has an episode in an open incident: that one (a start further back is the same episode seen by another
   Alertmanager; a later one says that it resolved in between without our being told)
3. the sender's group has an open incident: it joins (a group arrives in pieces)
4. it flaps: the third incident within an hour would be about the same, so the latest one is opened again
5. there is a storm (twenty incidents within two minutes): the one that holds most alerts takes it in
6. a new incident, shared by all of the delivery that is new

An incident is over when nothing fires and the sender left no alert out. One of which nothing was heard for twelve hours
counts as over for rules 2 and 3: some receivers are never told of a resolve.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from retrieval.model import Alert

HOUR_NS = 3600 * 10**9
STALE_NS = 12 * HOUR_NS
FLAP_NS = HOUR_NS
FLAP_INCIDENTS = 2
STORM_NS = 2 * 60 * 10**9
STORM_INCIDENTS = 20


class Head(Struct, frozen=True, kw_only=True):
    """An incident that the delivery may belong to. `last_ns` is when it was last heard of."""

    incident_id: str
    opened_ns: int
    last_ns: int
    closed_ns: int | None = None
    in_group: bool = False  # the delivery's group is one of its groups
    storm: bool = False  # so many incidents opened just now that this one takes what is new

    def is_open(self, now_ns: int) -> bool:
        return self.closed_ns is None and now_ns - self.last_ns < STALE_NS


class Episode(Struct, frozen=True, kw_only=True):
    incident_id: str
    fingerprint: str
    starts_ns: int
    status: str


class Place(Struct, frozen=True, kw_only=True):
    """`what` is opened|joined|refired|resolved|repeat|ignored; the last two change nothing. `alert` carries the start
    under which its episode is kept."""

    what: str
    incident_id: str
    alert: Alert


class _Placing:
    """The state while one delivery is placed, alert by alert."""

    def __init__(self, heads: Sequence[Head], episodes: Sequence[Episode], now_ns: int, new_id: Callable[[], str]):
        self.heads = {head.incident_id: head for head in heads}
        self.episodes = list(episodes)
        self.now_ns = now_ns
        self.new_id = new_id
        self.fresh = ""

    def same(self, alert: Alert) -> Episode | None:
        return self._latest([e for e in self.episodes if self._of(e, alert) and e.starts_ns == alert.starts_ns])

    def current(self, alert: Alert) -> Episode | None:
        """The alert's latest episode in an open incident."""
        return self._latest([e for e in self.episodes if self._of(e, alert) and self._is_open(e.incident_id)])

    def group(self) -> str:
        """The open incident of the delivery's group, the oldest if there are several."""
        open_ones = [h for h in self.heads.values() if h.in_group and h.is_open(self.now_ns)]
        first = min(open_ones, key=lambda h: (h.opened_ns, h.incident_id), default=None)
        return first.incident_id if first else self.fresh

    def flapping(self, alert: Alert) -> str:
        about = {e.incident_id for e in self.episodes if self._of(e, alert)}
        recent = [
            h
            for h in self.heads.values()
            if h.incident_id in about and h.closed_ns is not None and self.now_ns - h.opened_ns < FLAP_NS
        ]
        latest = max(recent, key=lambda h: (h.opened_ns, h.incident_id), default=None)
        return latest.incident_id if latest and len(recent) >= FLAP_INCIDENTS else ""

    def storm(self) -> str:
        return next((h.incident_id for h in self.heads.values() if h.storm and h.is_open(self.now_ns)), "")

    def open_new(self) -> str:
        self.fresh = self.new_id()
        self.heads[self.fresh] = Head(incident_id=self.fresh, opened_ns=self.now_ns, last_ns=self.now_ns, in_group=True)
        return self.fresh

    def note(self, what: str, incident_id: str, alert: Alert) -> Place:
        """Remember it for the alerts that follow in the same delivery."""
        old = [e for e in self.episodes if self._of(e, alert) and e.starts_ns == alert.starts_ns]
        self.episodes = [e for e in self.episodes if not (e in old and e.incident_id == incident_id)]
        self.episodes.append(
            Episode(
                incident_id=incident_id,
                fingerprint=alert.fingerprint,
                starts_ns=alert.starts_ns,
                status=alert.status,
            )
        )
        if alert.status == "firing" and self.heads[incident_id].closed_ns is not None:
            self.heads[incident_id] = replace(self.heads[incident_id], closed_ns=None, last_ns=self.now_ns)
        return Place(what=what, incident_id=incident_id, alert=alert)

    def _is_open(self, incident_id: str) -> bool:
        return self.heads[incident_id].is_open(self.now_ns)

    def _latest(self, episodes: list[Episode]) -> Episode | None:
        return max(
            episodes,
            key=lambda e: (e.starts_ns, self.heads[e.incident_id].opened_ns, e.incident_id),
            default=None,
        )

    @staticmethod
    def _of(episode: Episode, alert: Alert) -> bool:
        return episode.fingerprint == alert.fingerprint


def place(
    alerts: Sequence[Alert],
    heads: Sequence[Head],
    episodes: Sequence[Episode],
    now_ns: int,
    new_id: Callable[[], str],
) -> list[Place]:
    """One placement per alert.

    `episodes` are all that are known of these alerts (of this source); `heads` every incident that they or the group
    name, and the storm's. Firing alerts are placed first, so that a resolved one can join what they open.
    """
    placing = _Placing(heads, episodes, now_ns, new_id)
    firing = [_firing(placing, alert) for alert in alerts if alert.status == "firing"]
    return firing + [_resolved(placing, alert) for alert in alerts if alert.status != "firing"]


def _firing(placing: _Placing, alert: Alert) -> Place:
    known = (placing.same(alert) if alert.starts_ns else None) or placing.current(alert)
    if known is None:
        alert = alert if alert.starts_ns else replace(alert, starts_ns=placing.now_ns)
        return _unknown(placing, alert)
    if alert.starts_ns <= known.starts_ns:
        what = "repeat" if known.status == "firing" else "refired"
        return placing.note(what, known.incident_id, replace(alert, starts_ns=known.starts_ns))
    return placing.note("refired", known.incident_id, alert)


def _unknown(placing: _Placing, alert: Alert) -> Place:
    if target := placing.group():
        return placing.note("joined", target, alert)
    if target := placing.flapping(alert):
        return placing.note("refired", target, alert)
    if target := placing.storm():
        return placing.note("joined", target, alert)
    return placing.note("opened", placing.open_new(), alert)


def _resolved(placing: _Placing, alert: Alert) -> Place:
    known = (placing.same(alert) if alert.starts_ns else None) or placing.current(alert)
    if known is None:
        target = placing.group()
        if not target:
            return Place(what="ignored", incident_id="", alert=alert)
        return placing.note("joined", target, alert if alert.starts_ns else replace(alert, starts_ns=placing.now_ns))
    kept = replace(alert, starts_ns=known.starts_ns)
    if known.status != "firing" or 0 < alert.starts_ns < known.starts_ns:
        # A resolve of an earlier episode that comes late says nothing about the present one.
        return Place(what="repeat", incident_id=known.incident_id, alert=kept)
    return placing.note("resolved", known.incident_id, kept)
