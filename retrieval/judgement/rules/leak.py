"""A class or an allocation site that holds far more in the later heap report than in the earlier one."""

from retrieval.judgement.draft import Draft
from retrieval.judgement.facts import Facts
from retrieval.judgement.growth import draft


def apply(facts: Facts) -> Draft | None:
    """None without two heap reports of the incident between which something grew."""
    return draft("leak", "heap", facts)
