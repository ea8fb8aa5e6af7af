"""The same card, in the same words, for a terminal (pure)."""

import textwrap

from bot.model import IncidentView
from bot.slack.card import card

_LABEL_WIDTH = 13


def render_text(view: IncidentView, *, width: int = 100) -> str:
    """Lines of at most `width` columns where words allow it; no colours, no control characters."""
    shown = card(view)
    told = [shown.title, ""]
    for line in shown.lines:
        if line.label:
            label = line.label + "  " if len(line.label) >= _LABEL_WIDTH else line.label.ljust(_LABEL_WIDTH)
            told += _wrapped(label + line.text, width, " " * _LABEL_WIDTH)
        else:
            told += [*_wrapped(line.text, width, "  "), ""]
    if shown.raw:
        told += ["", *("  | " + raw for raw in shown.raw.splitlines())]
    return "\n".join([*told, "", shown.foot])


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
