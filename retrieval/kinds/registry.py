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

# What is known whatever happens now: built into snapshots, while telemetry is always of the moment.
KNOWLEDGE = frozenset({"diff", "symbol", "postmortem", "ticket", "contract", "migration"})
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
