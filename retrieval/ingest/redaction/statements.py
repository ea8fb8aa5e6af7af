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


_AS = re.compile(r"(?i)'(?P<value>(?:[^'\\]|''){1,400})'(?:::\w+)?\s+as\s+[\"`]?(?P<name>\w{1,80})")
_COPY = re.compile(r"(?i)\bcopy\s+[\w.\"]{1,120}\s{0,4}\((?P<columns>[^()]{1,2000})\)\s+from\s+stdin[^\n]{0,200}\n")


def _named_after(text: str) -> Iterator[tuple[str, str, int]]:
    """`SELECT '…' AS name`."""
    if " as " in text or " AS " in text:
        for found in _AS.finditer(text):
            yield found["name"], found["value"], found.start("value")


def _copied(text: str) -> Iterator[tuple[str, str, int]]:
    """Rows of `COPY people (name, mail) FROM stdin`, which end at `\\.`."""
    for copy in _COPY.finditer(text):
        columns = [c.strip('" ') for c in copy["columns"].split(",")]
        at = copy.end()
        for row in text[at:].split("\n")[:_ROWS]:
            if row.startswith("\\."):
                break
            start = at
            for column, value in zip(columns, row.split("\t"), strict=False):
                yield column, value, start
                start += len(value) + 1
            at += len(row) + 1


def literals(text: str) -> Iterator[tuple[str, str, int]]:
    """(column, literal without its quotes, where it starts), row by row."""
    yield from _named_after(text)
    yield from _copied(text)
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
