"""Which healthy traces are kept (row B13). Pure.

The decision is made from the trace id alone, so that every part of a trace, whoever sends it and whenever it comes, is
kept or dropped together, on every replica and after every restart.
"""

import hashlib

_WHOLE = 2**64


def sampled(trace_id: str, share: float) -> bool:
    """Whether a trace is among the `share` (0..1) that is kept; a larger share keeps what a smaller one keeps.

    The id is hashed, for not every tracer makes ids whose last digits are random.
    """
    place = int.from_bytes(hashlib.blake2b(trace_id.encode("utf-8", "replace"), digest_size=8).digest())
    return place < share * _WHOLE
