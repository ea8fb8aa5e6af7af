"""Reads settings: the YAML file, the environment over it, and errors that name the file or variable and the key."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_origin

import yaml
from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from bot.settings.model import Settings, Wrong
from retrieval.errors import BadInput

PREFIX = "RECEIPTS_"
CONFIG_VARIABLE = "RECEIPTS_CONFIG"


class Entry(NamedTuple):
    """One line of the reference page."""

    key: str
    env: str
    default: str
    description: str


def load(file: Path | None, environ: Mapping[str, str]) -> Settings:
    """Settings from the file (else `RECEIPTS_CONFIG`, else none) under the environment.

    Raises: BadInput naming the file or variable and the key.
    """
    named = environ.get(CONFIG_VARIABLE, "")
    file = file or (Path(named) if named else None)
    values = _read(file) if file else {}
    origin = {key: str(file) for key in _leaves(values)}
    for key, variable, value in _from_environment(environ):
        _put(values, key.split("."), value, variable)
        origin[key] = variable
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise _explain(error, origin, str(file) if file else "settings") from None


def reference() -> list[Entry]:
    """Every key with its variable, default and meaning, in the order of the page."""
    return [Entry(key, _variable(key), _shown(info), info.description or "") for key, info in _fields(Settings, "")]


def _fields(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _fields(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", info


def _variable(key: str) -> str:
    return PREFIX + key.replace(".", "__").upper()


def _shown(info: FieldInfo) -> str:
    value = info.get_default()
    if isinstance(value, SecretStr):
        return ""
    return str(value) if isinstance(value, str | Path) else json.dumps(value)


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str, Any]]:
    known = {_variable(key): (key, info) for key, info in _fields(Settings, "")}
    for variable in sorted(environ):
        if variable in known:
            key, info = known[variable]
            yield key, variable, _from_text(info, variable, environ[variable])
        elif variable.startswith(PREFIX) and "__" in variable:
            # Without "__" it may be one of Kubernetes' own (RECEIPTS_PORT, RECEIPTS_SERVICE_HOST): not ours to refuse.
            raise BadInput(
                f"{variable}: there is no such setting", subject=variable, remedy="see the settings reference"
            )


def _from_text(info: FieldInfo, variable: str, text: str) -> Any:
    if get_origin(info.annotation) not in (list, dict):
        return int(text) if get_origin(info.annotation) is Literal and text.strip().isdigit() else text
    try:
        return json.loads(text)
    except ValueError:
        raise BadInput(f"{variable}: not JSON, although lists and maps are", subject=variable) from None


def _read(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})", subject=str(file)) from None
    except UnicodeDecodeError:
        raise BadInput(f"{file}: not UTF-8 text", subject=str(file)) from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise BadInput(f"{file}: not YAML{where}", subject=str(file)) from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise BadInput(f"{file}: not a map of settings", subject=str(file))
    return values


def _put(values: dict[str, Any], path: list[str], value: Any, variable: str) -> None:
    for part in path[:-1]:
        inner = values.get(part)
        if inner is None:
            inner = values[part] = {}
        if not isinstance(inner, dict):
            raise BadInput(f"{variable}: the file gives {part} a value that is not a map", subject=variable)
        values = inner
    values[path[-1]] = value


def _leaves(values: Mapping[Any, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")


def _explain(error: ValidationError, origin: Mapping[str, str], default: str) -> BadInput:
    """One line that names where the value came from and the key; never the value of a secret."""
    first = error.errors(include_url=False, include_input=False)[0]
    cause = (first.get("ctx") or {}).get("error")
    key = cause.key if isinstance(cause, Wrong) else ".".join(str(part) for part in first["loc"]) or "settings"
    reason = str(cause) if cause else _reason(first["type"], first["msg"])
    where = next((origin[k] for k in _ancestors(key) if k in origin), default)
    return BadInput(f"{where}: {key}: {reason}", subject=key, remedy="")


def _reason(kind: str, message: str) -> str:
    return "there is no such setting" if kind == "extra_forbidden" else message[:1].lower() + message[1:]


def _ancestors(key: str) -> Iterator[str]:
    parts = key.split(".")
    for end in range(len(parts), 0, -1):
        yield ".".join(parts[:end])
