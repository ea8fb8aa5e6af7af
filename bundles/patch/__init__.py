"""Candidate patches and what running them showed (row B9). No failing test, no patch; nothing is ever applied."""

from bundles.patch.search import Site, Tried, find_patches

__all__ = ["Site", "Tried", "find_patches"]
