"""A store without a server: one folder, one process, exact answers."""

from retrieval.index.embedded.engine import EmbeddedIndex, open_engine

__all__ = ["EmbeddedIndex", "open_engine"]
