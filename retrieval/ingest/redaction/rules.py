"""One shape that is looked for in text, whatever field it stands in (pure)."""

import re
from collections.abc import Callable

from msgspec import Struct

Check = Callable[[re.Match[str]], bool]


def _always(match: re.Match[str]) -> bool:
    return True


class Rule(Struct, frozen=True, kw_only=True):
    """`pattern` isn't tried on a text that holds none of `needs` (lower-case literals). Group `value` is what is
    replaced, the whole match where there is none."""

    kind: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()
    check: Check = _always

    def group(self) -> str | int:
        return "value" if "value" in self.pattern.groupindex else 0


class Gated(Rule, frozen=True, kw_only=True):
    """A rule for texts whose shape (every figure a 0) matches `gate`. Cheaper to find out: the shape without its blanks
    holds one of `signs`, and a capital where `capitals` says so."""

    gate: re.Pattern[str]
    signs: tuple[str, ...]
    capitals: bool = False


def literal(kind: str, pattern: str, needs: tuple[str, ...], check: Check = _always) -> Rule:
    """A rule for texts that hold one of `needs`."""
    return Rule(kind=kind, pattern=re.compile(pattern), needs=needs, check=check)


def shaped(kind: str, pattern: str, gate: str, signs: tuple[str, ...], check: Check = _always) -> Gated:
    """A rule for texts in whose shape `gate` is found. A gate that begins with capitals needs one."""
    capitals = gate.startswith("[A-Z]") or gate.endswith("[A-Z]")
    return Gated(
        kind=kind, pattern=re.compile(pattern), gate=re.compile(gate), signs=signs, check=check, capitals=capitals
    )
