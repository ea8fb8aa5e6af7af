"""A channel as a picture (pure): the messages that were really sent, drawn so that they can be read in a README.

Own drawing, no fonts or images from elsewhere, dark on white. Text widths are estimated from the proportions of a
common sans-serif face, a little on the wide side, so that nothing runs out of the picture whatever face is there.
"""

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from msgspec import Struct
from msgspec.structs import replace

from bot.slack.text import clean

WIDTH = 860
_LEFT, _RIGHT = 72.0, 24.0
_SIZE, _LEADING = 14.0, 22.0
_INK, _SOFT, _LINK, _RULE, _GROUND = "#1d1c1d", "#616061", "#1264a3", "#dddddd", "#ffffff"
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[] "), frozenset("mwMW@%—…")
_LAMPS = {"🟢": "#2b9a4b", "🔴": "#d72b3f", "🟠": "#e8912d", "⚪": "#b9bbbe"}
_LAMP = re.compile(f"({'|'.join(_LAMPS)})")
_FACE = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
_MONO = "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', monospace"


class _Piece(Struct, frozen=True):
    text: str
    bold: bool = False
    mono: bool = False
    colour: str = _INK
    size: float = _SIZE


class _Canvas:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = 0.0

    def rect(
        self, box: tuple[float, float, float, float], fill: str, *, stroke: str = "none", radius: float = 6
    ) -> None:
        """`box` is x, y, width, height."""
        x, y, width, height = box
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}" fill="{fill}" '
            f'stroke="{stroke}"/>'
        )

    def write(self, x: float, y: float, *pieces: _Piece) -> None:
        """One line of text; the face's own metrics space the words, so only its breaks depend on the estimate."""
        spans = "".join(_span(part) for piece in pieces for part in _lamps(piece))
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" xml:space="preserve">{spans}</text>')

    def flow(self, pieces: Sequence[_Piece], left: float, right: float) -> None:
        """Words one after the other, wrapped between `left` and `right`."""
        line: list[_Piece] = []
        x = left
        for piece in pieces:
            for number, part in enumerate(piece.text.split("\n")):
                if number:
                    self._line(left, line)
                    line, x = [], left
                for word in _words(part):
                    width = _width(word, piece)
                    if x + width > right and line:
                        self._line(left, line)
                        line, x = [], left
                    if word.strip() or line:
                        line.append(_Piece(word, piece.bold, piece.mono, piece.colour, piece.size))
                        x += width
        self._line(left, line)

    def _line(self, left: float, line: list[_Piece]) -> None:
        if line:
            self.write(left, self.y, *_joined(line))
        self.y += _LEADING


def render_svg(messages: Sequence[dict[str, Any]], *, channel: str = "incidents", name: str = "Receipts") -> str:
    """An SVG of these messages, in order; replies are indented under a rule. Same messages, same bytes."""
    canvas = _Canvas()
    canvas.y = 34
    canvas.write(24, canvas.y, _Piece(f"# {clean(channel)}", bold=True, size=17))
    canvas.rect((0, canvas.y + 16, WIDTH, 1), _RULE, radius=0)
    canvas.y += 48
    for message in messages:
        reply = message.get("thread_ts", message.get("ts")) != message.get("ts")
        _message(canvas, message, name, _LEFT + (32 if reply else 0), reply)
    height = canvas.y + 4
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" font-family="{_FACE}" role="img" aria-label="Slack channel {escape(clean(channel))}">'
    )
    return "\n".join([head, f'<rect width="100%" height="100%" fill="{_GROUND}"/>', *canvas.parts, "</svg>", ""])


def _message(canvas: _Canvas, message: dict[str, Any], name: str, left: float, reply: bool) -> None:
    right = WIDTH - _RIGHT
    top = canvas.y - 14
    canvas.rect((left - 46, top, 34, 34), "#1f6f54", radius=7)
    canvas.write(left - 35, top + 23, _Piece("R", bold=True, colour="#ffffff", size=17))
    canvas.write(left, canvas.y, _Piece(name, bold=True, size=15), _Piece("  APP", colour=_SOFT, size=10))
    canvas.y += _LEADING + 2
    plain = [{"type": "text", "text": message["text"]}] if message.get("text") else []
    for block in message.get("blocks") or plain:
        _block(canvas, block, left, right)
    for file in message.get("files") or []:
        canvas.rect((left, canvas.y - 12, min(460.0, right - left), 34), "#f8f8f8", stroke=_RULE)
        canvas.write(left + 12, canvas.y + 10, _Piece(f"{clean(str(file.get('name')))}  {file.get('size')} bytes"))
        canvas.y += 44
    if reply:
        canvas.rect((left - 62, top, 2, canvas.y - top), _RULE, radius=0)
    canvas.y += 18


