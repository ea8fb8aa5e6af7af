"""Which service is least like itself? (the ranking of services where no crash tells)

Four independent signs, each a number in nats or made comparable to one: other behaviour per request, more own time,
later answers over the network, remarkable use of resources. A service's score is its best sign and a quarter of the
others, so that agreement counts but a heap of small things does not beat one great one.
"""

from msgspec import Struct

from retrieval.context.behaviour import changed_behaviour
from retrieval.context.coverage import coverage_of
from retrieval.context.latency import slowed
from retrieval.context.requests import Requests
from retrieval.context.resources import jumped
from retrieval.model import Case

_MINUTE_NS = 60_000_000_000
_OTHERS = 0.25
_LOOK_BACK_NS = 45 * _MINUTE_NS


class Signs(Struct, frozen=True, kw_only=True):
    """The scores of one service by sign, and when its greatest began."""

    behaviour: float = 0.0
    own_time: float = 0.0
    network: float = 0.0
    resources: float = 0.0

    @property
    def score(self) -> float:
        ordered = sorted((self.behaviour, self.own_time, self.network, self.resources), reverse=True)
        return ordered[0] + _OTHERS * sum(ordered[1:])


def signs_of(case: Case) -> dict[str, Signs]:
    """Signs per service that has any record. What began between 45 minutes before the first alert and the alert counts,
    and after the last pause of the recording: what was recorded earlier is the baseline, however long ago."""
    sources = case.sources
    high = min(alert.starts_ns for alert in case.alerts)
    coverage = coverage_of(sources)
    low = max(high - _LOOK_BACK_NS, coverage.resumed_ns(high))
    requests = Requests(sources)
    behaviour = changed_behaviour(requests, coverage, low, high)
    own, network = slowed(requests, low, high)
    resources = jumped(sources.series, low, high + 2 * _MINUTE_NS)
    names = {span.service for span in sources.spans} | {log.service for log in sources.logs} | set(resources)
    return {
        name: Signs(
            behaviour=behaviour[name].score if name in behaviour else 0.0,
            own_time=own[name].score if name in own else 0.0,
            network=network[name].score if name in network else 0.0,
            resources=resources[name].score if name in resources else 0.0,
        )
        for name in sorted(names - {""})
    }


def rank_services(case: Case) -> list[tuple[str, float]]:
    """(service, score), least like itself first, ties by name; services without any sign have 0.

    Raises: ValueError when the case has no alert.
    """
    scores = {name: round(signs.score, 6) for name, signs in signs_of(case).items()}
    return sorted(scores.items(), key=lambda row: (-row[1], row[0]))
