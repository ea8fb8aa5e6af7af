"""Texts to vectors. Importing this loads no model; `open_embedder` finds one, its first use loads it."""

from retrieval.embedding.sentence import SentenceEmbedder, open_embedder

__all__ = ["SentenceEmbedder", "open_embedder"]
