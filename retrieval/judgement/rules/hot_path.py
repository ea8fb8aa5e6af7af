"""A function that takes a far larger share of the time in the later profile than in the earlier one."""

from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.growth import draft


def apply(facts: Facts) -> Draft | None:
    """None without two profiles of time between which a function's share grew."""
    return draft("hot_path", "cpu", facts)
