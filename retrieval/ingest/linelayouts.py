"""Lines of text logs: which layout a line has, and what it says (pure).

A layout is where the time stands; what follows it (level, logger, thread, ids) is read the same way for all of them.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from retrieval.ingest import severity
from retrieval.ingest.moments import ASCTIME, CLF, CLOCK, ISO, KLOG, SYSLOG, of_match, time_ns
from retrieval.ingest.values import identifier


class Line(Struct, kw_only=True):
    """One line that begins a record. `level` None: the line names none; `time_ns` None: nor a time."""

    time_ns: int | None = None
    message: str = ""
    level: int | None = None
    logger: str = ""
    trace_id: str = ""
    span_id: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)


class Loggers:
    """Names that were seen as loggers in this file: a bare first word is a logger only when it is one of them."""

    def __init__(self, stem: str) -> None:
        self._names = {stem}

    def add(self, name: str) -> None:
        if len(self._names) < 10_000:
            self._names.add(name)
            self._names.add(name.partition(".")[0])

    def __contains__(self, name: str) -> bool:
        return name in self._names


Parse = Callable[[str, int, Loggers], Line | None]

_LEVEL = rf"(?:{severity.WORDS})"
_ISO_LINE = re.compile(rf"(?:(?P<lead>{_LEVEL})[\s:|-]{{1,4}})?[\[(]?{ISO}[\])]?(?=[\s\],;:|\[-]|$)", re.IGNORECASE)
_ASCTIME_LINE = re.compile(rf"\[?{ASCTIME}\]?\s")
_CLF_LINE = re.compile(
    rf"(?P<client>\S+) (?P<ident>\S+) (?P<account>\S+) \[{CLF}\] "
    r"\"(?P<request>[^\"\n]*)\" (?P<status>\d{3}) (?P<bytes>\d+|-)(?P<more>.*)$"
)
_SYSLOG_LINE = re.compile(rf"(?:<(?P<pri>\d{{1,3}})>)?{SYSLOG} (?P<host>\S+) (?P<app>[\w./-]+)(?:\[(?P<pid>\d+)\])?: ?")
_SYSLOG5424 = re.compile(
    rf"<(?P<pri>\d{{1,3}})>1 {ISO} (?P<host>\S+) (?P<app>\S+) (?P<pid>\S+) "
    r"(?P<msgid>\S+) (?P<data>-|(?:\[[^\]\n]*\])+) ?(?:\ufeff)?"
)
_KLOG_LINE = re.compile(rf"(?P<letter>[IWEF]){KLOG}\s+(?P<pid>\d+) (?P<place>[\w./-]+:\d+)\] ?")
_RUBY_LINE = re.compile(rf"[DIWEFA], \[{ISO} ?#\d+\]\s+(?P<level>[A-Z]+) -- (?P<app>[^:\n]{{0,80}}): ")
_EPOCH_LINE = re.compile(r"\[?(?P<epoch>\d{10}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?)\]?(?=[\s|,])")
_CLOCK_LINE = re.compile(rf"\[?{CLOCK}\]?(?=\s)")
_LOGFMT_PAIR = re.compile(r"(?P<key>[A-Za-z_@][\w.@/-]*)=(?P<value>\"(?:[^\"\\]|\\.)*\"|[^\s\"]*)(?=\s|$)\s*")
_NO_TIME_LINE = re.compile(rf"\[?(?P<level>{_LEVEL})\]?(?::\s*|\s+-\s+|\s+\[)(?=\S)")
_CRI = re.compile(r"\s*(?:stdout|stderr) [FP] ")

_LOGFMT_TIME = ("ts", "time", "timestamp", "t", "@timestamp", "at")
_LOGFMT_LEVEL = ("level", "lvl", "severity", "loglevel")
_LOGFMT_BODY = ("msg", "message", "event")
_LOGFMT_LOGGER = ("logger", "log.logger", "name", "component")
_TRACE_KEYS = frozenset({"trace", "trace_id", "traceid", "trace.id", "trace-id", "dd.trace_id", "oteltraceid"})
_SPAN_KEYS = frozenset({"span", "span_id", "spanid", "span.id", "span-id", "dd.span_id", "otelspanid"})

_GAP = re.compile(r"[\s|,;-]*")
_BRACKET = re.compile(r"\[([^\]\n]{0,200})\]|\(([^)\n]{0,200})\)")
_LEVEL_WORD = re.compile(rf"<?({_LEVEL})\d?>?(?=[\s:\]|-]|$):?", re.IGNORECASE)
_DOTTED = re.compile(r"[A-Za-z_][\w$]*(?:[.$/][\w$<>-]+)+(?::[\w<>$]+)?(?::\d+)?(?=\s*(?::\s|- |\s|$))")
_NAMED = re.compile(r"([A-Za-z_][\w.$/-]{0,120})(?::[\w<>]+:\d+)?\s*(?::|\s-|\s\|)\s")
_FLASK = re.compile(r"in ([\w.]+): ")
_SPRING = re.compile(r"\d+ ---(?= )")
_WORD = re.compile(r"[A-Za-z_][\w-]{0,60}(?=\s)")
_PAIR = re.compile(
    r"(?:(?<=\s)|(?<=\[)|^)([A-Za-z_][\w.-]{0,60})=(\"(?:[^\"\\\n]|\\.){0,2000}\"|'(?:[^'\\\n]|\\.){0,2000}'|[^\s,;\]\)]{1,500})"
)
_TRACE_TEXT = re.compile(r"(?i)\btrace[_. -]?id[\"']?\s*[:=]\s*[\"']?([0-9a-f-]{16,36})\b")
_MAX_PAIRS = 64


def logfmt(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    """`ts=… level=… msg="…" key=value`: all of the line, or it is none."""
    fields: dict[str, str] = {}
    at = 0
    while at < len(line):
        pair = _LOGFMT_PAIR.match(line, at)
        if pair is None:
            return None
        fields.setdefault(pair["key"], _unquote(pair["value"]))
        at = pair.end()
    return _of_fields(fields)


def _of_fields(fields: dict[str, str]) -> Line | None:
    when = next((k for k in _LOGFMT_TIME if time_ns(fields.get(k)) is not None), "")
    if not when:
        return None
    found = Line(time_ns=time_ns(fields.pop(when)))
    for name in _LOGFMT_LEVEL:
        if name in fields and (level := severity.of_name(fields[name])) is not None:
            found.level = level
            del fields[name]
            break
    found.message = next((fields.pop(k) for k in _LOGFMT_BODY if k in fields), "")
    found.logger = next((fields.pop(k) for k in _LOGFMT_LOGGER if k in fields), "")
    _ids(found, fields)
    found.attributes = dict(fields)
    return found


def _ids(line: Line, fields: dict[str, str]) -> None:
    for key in list(fields):
        if key.lower() in _TRACE_KEYS and not line.trace_id:
            line.trace_id = identifier(fields.pop(key))
        elif key.lower() in _SPAN_KEYS and not line.span_id:
            line.span_id = identifier(fields.pop(key))


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        inner = value[1:-1]
        escapes = {"n": "\n", "t": "\t", "r": "\r"}
        return re.sub(r"\\(.)", lambda m: escapes.get(m[1], m[1]), inner) if "\\" in inner else inner
    return value


def iso(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    """A date first, or a level and then a date; Kubernetes' `stdout F` may follow it."""
    match = _ISO_LINE.match(line)
    if match is None or not match["hour"]:
        return None
    rest = line[match.end() :]
    if cri := _CRI.match(rest):
        inner = parse_line(rest[cri.end() :], reference_ns, loggers)
        if inner is not None and inner.time_ns is not None:
            return inner
        rest = rest[cri.end() :]
    found = _rest(rest, loggers, severity.of_name(match["lead"]) if match["lead"] else None)
    found.time_ns = of_match(match)
    return found if found.time_ns is not None else None


