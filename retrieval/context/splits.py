"""When did a row of observations change, and how surely? In nats (log-likelihood ratios)."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_BEFORE, MIN_AFTER = 3, 3
_LOG_NOISE = 0.2  # standard deviation of a logarithm of a duration that is never believed to be smaller
_FLOOR_MS = 2.0  # durations below are all alike: clocks and schedulers are no finer


class Split(Struct, frozen=True):
    """`index` is the first observation after the change; levels are shares, or medians in the row's own unit."""

    gain: float
    index: int
    before: float
    after: float


def split_share(times: Floats, states: Floats, low: float, high: float) -> Split | None:
    """The moment in [low, high] that tells two shares of a yes-or-no row apart best; None when there is none.

    Likelihood-ratio (G) test of two binomials against one.
    """
    count = len(states)
    if count < MIN_BEFORE + MIN_AFTER:
        return None
    size = np.arange(1.0, count)
    seen = np.cumsum(states)
    before, after = seen[:-1], seen[-1] - seen[:-1]
    gain = (
        _binomial(before, size)
        + _binomial(after, count - size)
        - _binomial(np.full(count - 1, seen[-1]), np.full(count - 1, float(count)))
    )
    index = _best(gain, times, low, high)
    if index is None:
        return None
    at = index - 1
    return Split(float(gain[at]), index, float(before[at] / size[at]), float(after[at] / (count - size[at])))


def split_level(times: Floats, durations_ms: Floats, low: float, high: float) -> Split | None:
    """The moment in [low, high] after which durations are longer, None when they never are.

    Likelihood-ratio test of two means of the logarithm against one, with one variance.
    """
    count = len(durations_ms)
    if count < MIN_BEFORE + MIN_AFTER + 1:
        return None
    logs = np.log(np.maximum(durations_ms, 0.0) + _FLOOR_MS)
    size = np.arange(1.0, count)
    total, squares = np.cumsum(logs), np.cumsum(logs * logs)
    mean_before, mean_after = total[:-1] / size, (total[-1] - total[:-1]) / (count - size)
    apart = squares[-1] - size * mean_before**2 - (count - size) * mean_after**2
    together = squares[-1] - total[-1] ** 2 / count
    least = count * _LOG_NOISE**2
    gain = count / 2 * np.log((together + least) / (np.maximum(apart, 0.0) + least))
    index = _best(np.where(mean_after > mean_before, gain, 0.0), times, low, high)
    if index is None or gain[index - 1] <= 0 or mean_after[index - 1] <= mean_before[index - 1]:
        return None
    return Split(
        float(gain[index - 1]), index, float(np.median(durations_ms[:index])), float(np.median(durations_ms[index:]))
    )


def _best(gain: Floats, times: Floats, low: float, high: float) -> int | None:
    count = len(times)
    index = np.arange(1, count)
    allowed = (index >= MIN_BEFORE) & (count - index >= MIN_AFTER) & (times[1:] >= low) & (times[1:] <= high)
    if not allowed.any():
        return None
    return int(np.argmax(np.where(allowed, gain, -1.0))) + 1


def _binomial(hits: Floats, size: Floats) -> Floats:
    """Log-likelihood of `hits` of `size` at their own share."""
    misses = size - hits
    with np.errstate(divide="ignore", invalid="ignore"):
        yes = np.where(hits > 0, hits * np.log(hits / size), 0.0)
        no = np.where(misses > 0, misses * np.log(misses / size), 0.0)
    found: Floats = yes + no
    return found


def as_row(values: Sequence[float]) -> Floats:
    return np.asarray(values, dtype=np.float64)
