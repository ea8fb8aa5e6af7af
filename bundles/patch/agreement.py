"""How far one answer is another. Pure.

A patch that silences a failure may answer nonsense. The answer to the same input before the failure came in is known,
so candidates are compared by how much of it they give again; equality would ask too much, for other commits since may
have changed other parts of it rightly.
"""

import re
from collections import Counter
from collections.abc import Sequence

Answers = Sequence[tuple[str, str]]
"""(function, repr of what it returned), as a run recorded them."""

_VALUE = re.compile(r"[^\W_][\w.+-]*")


def agreement(before: Answers | None, now: Answers | None) -> float | None:
    """The share of the values in `before` that `now` has too, 0..1; None where one of them is not known."""
    if before is None or now is None:
        return None
    wanted, given = _values(before), _values(now)
    total = sum(wanted.values())
    return sum((wanted & given).values()) / total if total else None


def mean_agreement(before: Sequence[Answers | None], now: Sequence[Answers | None]) -> float | None:
    """The mean over several inputs of which the answer before is known; an input that has no answer now counts 0. None
    where no answer before is known."""
    shares = [agreement(old, new) or 0.0 for old, new in zip(before, now, strict=True) if old is not None]
    return sum(shares) / len(shares) if shares else None


def _values(answers: Answers) -> Counter[tuple[str, str]]:
    return Counter((name, value) for name, text in answers for value in _VALUE.findall(text))
