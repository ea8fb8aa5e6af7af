"""Severity names and numbers of many loggers to OpenTelemetry's number (logs data model, "Severity Fields") (pure)."""

from typing import Any

INFO = 9

_NAMES = {
    **dict.fromkeys(("trace", "finest", "verbose", "silly", "all"), 1),
    **dict.fromkeys(("debug", "finer", "fine", "dbg", "dbug", "d"), 5),
    **dict.fromkeys(("info", "information", "informational", "inf", "i", "config", "log", "success", "default"), INFO),
    **dict.fromkeys(("notice", "note"), 10),
    **dict.fromkeys(("warn", "warning", "wrn", "w"), 13),
    **dict.fromkeys(("error", "err", "eror", "e", "severe", "fail", "failure"), 17),
    **dict.fromkeys(("critical", "crit", "alert"), 18),
    **dict.fromkeys(("fatal", "ftl", "f", "emergency", "emerg", "panic", "dpanic", "c"), 21),
}
_SYSLOG = (21, 18, 18, 17, 13, 10, INFO, 5)  # RFC 5424 severities 0 to 7
_PYTHON = ((50, 18), (40, 17), (30, 13), (20, INFO), (10, 5), (0, 1))
_PINO = ((60, 21), (50, 17), (40, 13), (30, INFO), (20, 5), (10, 1))

# Words that stand for a severity in a line of text; `i` or `note` alone would be found in prose.
WORDS = (
    "TRACE|DEBUG|INFO|INFORMATION|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|CRIT|ALERT|FATAL|EMERG|PANIC|SEVERE|"
    "SUCCESS|VERBOSE"
)


def of_name(text: str) -> int | None:
    """None for a name that is no severity. OpenTelemetry's `ERROR2` and `WARN3` count as their base and rank."""
    name = text.strip().strip("[]<>:").lower()
    if name in _NAMES:
        return _NAMES[name]
    if name[-1:] in "234" and name[:-1] in ("trace", "debug", "info", "warn", "error", "fatal"):
        return _NAMES[name[:-1]] + int(name[-1]) - 1
    return None


def of_value(value: Any, *, pino: bool = False, syslog: bool = False) -> int | None:
    """A `level` field: a name, or a number on the scale of the logger that wrote it (Python's by default)."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        named = of_name(value)
        if named is not None or not value.strip().isdigit():
            return named
        value = int(value.strip()[:6])
    if not isinstance(value, int | float) or value < 0:
        return None
    if syslog or (value < 8 and not pino):
        return _SYSLOG[int(value)] if value < 8 else None
    scale = _PINO if pino else _PYTHON
    return next((number for limit, number in scale if value >= limit), 1)
