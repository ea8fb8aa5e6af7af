"""SQL migrations: what each statement does to tables, columns, indexes and constraints.

The definitions of PostgreSQL, MySQL and SQLite are read word by word; a statement that defines nothing is passed over.
Every element is one step ("dropped column orders.total"), judged by whom it breaks (what must be expanded before and
contracted after the code, as in Sadalage and Fowler's parallel change) and by the lock that it takes (PostgreSQL's
notes on ALTER TABLE and CREATE INDEX).
"""

import re
from pathlib import PurePosixPath

from retrieval.contracts.base import MAX_ELEMENTS, Difference, Format, Judged
from retrieval.contracts.sql_statements import statement
from retrieval.contracts.tokens import Lexicon, Reader, Token
from retrieval.model import ContractElement

_LEXICON = Lexicon(
    space=r"\s+",
    comment=r"--[^\n]*|\#[^\n]*",
    remark=r"/\*.*?(?:\*/|\Z)",
    dollar=r"\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)",
    quoted=r'"(?:[^"]|"")*"|`[^`]*`|\[[A-Za-z_][\w ]{0,128}\]',
    string=r"[eEnNbBxX]?'(?:[^'\\]|''|\\.)*(?:'|\Z)",
    word=r"[^\W\d][\w$]*",
    number=r"\d[\w.]*",
    sign=r"::|.",
)
# The markers of goose, dbmate, sql-migrate and of node's db-migrate that begin what undoes a migration.
_DOWN = re.compile(r"--\s*(?:\+goose\s+down|migrate:down|\+migrate\s+down|@undo|\+micrate\s+down|rollback\b)", re.I)
_UP = re.compile(r"--\s*(?:\+goose\s+up|migrate:up|\+migrate\s+up|\+micrate\s+up)", re.I)
_UNDOES = re.compile(r"(?:^|[._-])(?:down|undo|rollback|revert)(?:[._-]|$)|^U\d", re.I)
SOURCE = "expand and contract"

_BREAKS = {
    "dropped table": ("both", "code that uses the table fails"),
    "renamed table": ("both", "code that uses the old name fails"),
    "dropped column": ("both", "code that names the column fails"),
    "renamed column": ("both", "code that uses the old name fails"),
    "added required column": ("writers", "rows written without it are refused"),
    "required column": ("writers", "null is refused"),
    "retyped column": ("both", "values may no longer fit"),
    "optional column": ("readers", "may be null now"),
    "added constraint": ("writers", "rows that break it are refused"),
    "dropped default": ("writers", "rows written without it are refused or null"),
    "dropped index": ("", "queries that used it read the whole table"),
    "dropped type": ("both", "code that uses the type fails"),
    "renamed value": ("both", "code that uses the old value fails"),
    "added value": ("readers", "a new value reaches readers that do not know it"),
}


def _claims(path: PurePosixPath, head: str) -> bool:
    return path.suffix.lower() in (".sql", ".ddl") and not _UNDOES.search(path.stem)


def _parse(text: str) -> tuple[ContractElement, ...]:
    found: list[ContractElement] = []
    current: list[Token] = []
    undoing, quiet = False, bool(_UP.search(text))
    for token in _LEXICON.tokens(text):
        if token.kind == "comment":
            if _DOWN.match(token.text):
                undoing = True
            elif quiet and _UP.match(token.text):
                undoing = False
        elif token.text == ";" and token.kind == "sign":
            _done(found, current, undoing)
            current = []
        else:
            current.append(token)
    _done(found, current, undoing)
    return tuple(_numbered(found)[:MAX_ELEMENTS])


def _done(found: list[ContractElement], tokens: list[Token], undoing: bool) -> None:
    if tokens and not undoing and len(found) < MAX_ELEMENTS:
        found.extend(statement(Reader(tokens)))


def _numbered(found: list[ContractElement]) -> list[ContractElement]:
    """Steps that are alike are one; the first line counts."""
    return list({(e.what, e.name, str(sorted(e.facts.items()))): e for e in reversed(found)}.values())[::-1]


def _judge(found: Difference) -> Judged:
    breaks, rule = _BREAKS.get(found.element.what, ("", "compatible"))
    return Judged(breaks, f"{SOURCE}: {rule}")


FORMAT = Format("sql", _claims, _parse, _judge, steps=True)
