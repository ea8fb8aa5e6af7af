"""The formats of a case folder (design: "The case folder"), a file each.

`READERS` is the registry; text logs come last, because what the other files name helps to read them.
"""

from retrieval.ingest.readers import (
    changes,
    contracts,
    coverage,
    dumps,
    environments,
    junit,
    logs,
    metrics,
    postmortems,
    profiles,
    prometheus,
    textlog,
    tickets,
    traces,
)
from retrieval.ingest.readers.base import Reader

READERS: tuple[Reader, ...] = (
    traces.READER,
    logs.READER,
    metrics.READER,
    prometheus.READER,
    changes.DEPLOYS,
    changes.FLAGS,
    changes.CONFIG,
    junit.READER,
    postmortems.READER,
    tickets.READER,
    contracts.READER,
    dumps.READER,
    profiles.READER,
    coverage.READER,
    environments.READER,
    textlog.READER,
)

__all__ = ["READERS", "Reader"]
