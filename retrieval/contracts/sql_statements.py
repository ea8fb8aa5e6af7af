"""One statement of SQL to the steps that it takes. Pure.

What is not understood of a statement is passed over: dialects add words that change nothing about what is kept here.
"""

from collections.abc import Callable, Iterator

from retrieval.contracts.base import Unreadable, named
from retrieval.contracts.tokens import Reader, Token
from retrieval.model import ContractElement

_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "EXCLUDE", "KEY", "INDEX", "FULLTEXT", "SPATIAL")
_ENDS_TYPE = frozenset(
    {
        *("NOT", "NULL", "DEFAULT", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "COLLATE", "CONSTRAINT", "GENERATED"),
        *("AUTO_INCREMENT", "AUTOINCREMENT", "COMMENT", "AFTER", "FIRST", "USING", "ON", "AS", "IDENTITY"),
        *("CHARACTER", "CHARSET", "VIRTUAL", "STORED"),
    }
)
_VOLATILE = frozenset({"RANDOM", "UUID_GENERATE_V4", "GEN_RANDOM_UUID", "CLOCK_TIMESTAMP", "NEXTVAL", "UUID"})
REWRITE = "rewrites the table under an exclusive lock"
SCAN = "reads the whole table under an exclusive lock"
WRITES = "blocks writes while it is built"

Steps = Iterator[ContractElement]


def statement(tokens: Reader) -> list[ContractElement]:
    """The steps of one statement without its semicolon; nothing where it defines nothing, or breaks off."""
    words = _Words(tokens)
    found: list[ContractElement] = []
    begin = _STATEMENTS.get(words.peek())
    if begin is None:
        return found
    try:
        words.next()
        found.extend(begin(words))
    except Unreadable:
        return found
    return found


class _Words:
    """Tokens read without regard to case."""

    def __init__(self, tokens: Reader) -> None:
        self.tokens = tokens

    @property
    def line(self) -> int:
        return self.tokens.line

    @property
    def done(self) -> bool:
        return self.tokens.done

    def peek(self, ahead: int = 0) -> str:
        return self.tokens.peek(ahead).upper()

    def next(self) -> Token:
        return self.tokens.take()

    def accept(self, *words: str) -> bool:
        """Whether these words come next, in this order; they are taken then."""
        if all(self.peek(n) == word for n, word in enumerate(words)):
            for _ in words:
                self.tokens.take()
            return True
        return False

    def any(self, *words: str) -> str:
        """The one of these words that comes next, taken; "" otherwise."""
        return self.tokens.take().text.upper() if not self.done and self.peek() in words else ""

    def existing(self) -> None:
        self.accept("IF", "NOT", "EXISTS") or self.accept("IF", "EXISTS")

    def name(self) -> str:
        """The last part of a dotted name: schemas differ between environments. Raises: Unreadable."""
        found = self.tokens.word()
        while self.peek() == "." and not self.done:
            self.next()
            found = self.tokens.word()
        return named(found)

    def group(self) -> list[Token]:
        """The tokens of a group in parentheses, without them."""
        if self.peek() != "(":
            return []
        self.next()
        depth, found = 1, list[Token]()
        while True:
            token = self.next()
            depth += (token.text == "(") - (token.text == ")") if token.kind == "sign" else 0
            if not depth:
                return found
            found.append(token)


def _parts(tokens: list[Token]) -> Iterator[list[Token]]:
    """Tokens between the commas that lie in no parentheses."""
    depth, part = 0, list[Token]()
    for token in tokens:
        if token.kind == "sign":
            depth += (token.text == "(") - (token.text == ")")
            if token.text == "," and depth == 0:
                yield part
                part = []
                continue
        part.append(token)
    if part:
        yield part


def _step(what: str, table: str, member: str, line: int, **facts: str) -> ContractElement:
    name = f"{table}.{member}" if member and member != table else table
    kept = {k: named(v) for k, v in sorted(facts.items()) if v}
    return ContractElement(what=what, name=named(name), owner=table, member=member, line=line, facts=kept)


def _create(words: _Words) -> Steps:
    line = words.line
    words.accept("OR", "REPLACE")
    words.any("GLOBAL", "LOCAL")
    unique = words.any("UNIQUE", "FULLTEXT", "SPATIAL", "TEMPORARY", "TEMP", "UNLOGGED", "MATERIALIZED")
    if words.accept("INDEX"):
        yield from _create_index(words, unique == "UNIQUE", line)
    elif words.accept("TABLE"):
        words.existing()
        table = words.name()
        yield _step("created table", table, table, line)
        for part in _parts(words.group()):
            yield from _of_definition(table, part)
    elif words.accept("TYPE"):
        name = words.name()
        yield _step("created type", name, name, line)


