"""The registry of document kinds: a kind is a `Kind` and a line here."""

from retrieval.kinds import change, diff, junit, log, metric, postmortem, symbol, trace
from retrieval.kinds.base import Kind

_ALL = (
    trace.KIND,
    log.KIND,
    metric.KIND,
    diff.KIND,
    change.DEPLOY,
    change.FLAG,
    change.CONFIG,
    junit.KIND,
    postmortem.KIND,
    symbol.KIND,
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
