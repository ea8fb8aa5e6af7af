"""When did events of one kind begin to come more often?"""

from collections.abc import Sequence
from math import log

from msgspec import Struct

from retrieval.context.coverage import Coverage

# Of 3, 10 or 40 events at one steady rate over an hour, one series in fifty at most reaches this (simulated).
SIGNIFICANT = 5.0
# Moments whose log-likelihood is within this of the best one's are about as good (Edwards 1972, "Likelihood": support
# limits of two units); the earliest of them is taken, for what belongs to a fault begins with its first event.
SUPPORT = 2.0


class Burst(Struct, frozen=True):
    """Where the rate of events rose, and how surely: `gain` is the log-likelihood ratio of two rates against one."""

    at_ns: int
    gain: float
    before: int
    after: int


def find_burst(times_ns: Sequence[int], coverage: Coverage, until_ns: int) -> Burst | None:
    """The split that tells two Poisson rates apart best, the later one higher; None without one event or a rise.

    Of splits that are about as good the earliest counts. Events from `until_ns` on are not looked at. This is the
    likelihood-ratio test for one change of a Poisson process, with time measured in recorded minutes.
    """
    times = sorted(t for t in times_ns if t < until_ns)
    start, whole = coverage.start_ns, coverage.minutes(coverage.start_ns, until_ns)
    found: list[Burst] = []
    for index, at in enumerate(times):
        if index and at == times[index - 1]:
            continue
        before, after = index, len(times) - index
        early = coverage.minutes(start, at)
        late = max(whole - early, 1 / 60)
        if before / early < after / late:
            gain = _fit(before, early) + _fit(after, late) - _fit(len(times), early + late)
            found.append(Burst(at, gain, before, after))
    best = max((burst.gain for burst in found), default=0.0)
    return next((burst for burst in found if burst.gain >= best - min(SUPPORT, best / 2)), None)


def _fit(count: int, minutes: float) -> float:
    """Log-likelihood of a Poisson count at its own rate, less what all splits share."""
    return count * log(count / minutes) if count else 0.0
