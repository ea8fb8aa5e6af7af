"""Flags and configuration as the failing process saw them, as environment variables (pure, for every language).

Only variables that the repository's own text names are set: a configuration key under its own name or as upper-case
snake, a flag as a member of a JSON object (`FEATURE_FLAGS`), or as a variable of its own (`FLAG_X`, `FEATURE_X`, `X`).
"""

import json
import re
from collections.abc import Collection
from typing import Any

from msgspec import Struct

from retrieval.model import Case, ConfigChange, FlagChange

_SECRET = re.compile(r"secret|token|passw|credential|private|api_?key|auth|dsn|cookie|session", re.IGNORECASE)
_REDACTED = re.compile(r"^(\*+|<[^>]*>|\[[A-Za-z]+\]|[a-z_]+:[0-9a-f]{12,}|x{4,})$|redacted", re.IGNORECASE)
_NEVER = re.compile(
    r"^(PATH|HOME|USER|SHELL|TMP(DIR)?|TEMP|IFS|ENV|BASH_.*|PYTHON.*|PYTEST.*|LD_.*|DYLD_.*|VIRTUAL_ENV|NODE_.*|JAVA_.*|GO.*)$"
)
_NAME = re.compile(r"^[A-Z][A-Z0-9_]*$")
_FLAG_OBJECT = re.compile(r"^[A-Z0-9_]*(FLAGS|FEATURES|TOGGLES)(_JSON)?$")
_FLAG_PREFIX = re.compile(r"^[A-Z0-9_]*(FLAG|FEATURE|FF|TOGGLE|ENABLE)S?_+$")


class Settings(Struct, frozen=True):
    """`environment` for the process, `values` all settings by their recorded key, `citations` where they were read."""

    environment: dict[str, str]
    values: dict[str, Any]
    citations: tuple[str, ...]


def settings_at(case: Case, service: str, at_ns: int, names: Collection[str]) -> Settings:
    """The last value of each key and flag at a moment. `names` are the string constants of the repository's code."""
    config = _latest([c for c in case.sources.config if c.service in ("", service) and c.at_ns <= at_ns])
    flags = _latest([f for f in case.sources.flags if f.service in ("", service) and f.at_ns <= at_ns])
    environment: dict[str, str] = {}
    cited: list[str] = []
    for key, change in config.items():
        variable = _variable(key, str(change.value), names)
        if variable:
            environment[variable] = str(change.value)
            cited.append(str(change.source))
    for name, value, source in _flag_variables(flags, environment, names):
        environment[name] = value
        cited.append(source)
    values: dict[str, Any] = {k: f.value for k, f in flags.items()}
    values.update({k: c.value for k, c in config.items() if not _hidden(k, str(c.value))})
    return Settings(dict(sorted(environment.items())), values, tuple(dict.fromkeys(cited)))


def _latest(changes: list[Any]) -> dict[str, Any]:
    ordered = sorted(changes, key=lambda c: (c.at_ns, str(c.source)))
    return {(c.key if isinstance(c, ConfigChange) else c.flag): c for c in ordered}


def _hidden(key: str, value: str) -> bool:
    return bool(_SECRET.search(key) or _REDACTED.search(value))


def _variable(key: str, value: str, names: Collection[str]) -> str:
    """The environment variable of a configuration key, "" where it has none that may be set."""
    if _hidden(key, value) or "\0" in value:
        return ""
    snake = re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key)).strip("_").upper()
    for name in (key, snake):
        if _NAME.match(name) and not _NEVER.match(name) and (name in names or name == key):
            return name
    return ""


def _flag_variables(
    flags: dict[str, FlagChange], environment: dict[str, str], names: Collection[str]
) -> list[tuple[str, str, str]]:
    out: list[tuple[str, str, str]] = []
    sources = " ".join(str(f.source) for f in list(flags.values())[:1])
    for name in sorted(n for n in names if _FLAG_OBJECT.match(n)):
        if flags and name not in environment:
            out.append((name, json.dumps({k: f.value for k, f in flags.items()}, sort_keys=True), sources))
    prefixes = sorted(n for n in names if _FLAG_PREFIX.match(n))
    for key, change in flags.items():
        snake = re.sub(r"[^A-Za-z0-9]+", "_", key).strip("_").upper()
        short = re.sub(r"[^A-Za-z0-9]+", "_", key.rsplit(".", 1)[-1]).strip("_").upper()
        known = [f"{p}{s}" for p in ("FLAG_", "FEATURE_", "FF_", "ENABLE_", "") for s in (snake, short)]
        wanted = [n for n in known if n in names] or [f"{p}{snake}" for p in prefixes]
        for name in dict.fromkeys(wanted):
            if _NAME.match(name) and not _NEVER.match(name) and name not in environment:
                out.append((name, _flag_text(change.value, names), str(change.source)))
    return out


def _flag_text(value: Any, names: Collection[str]) -> str:
    """Booleans as the code compares them: "true" or "1" or "on", whichever its text holds."""
    if not isinstance(value, bool):
        return value if isinstance(value, str) else json.dumps(value)
    words = (("true", "false"), ("1", "0"), ("on", "off"), ("True", "False"), ("yes", "no"))
    return next((pair for pair in words if pair[0] in names), words[0])[0 if value else 1]
