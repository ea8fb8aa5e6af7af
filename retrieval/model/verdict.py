"""The ladder (row F5). A rung is claimed only with its artifact; `retrieval.judgement.verdict` decides."""

from enum import StrEnum


class Verdict(StrEnum):
    INSUFFICIENT = "insufficient_evidence"
    LEAD = "lead"
    SUPPORTED = "supported"
    REPRODUCED = "reproduced"
    PROVED = "proved"


RUNGS: tuple[Verdict, ...] = tuple(Verdict)