def _create_index(words: _Words, unique: bool, line: int) -> Steps:
    gently = words.accept("CONCURRENTLY")
    words.existing()
    name = words.name() if words.peek() != "ON" else ""
    words.accept("ON")
    words.accept("ONLY")
    table = words.name()
    if words.accept("USING"):
        words.name()
    columns = ", ".join(p[0].text for p in _parts(words.group()) if p)
    risk = "" if gently else WRITES
    yield _step("created index", table, name or columns, line, columns=columns, risk=risk)
    if unique:
        yield _step("added constraint", table, name or columns, line, kind="unique", columns=columns)


def _of_definition(table: str, part: list[Token]) -> Steps:
    """A column or a constraint of a new table: new rows only, so that neither locks nor breaks anything."""
    words = _Words(Reader(part))
    if words.peek() in _CONSTRAINTS and part[0].kind == "word":
        return
    line, name = words.line, words.name()
    kind, facts = _column(words)
    yield _step("created column", table, name, line, type=kind, null=facts["null"])


def _column(words: _Words) -> tuple[str, dict[str, str]]:
    """Type and properties of a column's definition, up to its end or the comma behind it."""
    kind: list[str] = []
    while not words.done and words.peek() not in _ENDS_TYPE and words.peek() != ",":
        if words.peek() == "(":
            kind.append("(" + ",".join(t.text for t in words.group() if t.text != ",") + ")")
        else:
            kind.append(words.next().text.lower())
    facts = {"null": "yes", "default": "", "volatile": "", "references": "", "unique": ""}
    while not words.done and words.peek() != ",":
        if words.accept("NOT", "NULL"):
            facts["null"] = "no"
        elif words.accept("DEFAULT"):
            facts["default"] = "yes" if words.peek() != "NULL" else ""
            facts["volatile"] = "yes" if words.peek() in _VOLATILE else ""
        elif words.accept("REFERENCES"):
            facts["references"] = words.name()
        elif words.any("GENERATED", "AUTO_INCREMENT", "AUTOINCREMENT", "IDENTITY"):
            facts["default"] = "yes"
        elif words.accept("UNIQUE"):
            facts["unique"] = "yes"
        elif words.peek() == "(":
            words.group()
        else:
            words.next()
    told = " ".join(kind).replace(" (", "(")
    if told.split("(")[0] in ("serial", "bigserial", "smallserial"):
        facts["default"] = "yes"
    return told, facts


def _drop(words: _Words) -> Steps:
    line = words.line
    words.accept("MATERIALIZED")
    what = words.any("TABLE", "VIEW", "INDEX", "TYPE")
    if not what:
        return
    words.accept("CONCURRENTLY")
    words.existing()
    while True:
        name = words.name()
        if what == "INDEX":
            table = words.name() if words.accept("ON") else ""
            yield _step("dropped index", table or name, name, line)
        else:
            yield _step("dropped type" if what == "TYPE" else "dropped table", name, name, line)
        if not words.accept(","):
            return


def _alter(words: _Words) -> Steps:
    line = words.line
    if words.accept("TYPE"):
        yield from _alter_type(words, line)
        return
    if not words.accept("TABLE"):
        return
    words.existing()
    words.accept("ONLY")
    table = words.name()
    while not words.done:
        yield from _action(words, table)
        while not words.done and words.peek() != ",":
            if words.peek() == "(":
                words.group()
            else:
                words.next()
        words.accept(",")


def _alter_type(words: _Words, line: int) -> Steps:
    name = words.name()
    if words.accept("ADD", "VALUE"):
        words.existing()
        yield _step("added value", name, words.next().text.strip("'"), line)
    elif words.accept("RENAME", "VALUE"):
        yield _step("renamed value", name, words.next().text.strip("'"), line)


def _action(words: _Words, table: str) -> Steps:
    line, verb = words.line, words.any("ADD", "DROP", "ALTER", "MODIFY", "CHANGE", "RENAME")
    if verb == "ADD":
        yield from _add(words, table, line)
    elif verb == "DROP":
        yield from _drop_of(words, table, line)
    elif verb == "ALTER":
        yield from _alter_column(words, table, line)
    elif verb in ("MODIFY", "CHANGE"):
        words.accept("COLUMN")
        old = words.name()
        new = words.name() if verb == "CHANGE" else old
        kind, facts = _column(words)
        if new != old:
            yield _step("renamed column", table, old, line, after=new)
        yield _step("retyped column", table, new, line, after=kind, risk=REWRITE)
        if facts["null"] == "no":
            yield _step("required column", table, new, line, risk=SCAN)
    elif verb == "RENAME":
        yield from _rename(words, table, line)


