"""Which rules a text needs at all (pure), so that the many lines that hold nothing cost next to nothing.

A text's shape is the text with every figure a 0. Whether a rule may match depends on the shape alone, and the lines of
a log have few shapes, so what was found out for one is remembered for the others.
"""

import re
from functools import lru_cache

import ahocorasick
from msgspec import Struct

from retrieval.ingest.redaction.personal import PERSONAL
from retrieval.ingest.redaction.rules import Gated, Rule
from retrieval.ingest.redaction.vendors import SECRETS

_FIGURES = str.maketrans("123456789", "000000000")
_HEX = frozenset("0123456789abcdef")
_DIGEST_LENGTHS = frozenset({16, 32, 40, 64})  # span and trace ids, SHA-1, SHA-256
_REMEMBERED_LENGTH = 1_000

BASE64 = re.compile(r"(?<![\w+/.-])(?:[A-Za-z0-9+/_-]{4}){5,2000}(?:[A-Za-z0-9+/_-]{2,3}={0,2})?(?![\w+/=])")
_SHORTEST_BASE64 = re.compile(r"(?<![\w+/.-])[A-Za-z0-9+/_-]{20}")
_FIELD_SIGNS = ("=", ":", "</", "into ")
_PERCENT = re.compile("%[0A-Fa-f]{2}")


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
    lower, tight = shape.lower(), shape.replace(" ", "")
    found = {place for _, places in _LITERALS.iter(lower) for place in places}
    capitals = lower != shape
    for at, rule in _GATED:
        if (capitals or not rule.capitals) and any(sign in tight for sign in rule.signs) and rule.gate.search(shape):
            found.add(at)
    places = sorted(found)
    secrets = tuple(SECRETS[at] for at in places if at < len(SECRETS))
    personal = tuple(PERSONAL[at - len(SECRETS)] for at in places if at >= len(SECRETS))
    fields = any(sign in lower for sign in _FIELD_SIGNS)
    encoded = _may_be_encoded(shape)
    return Tries(secrets, fields, personal, encoded, bool(places or fields or encoded))


def _may_be_encoded(shape: str) -> bool:
    if "%" in shape and _PERCENT.search(shape):
        return True
    return _SHORTEST_BASE64.search(shape) is not None and BASE64.search(shape) is not None


def _literals() -> "ahocorasick.Automaton":
    """All literals at once, each with the places of the rules that need it."""
    places: dict[str, list[int]] = {}
    for at, rule in _RULES:
        for need in rule.needs:
            places.setdefault(need.translate(_FIGURES), []).append(at)
    automaton = ahocorasick.Automaton()
    for literal, rules in sorted(places.items()):
        automaton.add_word(literal, tuple(rules))
    automaton.make_automaton()
    return automaton


_RULES = tuple(enumerate((*SECRETS, *PERSONAL)))
_LITERALS = _literals()
_GATED = tuple((at, rule) for at, rule in _RULES if isinstance(rule, Gated))
_remembered = lru_cache(maxsize=20_000)(_of_shape)
