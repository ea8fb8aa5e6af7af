"""From templates to lines: the words are in `templates/slack`, what they are filled with is data.

Every value that a template prints is made harmless on its way (`finalize`), so no template can forget it. What shall be
set as code, bold or link is marked by the functions `code`, `bold`, `link` and `cite`; the marks are private-use
characters that `clean` takes out of every foreign text, so that nothing foreign can set them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct

from bot.slack.text import clean, cut

_OPEN, _MIDDLE, _CLOSE = "\ue000", "\ue001", "\ue002"
_MARKED = re.compile(f"{_OPEN}([cbl])([^{_MIDDLE}]*){_MIDDLE}([^{_CLOSE}]*){_CLOSE}")
_LABEL = re.compile(r"([A-Z][A-Za-z ]{1,20}) \| ")


class Run(Struct, frozen=True):
    """A piece of one line. `link` is "" or an address that is our own or was checked."""

    text: str
    code: bool = False
    bold: bool = False
    link: str = ""


class Line(Struct, frozen=True):
    label: str
    runs: tuple[Run, ...]

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)


class _Marked(str):
    """Text with marks that came from one of the functions below, not from a value."""


def code(text: object) -> str:
    return _marked("c", "", clean(str(text)))


def bold(text: object) -> str:
    return _marked("b", "", clean(str(text)))


def link(text: object, address: str) -> str:
    """A link; plain text when there is no address."""
    return _marked("l", clean(address), clean(str(text))) if address else clean(str(text))


def citing(anchors: Callable[[str], str]) -> Callable[[Sequence[str]], str]:
    """The template function `cite`: evidence ids, each linked where `anchors` knows an address."""

    def cite(ids: Sequence[str]) -> str:
        return _Marked(" ".join(link(i, anchors(i)) if anchors(i) else _marked("b", "", clean(i)) for i in ids))

    return cite


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The strict environment of everything that is said in Slack and on the terminal."""
    made = Environment(
        loader=PackageLoader("templates", "slack"),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["cut"] = lambda text, most: cut(clean(str(text)), most)
    made.globals.update(code=code, bold=bold, link=link)
    return made


def lines(template: str, values: Mapping[str, Any], *, anchors: Callable[[str], str] = lambda _: "") -> list[Line]:
    """The lines of `templates/slack/<template>`; empty ones are left out, white space is folded."""
    text = environment().get_template(template).render(**values, cite=citing(anchors))
    return [_line(whole) for raw in text.splitlines() if (whole := " ".join(raw.split()))]


def sentence(template: str, **values: Any) -> str:
    """A whole template as plain text, its lines kept."""
    return "\n".join(f"{line.label} | {line.text}" if line.label else line.text for line in lines(template, values))


def _finalize(value: Any) -> str:
    return value if isinstance(value, _Marked) else clean(str(value))


def _marked(kind: str, address: str, text: str) -> str:
    return _Marked(f"{_OPEN}{kind}{address}{_MIDDLE}{text}{_CLOSE}") if text else _Marked("")


def _line(text: str) -> Line:
    label = _LABEL.match(text)
    rest = text[label.end() :] if label else text
    runs: list[Run] = []
    at = 0
    for mark in _MARKED.finditer(rest):
        runs.append(Run(rest[at : mark.start()]))
        kind, address, inner = mark.groups()
        runs.append(Run(inner, code=kind == "c", bold=kind == "b", link=address))
        at = mark.end()
    runs.append(Run(rest[at:]))
    return Line(label.group(1) if label else "", tuple(run for run in runs if run.text))
