"""What a repository declares that it needs, as requirement lines. Pure: texts in, lines out.

Only plain requirements are taken (PEP 508: name, extras, versions, markers). What would make an installer run code of
the repository or ask a host that the repository names (`-e`, paths, URLs, `--index-url`, `--find-links`) is left out
and listed: preparing runs outside the sandbox. Hashes are dropped, for the set that is installed has pytest added.
"""

import configparser
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[A-Za-z0-9._,\s-]*\])?\s*(\(?[<>=!~][^@/\\]*)?(;.*)?")
_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTION = re.compile(r"\s--?[a-z-]+[= ].*$")
_INCLUDE = re.compile(r"(?:-r|--requirement)[=\s]*(\S+)")
_CONSTRAINT = re.compile(r"(?:-c|--constraint)[=\s]*(\S+)")
_DEV = re.compile(r"^(dev|test|tests|testing|develop|development)$", re.IGNORECASE)


class Parsed(Struct, frozen=True, kw_only=True):
    """`includes` and `constraints` are paths as written, relative to the file."""

    lines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class Unreadable(Exception):
    """A file of declarations that is not in its own format; the text says which."""


def parse(path: str, text: str, *, dev: bool = True) -> Parsed:
    """The requirements in one file, by its name: requirements files, pyproject.toml, setup.cfg, Pipfile.lock,
    poetry.lock, uv.lock. `dev`: with what only its tests need. Raises: Unreadable."""
    name = PurePosixPath(path).name
    try:
        if name == "pyproject.toml":
            return _plain(_pyproject(tomllib.loads(text), dev))
        if name in ("poetry.lock", "uv.lock", "pdm.lock"):
            return _plain(_locked(tomllib.loads(text)))
        if name == "Pipfile.lock":
            return _plain(_pipfile(json.loads(text), dev))
        if name == "setup.cfg":
            return _plain(_setup_cfg(text, dev))
    except (ValueError, TypeError, AttributeError, configparser.Error) as error:
        raise Unreadable(f"{path} cannot be read") from error
    return _requirements(text)


def _requirements(text: str) -> Parsed:
    lines, includes, constraints, left_out = [], [], [], []
    for raw in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = _COMMENT.sub("", raw).strip()
        if not line:
            continue
        if match := _INCLUDE.fullmatch(line):
            includes.append(match[1])
        elif match := _CONSTRAINT.fullmatch(line):
            constraints.append(match[1])
        elif _PLAIN.fullmatch(plain := _OPTION.sub("", line).strip()):
            lines.append(plain)
        else:
            left_out.append(line[:120])
    return Parsed(
        lines=tuple(lines), includes=tuple(includes), constraints=tuple(constraints), left_out=tuple(left_out)
    )


def _plain(found: Iterator[str]) -> Parsed:
    every = [line.strip() for line in found]
    return Parsed(
        lines=tuple(line for line in every if _PLAIN.fullmatch(line)),
        left_out=tuple(line[:120] for line in every if not _PLAIN.fullmatch(line)),
    )


def _pyproject(data: Mapping[str, Any], dev: bool) -> Iterator[str]:
    project = data.get("project", {})
    yield from map(str, project.get("dependencies", []))
    if dev:
        for group, lines in sorted(project.get("optional-dependencies", {}).items()):
            if _DEV.match(group):
                yield from map(str, lines)
        for group, entries in sorted(data.get("dependency-groups", {}).items()):
            if _DEV.match(group):
                yield from (entry for entry in entries if isinstance(entry, str))
    poetry = data.get("tool", {}).get("poetry", {})
    yield from _poetry(poetry.get("dependencies", {}))
    if dev:
        yield from _poetry(poetry.get("dev-dependencies", {}))
        for group, table in sorted(poetry.get("group", {}).items()):
            if _DEV.match(group):
                yield from _poetry(table.get("dependencies", {}))


def _poetry(table: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in sorted(table.items()):
        if name.lower() == "python":
            continue
        entry = wanted if isinstance(wanted, Mapping) else {"version": wanted}
        if entry.get("optional") or not isinstance(entry.get("version"), str):
            continue
        extras = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
        marker = f" ; {entry['markers']}" if entry.get("markers") else ""
        yield f"{name}{extras}{_poetry_version(entry['version'])}{marker}"


def _poetry_version(text: str) -> str:
    """Poetry's `^1.2` and `~1.2` as PEP 440 (Poetry, "Dependency specification")."""
    parts = []
    for part in (p.strip() for p in text.split(",")):
        number = re.fullmatch(r"([\^~])\s*(\d+(?:\.\d+)*)(.*)", part)
        if (number and number[1] != "~") or (number and not part.startswith("~=")):
            release = [int(n) for n in number[2].split(".")]
            parts += [f">={number[2]}{number[3]}", f"<{_next(release, number[1])}"]
        elif re.fullmatch(r"\d+(?:\.\d+)*", part):
            parts.append(f"=={part}")
        elif part != "*":
            parts.append(part)
    return ",".join(parts)


def _next(release: list[int], sign: str) -> str:
    if sign == "~":
        at = 1 if len(release) > 1 else 0
    else:
        at = next((i for i, n in enumerate(release) if n), len(release) - 1)
    return ".".join(str(n) for n in [*release[:at], release[at] + 1])


def _locked(data: Mapping[str, Any]) -> Iterator[str]:
    for package in data.get("package", []):
        source = package.get("source", {})
        local = isinstance(source, Mapping) and any(
            key in source for key in ("virtual", "editable", "directory", "git", "path")
        )
        if not local and source.get("type") not in ("git", "directory", "file", "url"):
            marker = f" ; {package['markers']}" if isinstance(package.get("markers"), str) else ""
            yield f"{package['name']}=={package['version']}{marker}"


def _pipfile(data: Mapping[str, Any], dev: bool) -> Iterator[str]:
    for section in ("default", "develop") if dev else ("default",):
        for name, entry in sorted(data.get(section, {}).items()):
            extras = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
            marker = f" ; {entry['markers']}" if entry.get("markers") else ""
            yield f"{name}{extras}{entry.get('version', '').replace('*', '')}{marker}"


def _setup_cfg(text: str, dev: bool) -> Iterator[str]:
    config = configparser.ConfigParser(interpolation=None)
    config.read_string(text)
    yield from config.get("options", "install_requires", fallback="").splitlines()
    if dev and config.has_section("options.extras_require"):
        for group, lines in config.items("options.extras_require"):
            if _DEV.match(group):
                yield from lines.splitlines()
