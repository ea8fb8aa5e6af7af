"""The registry of document kinds: a kind is a `Kind` and a line here."""

from retrieval.kinds import (
    change,
    contract,
    coverage,
    diff,
    dump,
    environment,
    junit,
    log,
    metric,
    postmortem,
    profile,
    symbol,
    ticket,
    trace,
)
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
    ticket.KIND,
    contract.CONTRACT,
    contract.MIGRATION,
    symbol.KIND,
    dump.KIND,
    profile.KIND,
    coverage.KIND,
    environment.KIND,
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
