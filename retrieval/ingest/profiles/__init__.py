"""Profiles and heap reports, a file a format; `FORMATS` is the registry, asked in this order."""

from retrieval.ingest.profiles import reports, stacks, tables
from retrieval.ingest.profiles.base import ReadProfile

FORMATS: dict[str, ReadProfile] = {
    "speedscope": stacks.speedscope,
    "jmap": tables.jmap,
    "pprof": tables.pprof,
    "tracemalloc": reports.tracemalloc,
    "memray": reports.memray,
    "collapsed": stacks.collapsed,
}

__all__ = ["FORMATS", "ReadProfile"]