def _block(canvas: _Canvas, block: dict[str, Any], left: float, right: float) -> None:
    kind = block.get("type")
    if kind == "header":
        canvas.y += 4
        canvas.flow([_Piece(clean(block["text"]["text"]), bold=True, size=17)], left, right)
    elif kind == "rich_text":
        for element in block.get("elements", []):
            _rich(canvas, element, left, right)
    elif kind == "context":
        pieces = [_Piece(clean(e.get("text", "")) + "  ", colour=_SOFT, size=12) for e in block.get("elements", [])]
        canvas.flow(pieces, left, right)
    elif kind == "actions":
        _buttons(canvas, block.get("elements", []), left, right)
    elif kind == "divider":
        canvas.rect((left, canvas.y - 8, right - left, 1), _RULE, radius=0)
        canvas.y += 10
    else:
        text = block.get("text", "")
        canvas.flow(
            [_Piece(clean(text if isinstance(text, str) else text.get("text", ""), keep_lines=True))], left, right
        )


def _rich(canvas: _Canvas, element: dict[str, Any], left: float, right: float) -> None:
    if element.get("type") == "rich_text_preformatted":
        lines = "".join(e.get("text", "") for e in element["elements"]).split("\n")
        most = int((right - left - 20) / (12 * 0.62))
        shown = [line[i : i + most] for line in lines for i in range(0, max(len(line), 1), most)]
        canvas.rect((left, canvas.y - 12, right - left, 17 * len(shown) + 12), "#f8f8f8", stroke=_RULE, radius=4)
        for line in shown:
            canvas.write(left + 10, canvas.y + 4, _Piece(line.expandtabs(4), mono=True, size=12))
            canvas.y += 17
        canvas.y += 14
        return
    pieces = []
    for part in element.get("elements", []):
        style = part.get("style", {})
        colour = _LINK if part.get("type") == "link" else "#c01343" if style.get("code") else _INK
        text = part.get("text") or part.get("url") or ""
        size = 13.0 if style.get("code") else _SIZE
        pieces.append(_Piece(text, bool(style.get("bold")), bool(style.get("code")), colour, size))
    canvas.flow(pieces, left, right)


def _buttons(canvas: _Canvas, elements: list[dict[str, Any]], left: float, right: float) -> None:
    x = left
    canvas.y += 2
    for element in elements:
        primary = element.get("style") == "primary"
        label = "⋯" if element.get("type") == "overflow" else clean(element.get("text", {}).get("text", ""))
        piece = _Piece(label, bold=True, colour="#ffffff" if primary else _INK, size=13)
        width = _width(label, piece) + 24
        if x + width > right:
            x, canvas.y = left, canvas.y + 38
        canvas.rect((x, canvas.y - 14, width, 30), "#007a5a" if primary else _GROUND, stroke=_RULE)
        canvas.write(x + 12, canvas.y + 6, piece)
        x += width + 8
    canvas.y += 34


def _span(piece: _Piece) -> str:
    weight = ' font-weight="700"' if piece.bold else ""
    face = f' font-family="{_MONO}"' if piece.mono else ""
    return f'<tspan font-size="{piece.size:g}" fill="{piece.colour}"{weight}{face}>{escape(piece.text)}</tspan>'


def _lamps(piece: _Piece) -> list[_Piece]:
    """Coloured circles as plain circles in colour: not every face has the emoji."""
    found: list[_Piece] = []
    for part in _LAMP.split(piece.text):
        if part in _LAMPS:
            found.append(_Piece("●", colour=_LAMPS[part], size=piece.size))
        elif part:
            found.append(_Piece(part, piece.bold, piece.mono, piece.colour, piece.size))
    return found


def _joined(line: list[_Piece]) -> list[_Piece]:
    """Neighbours of the same look as one."""
    joined: list[_Piece] = []
    for piece in line:
        last = joined[-1] if joined else None
        if last and replace(last, text=piece.text) == piece:
            joined[-1] = replace(last, text=last.text + piece.text)
        else:
            joined.append(piece)
    return joined


def _words(text: str) -> list[str]:
    """Words, each with the spaces that follow it."""
    found: list[str] = []
    for part in text.split(" "):
        if found:
            found[-1] += " "
        found.append(part)
    return [word for word in found if word]


def _width(text: str, piece: _Piece) -> float:
    if piece.mono:
        return len(text) * piece.size * 0.62
    units = sum(0.36 if c in _NARROW else 0.95 if c in _WIDE else 1.3 if ord(c) > 0x2FFF else 0.61 for c in text)
    return units * piece.size * (1.12 if piece.bold else 1.0)
