"""Evidence as lines that a model reads: data with an anchor on every line, never an order. Pure.

Every line begins with `E12:03| `, so that nothing in a log can end the block that it stands in or pass for our own
words; the block's mark is the digest of all that is shown, which who writes a log cannot know.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from retrieval.model import Evidence

WIDTH = 240
MAX_LIST = 12
MAX_DEPTH = 8
LEFT_OUT = "[one line left out: it reads like an order]"
# Not a defence, which the check of the answer is, but less temptation: what asks the reader to do something.
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|prompt|previous|above|rules?|evidence|alert)"
    r"|\bsystem prompt\b|\byou (?:are|must|should) (?:now|an?|the|answer|reply|report|say|respond)\b"
    r"|\b(?:respond|reply|answer) (?:only )?with\b|<\|[^|]{0,40}\|>|\[/?INST\]"
    r"|<(?:start|end)_of_turn>|^\s*#{2,}\s*system",
    re.IGNORECASE,
)  # fmt: skip


class Shown(Struct, frozen=True):
    """One piece of evidence as it is shown. `text` is what a quote must be part of."""

    id: str
    kind: str
    service: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return folded(" ".join(line for line in self.lines if line != LEFT_OUT))


def folded(text: str) -> str:
    """White space folded."""
    return " ".join(text.split())


def visible(text: str) -> str:
    """One line of what a reader sees: no control, format, private or unassigned characters."""
    kept = "".join(" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c)[0] != "C")
    return folded(unicodedata.normalize("NFC", kept))


def show(evidence: Sequence[Evidence], most_lines: int) -> tuple[Shown, ...]:
    """Each piece with at most `most_lines` lines: its quote first, then the record."""
    return tuple(
        Shown(e.id, visible(e.kind)[:30], visible(e.service)[:60], tuple(_lines(e, most_lines))) for e in evidence
    )


def mark_of(shown: Sequence[Shown]) -> str:
    text = "\n".join(line for s in shown for line in s.lines)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _lines(evidence: Evidence, most: int) -> Iterator[str]:
    told, seen = 0, set[str]()
    for raw in (evidence.quote, *_record(evidence)):
        line = visible(raw)[:WIDTH]
        if not line or line in seen:
            continue
        if told == most:
            yield "[more lines left out]"
            return
        seen.add(line)
        told += 1
        yield LEFT_OUT if _ORDERS.search(visible(raw)) else line


def _record(evidence: Evidence) -> Iterator[str]:
    try:
        value = json.loads(evidence.content)
    except (ValueError, RecursionError):
        return
    yield from _flat(value, "", 0)


def _flat(value: Any, name: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH or value in (None, "", [], {}):
        return
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _flat(value[key], f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list):
        for item in value[:MAX_LIST]:
            yield from _flat(item, name, depth + 1)
    else:
        for line in str(value).splitlines():
            yield f"{name}: {line}"
