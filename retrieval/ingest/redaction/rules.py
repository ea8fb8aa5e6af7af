"""One shape that is looked for in text, whatever field it stands in (pure)."""

import re
from collections.abc import Callable

from msgspec import Struct

Check = Callable[[re.Match[str]], bool]


def _always(match: re.Match[str]) -> bool:
    return True


class Rule(Struct, frozen=True, kw_only=True):
    """`needs` are lower-case literals of which a text holds one, `gate` a pattern that is found in its shape (every
    figure a 0), or `pattern` isn't tried. Group `value` is what is replaced, the whole match where there is none."""

    kind: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()
    gate: re.Pattern[str] | None = None
    check: Check = _always

    def group(self) -> str | int:
        return "value" if "value" in self.pattern.groupindex else 0


def literal(kind: str, pattern: str, needs: tuple[str, ...], check: Check = _always) -> Rule:
    """A rule for texts that hold one of `needs`."""
    return Rule(kind=kind, pattern=re.compile(pattern), needs=needs, check=check)


def shaped(kind: str, pattern: str, gate: str, check: Check = _always) -> Rule:
    """A rule for texts in whose shape `gate` is found."""
    return Rule(kind=kind, pattern=re.compile(pattern), gate=re.compile(gate), check=check)
