"""Words, strings and signs of a language with `{}`, comments and quotes: one linear pass, lines counted. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from retrieval.contracts.base import Unreadable

MAX_TOKENS = 400_000


class Token(NamedTuple):
    """`kind` is word|quoted|string|number|sign|comment; a quoted identifier's text is without its quotes."""

    kind: str
    text: str
    line: int


class Lexicon:
    """The lexical rules of one language, as alternatives tried in order at each position.

    Every alternative ends at a character that its repeated part can't contain, so that no input is looked at twice.
    """

    def __init__(self, **alternatives: str) -> None:
        self._pattern = re.compile("|".join(f"(?P<{kind}>{p})" for kind, p in alternatives.items()), re.DOTALL)

    def tokens(self, text: str) -> Iterator[Token]:
        """Raises: Unreadable (a character that begins nothing, too many tokens)."""
        line, at, count = 1, 0, 0
        while at < len(text):
            match = self._pattern.match(text, at)
            if match is None:
                raise Unreadable(f"unexpected character {text[at]!r}", line)
            kind, found = match.lastgroup or "", match[0]
            if kind not in ("space", "remark"):
                count += 1
                if count > MAX_TOKENS:
                    raise Unreadable(f"has more than {MAX_TOKENS} words", line)
                yield Token(kind, _bare(kind, found), line)
            line += found.count("\n")
            at = match.end()


def _bare(kind: str, found: str) -> str:
    return found[1:-1] if kind == "quoted" else found


class Reader:
    """Tokens with a place: peek, take, expect."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def line(self) -> int:
        if not self._tokens:
            return 0
        return self._tokens[min(self._at, len(self._tokens) - 1)].line

    @property
    def done(self) -> bool:
        return self._at >= len(self._tokens)

    def peek(self, ahead: int = 0) -> str:
        """The text of a coming token, "" behind the end."""
        at = self._at + ahead
        return self._tokens[at].text if at < len(self._tokens) else ""

    def kind(self) -> str:
        return self._tokens[self._at].kind if not self.done else ""

    def take(self) -> Token:
        """Raises: Unreadable (behind the end)."""
        if self.done:
            raise Unreadable("ends in the middle of a definition", self.line)
        self._at += 1
        return self._tokens[self._at - 1]

    def accept(self, *texts: str) -> bool:
        """Whether the next token is one of these; it is taken then."""
        if not self.done and self.peek() in texts:
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Raises: Unreadable."""
        line, found = self.line, self.peek()
        if not self.accept(text):
            raise Unreadable(f"expected {text!r}, found {found[:40]!r}", line)

    def word(self) -> str:
        """Raises: Unreadable (no name comes)."""
        if self.kind() not in ("word", "quoted"):
            raise Unreadable(f"expected a name, found {self.peek()[:40]!r}", self.line)
        return self.take().text

    def skip_group(self, opening: str, closing: str) -> None:
        """Pass over a balanced group that begins here, if one does. Raises: Unreadable (it does not end)."""
        if not self.accept(opening):
            return
        depth = 1
        while depth:
            found = self.take().text
            depth += (found == opening) - (found == closing)

    def skip_past(self, *ends: str) -> None:
        """Pass over everything up to one of these signs outside of `{}`, and over it."""
        while not self.done:
            if self.peek() == "{":
                self.skip_group("{", "}")
            elif self.take().text in ends:
                return

    def skip_past_group(self) -> None:
        """Pass over everything up to the next `{}` group, and over it."""
        while not self.done and self.peek() != "{":
            self.take()
        self.skip_group("{", "}")
