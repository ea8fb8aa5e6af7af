"""Text to terms, once and in Python, so that every engine ranks the same way. Pure.

A term is a whole token (`PaymentClient.authorize`, `db_pool_size`, `srv/a/b.py:412`) and, beside it, each of its parts
(`payment`, `client`, `authorize`), all in lower case. Identifiers in hexadecimal, numbers and addresses have no parts.
"""

import re
import unicodedata
from functools import lru_cache

VERSION = 1  # goes up whenever the same text gives other terms: a store then has to be built again

_MAX_TOKEN = 200  # characters; what is longer is a blob, of which the beginning identifies enough
_TOKEN = re.compile(r"[\w.$@/:\\-]+")
_OUTER = ".-/:@$\\"
_SEPARATORS = re.compile(r"[\W_]+")
_OPAQUE = re.compile(r"[0-9a-f_-]{6,}|[\d.:,_-]+")
_HEXADECIMAL = re.compile(r"(?=.*\d)[0-9a-f]{6,}")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Scripts written without spaces are searched by pairs of characters: Hiragana, Katakana, Han, Thai.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")


def analyze(text: str) -> list[str]:
    """The terms of a text, in its order, repeated as often as they occur."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return [term for token in _TOKEN.findall(text) for term in _terms(token[:_MAX_TOKEN])]


@lru_cache(maxsize=32_768)
def _terms(token: str) -> tuple[str, ...]:
    token = token.strip(_OUTER)
    whole = token.lower()
    if not whole.strip("_"):
        return ()
    if _OPAQUE.fullmatch(whole):
        return (whole,)
    parts: list[str] = []
    for piece in _SEPARATORS.split(token):
        if not piece:
            continue
        lowered = piece.lower()
        humps = [] if _HEXADECIMAL.fullmatch(lowered) else [hump.lower() for hump in _HUMPS.split(piece)]
        parts.append(lowered)
        parts.extend(humps if len(humps) > 1 else ())
        for run in _UNSPACED.findall(lowered):
            parts.extend(run[at : at + 2] for at in range(len(run) - 1) if run[at : at + 2] != lowered)
    return (whole, *parts) if parts != [whole] and parts[:1] != [whole] else tuple(parts)
