"""Which rules a text needs at all (pure), so that the many lines that hold nothing cost next to nothing.

A text's shape is the text with every figure a 0. Whether a rule may match depends on the shape alone, and the lines of
a log have few shapes, so what was found out for one is remembered for the others.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from retrieval.ingest.redaction.fields import HINTS
from retrieval.ingest.redaction.personal import PERSONAL
from retrieval.ingest.redaction.rules import Rule
from retrieval.ingest.redaction.vendors import SECRETS

_FIGURES = str.maketrans("123456789", "000000000")
_HEX = frozenset("0123456789abcdef")
_DIGEST_LENGTHS = frozenset({16, 32, 40, 64})  # span and trace ids, SHA-1, SHA-256
_REMEMBERED_LENGTH = 1_000

BASE64 = re.compile(r"(?<![\w+/=.-])(?:[A-Za-z0-9+/_-]{4}){5,2000}(?:[A-Za-z0-9+/_-]{2,3}={0,2})?(?![\w+/=])")
_FIELD_SIGN = re.compile("[=:]|</|into ")
_ENCODED = re.compile(rf"%[0A-Fa-f]{{2}}|{BASE64.pattern}")


class Tries(Struct, frozen=True):
    """What to apply, in order."""

    secrets: tuple[Rule, ...]
    fields: bool
    personal: tuple[Rule, ...]
    encoded: bool
    any: bool


def is_digest(text: str) -> bool:
    """A trace or span id, a commit, an image digest: never touched."""
    return len(text) in _DIGEST_LENGTHS and _HEX.issuperset(text) and not text.isdecimal()


def tries(text: str) -> Tries:
    shape = text.translate(_FIGURES)
    return _remembered(shape) if len(shape) <= _REMEMBERED_LENGTH else _of_shape(shape)


def _of_shape(shape: str) -> Tries:
    lower = shape.lower()
    secrets = tuple(rule for rule in SECRETS if _may_match(rule, shape, lower))
    personal = tuple(rule for rule in PERSONAL if _may_match(rule, shape, lower))
    fields = _FIELD_SIGN.search(lower) is not None and _holds(lower, HINTS)
    encoded = _ENCODED.search(shape) is not None
    return Tries(secrets, fields, personal, encoded, bool(secrets or personal or fields or encoded))


_remembered = lru_cache(maxsize=20_000)(_of_shape)
_NEEDS = {id(rule): tuple(n.translate(_FIGURES) for n in rule.needs) for rule in (*SECRETS, *PERSONAL)}


def _may_match(rule: Rule, shape: str, lower: str) -> bool:
    if rule.gate is not None:
        return rule.gate.search(shape) is not None
    return _holds(lower, _NEEDS[id(rule)])


def _holds(lower: str, literals: Iterable[str]) -> bool:
    return any(literal in lower for literal in literals)