def _add(words: _Words, table: str, line: int) -> Steps:
    if words.peek() in _CONSTRAINTS and words.tokens.kind() == "word":
        yield from _add_constraint(words, table, line)
        return
    words.accept("COLUMN")
    words.existing()
    if words.peek() == "(":  # several at once, as Oracle and MySQL write it
        for part in _parts(words.group()):
            yield from _added(_Words(Reader(part)), table, line)
        return
    yield from _added(words, table, line)


def _added(words: _Words, table: str, line: int) -> Steps:
    name = words.name()
    kind, facts = _column(words)
    what = "added required column" if facts["null"] == "no" and not facts["default"] else "added column"
    risk = REWRITE if facts["volatile"] else ""
    yield _step(what, table, name, line, type=kind, null=facts["null"], default=facts["default"], risk=risk)
    if facts["unique"] or facts["references"]:
        kinds = "unique" if facts["unique"] else f"references {facts['references']}"
        yield _step("added constraint", table, name, line, kind=kinds, columns=name)


def _add_constraint(words: _Words, table: str, line: int) -> Steps:
    name = words.name() if words.accept("CONSTRAINT") else ""
    kind = words.any("PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "EXCLUDE", "KEY", "INDEX", "FULLTEXT", "SPATIAL")
    words.any("KEY", "INDEX")
    if kind in ("KEY", "INDEX", "FULLTEXT", "SPATIAL") or kind == "UNIQUE":
        name = name or (words.name() if words.peek() != "(" else "")
    group = words.group()
    columns = "" if kind == "CHECK" else ", ".join(p[0].text for p in _parts(group) if p)
    if kind in ("KEY", "INDEX", "FULLTEXT", "SPATIAL"):
        yield _step("created index", table, name or columns, line, columns=columns, risk=WRITES)
        return
    gently = False
    while not words.done and words.peek() != ",":
        gently = gently or words.accept("NOT", "VALID")
        if not words.done and words.peek() != ",":
            words.next() if words.peek() != "(" else words.group()
    said = {"FOREIGN": "references", "PRIMARY": "primary key"}.get(kind, kind.lower())
    risk = "" if gently else SCAN
    yield _step("added constraint", table, name or columns or said, line, kind=said, columns=columns, risk=risk)


def _drop_of(words: _Words, table: str, line: int) -> Steps:
    if words.any("CONSTRAINT") or words.accept("FOREIGN", "KEY") or words.accept("PRIMARY", "KEY"):
        words.existing()
        name = words.name() if not words.done and words.peek() != "," else "primary key"
        yield _step("dropped constraint", table, name, line)
    elif words.any("INDEX", "KEY"):
        words.existing()
        yield _step("dropped index", table, words.name(), line)
    else:
        words.accept("COLUMN")
        words.existing()
        if words.peek() == "(":
            for part in _parts(words.group()):
                yield _step("dropped column", table, _Words(Reader(part)).name(), line)
        else:
            yield _step("dropped column", table, words.name(), line)


def _alter_column(words: _Words, table: str, line: int) -> Steps:
    words.accept("COLUMN")
    column = words.name()
    if words.accept("SET", "DATA", "TYPE") or words.accept("TYPE"):
        yield _step("retyped column", table, column, line, after=_column(words)[0], risk=REWRITE)
    elif words.accept("SET", "NOT", "NULL"):
        yield _step("required column", table, column, line, risk=SCAN)
    elif words.accept("DROP", "NOT", "NULL"):
        yield _step("optional column", table, column, line)
    elif words.accept("DROP", "DEFAULT"):
        yield _step("dropped default", table, column, line)


def _rename(words: _Words, table: str, line: int) -> Steps:
    if words.accept("TO") or words.accept("AS"):
        yield _step("renamed table", table, table, line, after=words.name())
    elif not words.accept("CONSTRAINT") and not words.accept("INDEX"):
        words.accept("COLUMN")
        old = words.name()
        if words.accept("TO"):
            yield _step("renamed column", table, old, line, after=words.name())


def _rename_table(words: _Words) -> Steps:
    line = words.line
    if words.accept("TABLE"):
        old = words.name()
        if words.accept("TO"):
            yield _step("renamed table", old, old, line, after=words.name())


_STATEMENTS: dict[str, Callable[[_Words], Steps]] = {
    "CREATE": _create,
    "DROP": _drop,
    "ALTER": _alter,
    "RENAME": _rename_table,
}
