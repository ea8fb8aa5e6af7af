"""Which literal of a statement belongs to which column (pure): `INSERT INTO people (name, mail) VALUES ('…', '…')`.

Elsewhere in SQL a name stands before its literal (`SET password = '…'`) and is read as any other field.
"""

import re
from collections.abc import Iterator

_INSERT = re.compile(
    r"(?i)\b(?:insert|replace|upsert)\s+(?:ignore\s+)?into\s+[\w.`\"\[\]\\]{1,120}\s{0,4}\((?P<columns>[^()]{1,2000})\)\s{0,4}"
    r"(?:output\s[^()]{0,200})?values\s{0,4}"
)
_ROW = re.compile(r"\s{0,4},?\s{0,4}\(")
_LITERAL = re.compile(
    r"\s{0,8}(?:[NEBX]?'(?P<text>(?:[^'\\]|''|\\.){0,2000})'|(?P<other>[^,()']{0,200}(?:\([^()]{0,200}\))?))\s{0,8}(?P<end>[,)])"
)
_ROWS = 1_000


def literals(text: str) -> Iterator[tuple[str, str, int]]:
    """(column, literal without its quotes, where it starts), row by row."""
    if "nto" not in text and "NTO" not in text:
        return
    for insert in _INSERT.finditer(text):
        columns = [c.strip('`"[]\\ \t\n') for c in insert["columns"].split(",")]
        at = insert.end()
        for _ in range(_ROWS):
            row = _ROW.match(text, at)
            if row is None:
                break
            at = row.end()
            for column in columns:
                literal = _LITERAL.match(text, at)
                if literal is None:
                    return
                at = literal.end()
                group = "text" if literal["text"] is not None else "other"
                yield column, literal[group], literal.start(group)
                if literal["end"] == ")":
                    break
