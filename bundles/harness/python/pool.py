"""Everything that was recorded about a failure as named values, the most direct witness first (pure).

Rank: 0 the frame's own variables, 1 other frames', 2 attributes of the failing record, 3 values that its message or the
exception's message was made from, 4 the rest of the trace, 5 correlated records, 6 flags and configuration.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from bundles.harness.flat import embedded_json, flatten, parse_json
from bundles.harness.occurrences import Occurrence, Thrown, short_type
from bundles.harness.python.formats import Filled, Template, fill
from bundles.harness.python.intrinsics import name_of, told_by
from bundles.harness.python.source import Source
from bundles.harness.python.values import UNKNOWN, Value, decode, decode_repr, literal
from retrieval.model import Frame, LogRecord, Span

_PAIR = re.compile(r"\b([A-Za-z_][\w.-]{0,40})(?:=|: ?)(\"[^\"]{0,200}\"|'[^']{0,200}'|[^\s,;\"'()\[\]{}]{1,200})")
_WORD_NUMBER = re.compile(r"\b([a-z_]{2,30}) #?(-?\d+(?:\.\d+)?)\b")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.){1,300})'|\"((?:[^\"\\]|\\.){1,300})\"")
_LITERAL = re.compile(r"\{'.*\}", re.DOTALL)
_SEPARATORS = (";", "|", "\t", ",")
_OURS = (
    "code.", "exception.", "otel", "thread.", "telemetry.", "error.", "log.", "host.", "process.pid", "http.response",
    "net.", "network.", "client.", "server.", "user_agent", "k8s.", "service.", "trace", "span",
)  # fmt: skip
MAX_ENTRIES = 600


class Recorded(Struct, frozen=True):
    """One recorded value under one name ("" for data without one). `typed` values are as the process held them; the
    others are as a recorder wrote them and may be text of a number."""

    name: str
    value: Value
    rank: int
    source: str
    typed: bool = False


class Pool:
    """Named values of one failure."""

    def __init__(self, entries: list[Recorded]) -> None:
        unique: dict[tuple[str, str, int], Recorded] = {}
        for entry in entries[:MAX_ENTRIES]:
            unique.setdefault((entry.name, entry.value.code, entry.rank), entry)
        self.entries = sorted(unique.values(), key=lambda e: e.rank)

    def named(self, name: str) -> list[Recorded]:
        """Values recorded under a name, exact names first, then names that end with it (`image.width` for `width`)."""
        wanted = normal(name)
        exact = [e for e in self.entries if e.name and normal(e.name) == wanted]
        ending = [e for e in self.entries if e not in exact and e.name and normal(e.name).endswith("_" + wanted)]
        whole = [e for e in self.entries if e.name and "_" in wanted and wanted.endswith("_" + normal(e.name))]
        return [*exact, *ending, *(e for e in whole if len(normal(e.name)) > 3), *self._of_plural(wanted)]

    def _of_plural(self, wanted: str) -> list[Recorded]:
        """`codes="HAM1-1,HAM1-2"` for a parameter `code`: each of them."""
        out = []
        for entry in self.entries:
            plain = entry.value.plain
            if entry.name and normal(entry.name).rsplit("_", 1)[-1] in (f"{wanted}s", f"{wanted}es"):
                items = plain.split(",") if isinstance(plain, str) else plain if isinstance(plain, list) else []
                out += [Recorded(wanted, literal(item), entry.rank + 1, entry.source) for item in items[:3] if item]
        return out

    def documents(self) -> list[Recorded]:
        """Recorded objects and lists."""
        return [e for e in self.entries if isinstance(e.value.plain, dict | list) and e.value.plain]

    def texts(self) -> list[Recorded]:
        return [e for e in self.entries if isinstance(e.value.plain, str) and e.value.plain]


def normal(name: str) -> str:
    """Names compare as lower-case snake: `deviceId`, `device.id` and `device_id` are one."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", snake.lower()).strip("_")


