"""Document kinds: what each record becomes in an index, how it is read back, what an alert asks of each."""

from retrieval.kinds.base import Kind, Material
from retrieval.kinds.loading import load_sources
from retrieval.kinds.queries import queries
from retrieval.kinds.registry import KINDS, KNOWLEDGE
from retrieval.kinds.storing import Keeping, store_sources

__all__ = ["KINDS", "KNOWLEDGE", "Keeping", "Kind", "Material", "load_sources", "queries", "store_sources"]