def ruby(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    """Ruby's Logger: `E, [2025-03-11T13:10:08.395123 #4242] ERROR -- shop: no stock`."""
    match = _RUBY_LINE.match(line)
    if match is None:
        return None
    found = Line(time_ns=of_match(match), level=severity.of_name(match["level"]), logger=match["app"].strip())
    return _finish(found, line[match.end() :].strip())


def asctime(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    return _dated(_ASCTIME_LINE.match(line), line, reference_ns, loggers)


def clock(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    return _dated(_CLOCK_LINE.match(line), line, reference_ns, loggers)


def _dated(match: re.Match[str] | None, line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    if match is None:
        return None
    found = _rest(line[match.end() :], loggers)
    found.time_ns = of_match(match, reference_ns)
    return found


def epoch(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    match = _EPOCH_LINE.match(line)
    if match is None:
        return None
    found = _rest(line[match.end() :], loggers)
    found.time_ns = time_ns(match["epoch"])
    return found


def access(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    """Common and combined log format of Apache, nginx and gunicorn."""
    match = _CLF_LINE.match(line)
    if match is None:
        return None
    method, _, target = match["request"].partition(" ")
    target = target.rpartition(" ")[0] or target
    return Line(
        time_ns=of_match(match),
        message=f"{match['request']} {match['status']}",
        level=severity.INFO,
        logger="access",
        attributes={
            "http.request.method": method,
            "url.path": target.partition("?")[0],
            "url.query": target.partition("?")[2],
            "http.response.status_code": int(match["status"]),
            "client.address": match["client"],
        },
    )


def syslog(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    match = _SYSLOG5424.match(line) or _SYSLOG_LINE.match(line)
    if match is None:
        return None
    found = _rest(line[match.end() :], loggers)
    found.time_ns = of_match(match, reference_ns)
    if match["pri"] and found.level is None:
        found.level = severity.of_value(int(match["pri"]) % 8, syslog=True)
    found.logger = found.logger or match["app"]
    found.attributes["host.name"] = match["host"]
    return found


def klog(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    match = _KLOG_LINE.match(line)
    if match is None:
        return None
    found = Line(time_ns=of_match(match, reference_ns), level=severity.of_name(match["letter"]), logger=match["place"])
    return _finish(found, line[match.end() :].strip())


def untimed(line: str, reference_ns: int, loggers: Loggers) -> Line | None:
    """`ERROR:shop.cart:no stock`: a record of its own whose time is that of the one before it."""
    match = _NO_TIME_LINE.match(line)
    if match is None:
        return None
    return _rest(line[match.end("level") :].lstrip("]").lstrip(":"), loggers, severity.of_name(match["level"]))


LAYOUTS: tuple[Parse, ...] = (iso, logfmt, access, syslog, klog, asctime, ruby, epoch, clock)


def parse_line(line: str, reference_ns: int, loggers: Loggers, first: Parse | None = None) -> Line | None:
    """By the layout that fitted last, else by each in turn; None: the line continues the record before it."""
    if first is not None and (found := first(line, reference_ns, loggers)) is not None:
        return found
    for layout in LAYOUTS:
        if layout is not first and (found := layout(line, reference_ns, loggers)) is not None:
            return found
    return None


def _rest(text: str, loggers: Loggers, level: int | None = None) -> Line:
    """What follows the time: level, logger, thread and ids in any order, each with the marks that loggers put round it,
    up to the message."""
    found = Line(level=level)
    at = 0
    for _ in range(8):
        at = _GAP.match(text, at).end()  # type: ignore[union-attr]
        step = _step(text, at, found, loggers)
        if step == at:
            break
        at = step
    return _finish(found, text[at:].lstrip(" :|-").rstrip())


def _step(text: str, at: int, found: Line, loggers: Loggers) -> int:
    """Reads one part and says where it ends; where it began if the message begins there."""
    if found.level is None and (level := _LEVEL_WORD.match(text, at)):
        found.level = severity.of_name(level[1])
        return level.end()
    if spring := _SPRING.match(text, at):
        return spring.end()
    if bracket := _BRACKET.match(text, at):
        return bracket.end() if _bracketed(bracket[1] or bracket[2] or "", found, loggers) else at
    if found.logger or (found.level is None and not _level_follows(text, at)):
        return at
    if named := _FLASK.match(text, at) or _NAMED.match(text, at):
        found.logger = named[1]
        loggers.add(named[1])
        return named.end()
    if dotted := _DOTTED.match(text, at):
        found.logger = dotted[0]
        loggers.add(dotted[0].partition(":")[0])
        return dotted.end()
    word = _WORD.match(text, at)
    if word and (word[0] in loggers or text[word.end() : word.end() + 2] == " ["):
        found.logger = word[0]
        return word.end()
    return at


def _level_follows(text: str, at: int) -> bool:
    """Python's own default puts the logger before the level: `name - LEVEL - message`."""
    return re.match(rf"[\w.$-]+\s*[-:|]\s*\[?{_LEVEL}\b", text[at : at + 200]) is not None


def _bracketed(inner: str, found: Line, loggers: Loggers) -> bool:
    """Whether what stands in brackets before the message is about the record; it is read if so."""
    if found.level is None and (level := severity.of_name(inner)) is not None and len(inner) > 1:
        found.level = level
        return True
    pairs = dict(_PAIR.findall(inner)) if "=" in inner else {}
    if pairs:
        fields = {k: _unquote(v) for k, v in pairs.items()}
        _ids(found, fields)
        found.attributes.update(fields)
        return True
    if found.level is None and (module := re.fullmatch(rf"\w+:({_LEVEL})", inner, re.IGNORECASE)):
        found.level = severity.of_name(module[1])
        return True
    ids = [identifier(part.strip()) for part in inner.split(",") if len(part.strip()) in (16, 32, 36)]
    for name in ids:
        if len(name) == 32 and not found.trace_id and _is_hex(name):
            found.trace_id = name
        elif len(name) == 16 and not found.span_id and _is_hex(name):
            found.span_id = name
    if found.trace_id and ids:
        return True
    if found.logger or not re.fullmatch(r"[\w.$/:#@ ,*+-]*", inner) or len(inner.split()) > 3:
        return False
    if inner.strip() and not inner.strip().isdigit() and inner not in loggers:
        found.attributes.setdefault("thread.name", inner.strip())
    return True


def _is_hex(text: str) -> bool:
    return all(c in "0123456789abcdef" for c in text)


def _finish(line: Line, message: str) -> Line:
    """Ids and `key=value` pairs inside the message; the message itself stays as it was written."""
    line.message = message
    if "=" in message:
        fields = {k: _unquote(v) for k, v in _PAIR.findall(message)[:_MAX_PAIRS]}
        _ids(line, fields)
        for key, value in fields.items():
            line.attributes.setdefault(key, value)
    if not line.trace_id and (trace := _TRACE_TEXT.search(message)):
        line.trace_id = identifier(trace[1])
    return line