class PoolMaker:
    """Reads an occurrence; holds what is the same for all of them."""

    def __init__(
        self, source: Source, logged: tuple[Template, ...], raised: tuple[Template, ...], settings: dict[str, Any]
    ) -> None:
        self._source, self._logged, self._raised, self._settings = source, logged, raised, settings

    def pool(self, occurrence: Occurrence, answers: Iterable[tuple[str, Any, str]] = ()) -> Pool:
        """`answers` are what a person gave: (name, value, citation); nothing is more direct."""
        entries = [Recorded(name, literal(value), 0, cited, True) for name, value, cited in answers]
        for thrown in occurrence.thrown:
            frames = thrown.info.trace.frames if thrown.info.trace else ()
            for frame in frames:
                if frame.in_app:
                    entries += self._locals(frame, str(thrown.source))
            entries += self._message(self._raised, thrown.info.message, 3, str(thrown.source))
            entries += self._told(thrown)
            entries += _quoted(thrown.info.message, str(thrown.source))
        own = {id(r) for r in occurrence.own}
        for record in occurrence.own:
            entries += self._record(record, 2)
        for log in (*occurrence.logs, *occurrence.correlated):
            if id(log) not in own and log.service in ("", occurrence.own[0].service):
                entries += self._record(log, 4 if log.trace_id and log.trace_id == occurrence.trace_id else 5)
        for span in occurrence.spans:
            if id(span) not in own:
                entries += self._record(span, 4 if span.service == occurrence.own[0].service else 5)
        entries += [Recorded(k, literal(v), 6, "settings") for k, v in self._settings.items()]
        return Pool(entries)

    def _locals(self, frame: Frame, source: str) -> Iterator[Recorded]:
        for name, recorded in frame.locals.items():
            value = decode(recorded, self._source)
            if value is None:
                continue
            yield Recorded(name, value, 1, source, True)
            if isinstance(value.plain, dict):
                for key, inner in value.plain.items():
                    if isinstance(key, str):
                        yield Recorded(key, literal(inner), 1, source, True)

    def _told(self, thrown: Thrown) -> Iterator[Recorded]:
        """What the exception's own message says about the values on the line that raised it."""
        frames = [f for f in thrown.info.trace.frames if f.in_app] if thrown.info.trace else []
        path = self._source.resolve_file(frames[-1].file) if frames else None
        function = self._source.function_at(path, frames[-1].function, frames[-1].line) if path else None
        if function is not None:
            kind = short_type(thrown.info.type)
            for name, value in told_by(function, frames[-1].line, kind, thrown.info.message, self._source):
                yield Recorded(name, value, 3, str(thrown.source), True)

    def _record(self, record: LogRecord | Span, rank: int) -> Iterator[Recorded]:
        source = str(record.source)
        yield from _attributes(self._whole(record), rank, source)
        for event in record.events if isinstance(record, Span) else ():
            yield from _attributes(event.attributes, rank, source)
        yield from _command_line(record.resource, rank, source)
        if isinstance(record, LogRecord):
            yield from self._message(self._logged, record.body, rank + 1, source)
            for match in _LITERAL.finditer(record.body[:20_000]):
                value = decode_repr(match[0], self._source)
                if value is not None and isinstance(value.plain, dict) and value.plain:
                    yield from _document("", value.plain, rank + 1, source)
            yield from _text(record.body, rank + 1, source)

    def _whole(self, record: LogRecord | Span) -> dict[str, Any]:
        """Attributes but for those that a reader cut out of the message: the log call's template has them whole, and
        says what they were."""
        if isinstance(record, Span):
            return record.attributes
        told = {name_of(f.part.expression): f for f in fill(self._logged, record.body)}

        def worse(key: str, value: Any) -> bool:
            filled = told.get(key)
            if filled is None or not isinstance(value, str) or not filled.text.startswith(value):
                return False
            return filled.text != value or filled.part.is_repr or filled.part.is_number

        return {key: value for key, value in record.attributes.items() if not worse(key, value)}

    def _message(self, templates: tuple[Template, ...], text: str, rank: int, source: str) -> Iterator[Recorded]:
        for filled in fill(templates, text):
            value = _filled(filled, self._source)
            name = name_of(filled.part.expression)
            if value is None:
                continue
            yield Recorded(name, value, rank, source, filled.part.is_repr or filled.part.is_number)
            yield from _split(value.plain, rank + 1, source)
            document = parse_json(value.plain)
            if document is None and isinstance(value.plain, str) and value.plain.startswith(("{", "[")):
                decoded = decode_repr(value.plain, self._source)
                document = decoded.plain if decoded and decoded.plain is not UNKNOWN else None
            if document:
                yield from _document(name, document, rank, source)


def _filled(filled: Filled, source: Source) -> Value | None:
    if filled.part.is_number:
        return literal(float(filled.text) if re.search(r"[.eE]", filled.text) else int(filled.text))
    if filled.part.is_repr:
        return decode_repr(filled.text, source)
    return literal(filled.text) if filled.text else None


def _attributes(attributes: dict[str, Any], rank: int, source: str) -> Iterator[Recorded]:
    for key, value in flatten(attributes).items():
        if key.startswith(_OURS) or value is None:
            continue
        yield Recorded(key, literal(value), rank, source)
        document = parse_json(value)
        if document:
            yield from _document(key, document, rank, source)
        elif isinstance(value, dict | list):
            yield from _document(key, value, rank, source)
        yield from _split(value, rank + 1, source)


def _document(name: str, value: Any, rank: int, source: str) -> Iterator[Recorded]:
    yield Recorded(name, literal(value), rank, source, True)
    if isinstance(value, dict):
        for key, inner in flatten(value).items():
            yield Recorded(key, literal(inner), rank, source, True)
    elif isinstance(value, list):
        for inner in value[:20]:
            if isinstance(inner, dict):
                yield from _document("", inner, rank + 1, source)


def _split(value: Any, rank: int, source: str) -> Iterator[Recorded]:
    """A raw record: `C;M0305;VISA;1,663.80-` as its fields, whole and one by one."""
    if not isinstance(value, str) or len(value) > 5000 or value.startswith(("{", "[", "http://", "https://")):
        return
    separator = next((s for s in _SEPARATORS if value.count(s) >= 2), None) or next(
        (s for s in _SEPARATORS if s in value), None
    )
    if separator is None:
        return
    fields = value.split(separator)
    yield Recorded("", literal(fields), rank, source)
    for field in fields[:40]:
        if field.strip():
            yield Recorded("", literal(field), rank + 1, source)


def _command_line(resource: dict[str, Any], rank: int, source: str) -> Iterator[Recorded]:
    """The process's arguments, as OpenTelemetry's resource attributes hold them, for `main(argv)`."""
    args = resource.get("process.command_args")
    if not isinstance(args, list):
        try:
            args = shlex.split(str(resource.get("process.command_line") or ""))
        except ValueError:
            return
    if len(args) > 1:
        at = 3 if args[1] == "-m" else 2 if "python" in str(args[0]) else 1
        for name in ("argv", "args"):
            yield Recorded(name, literal([str(a) for a in args[at:]]), rank + 2, source, True)


def _text(body: str, rank: int, source: str) -> Iterator[Recorded]:
    body = body[:20_000]
    for label, value in embedded_json(body):
        yield from _document(label, value, rank, source)
    for match in _PAIR.finditer(body):
        text = match[2].strip("\"'")
        yield Recorded(match[1], literal(text), rank, source)
        yield from _split(text, rank + 1, source)
    for match in _WORD_NUMBER.finditer(body):
        number: int | float = float(match[2]) if "." in match[2] else int(match[2])
        yield Recorded(match[1], literal(number), rank, source)
    for piece in re.split(r"\s+", body):
        if any(piece.count(s) >= 2 for s in _SEPARATORS) and not piece.endswith((",", ";")):
            yield from _split(piece, rank + 1, source)


def _quoted(message: str, source: str) -> Iterator[Recorded]:
    """`Invalid version: 'r38-lts'`: what an exception quotes is usually what it got."""
    for match in _QUOTED.finditer(message[:5000]):
        text = match[1] if match[1] is not None else match[2]
        if (
            text
            and not text.startswith("<")
            and not re.fullmatch(r"NoneType|str|int|float|list|dict|tuple|bytes", text)
        ):
            yield Recorded("", literal(text), 3, source)
