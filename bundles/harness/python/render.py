"""The text of a generated test, from templates; the same input gives the same text (pure)."""

import json
import re
import sys
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct

from bundles.harness.occurrences import short_type
from bundles.harness.python.apps import App
from bundles.harness.python.calls import Call
from bundles.harness.python.volume import Volume
from bundles.harness.requests import Request
from retrieval.model import CrashGroup
from retrieval.model.paths import repo_path

FOLDER = "receipts_repro"
_CONFIG = f"{FOLDER}/pytest.ini"
_WATCH = ("import logging", "import sys", "import threading", "import traceback")
_KINDS: dict[str, tuple[str, ...]] = {
    "wsgi": ("import io", "from urllib.parse import unquote"),
    "asgi": ("import asyncio", "import contextlib", "from urllib.parse import unquote"),
    "aiohttp": ("import asyncio", "from aiohttp.test_utils import TestClient, TestServer", "from yarl import URL"),
    "tornado": (
        "import asyncio",
        "from tornado.httpclient import AsyncHTTPClient",
        "from tornado.httpserver import HTTPServer",
        "from tornado.netutil import bind_sockets",
    ),
    "handler": ("import http.client", "import http.server"),
}
_DOWNSTREAM = ("import http.server", "import json", "import socket", "import ssl", "import threading", "import pytest")
_MACHINE_PATH = re.compile(r"(?P<scheme>[a-z+]+:///?)?(?P<path>/(?!dev/|etc/|proc/|usr/)[\w.@-]+(?:/[\w.@-]+)+)/?")
_CLOCK = ("import datetime", "import time")


class Surroundings(Struct, frozen=True, kw_only=True):
    """What is the same for every test of one failure."""

    incident: str
    crash: CrashGroup
    environment: dict[str, str]
    stubs: tuple[dict[str, Any], ...]
    roots: tuple[str, ...]
    folder: str
    clock_ns: int | None
    crash_function: str
    files: tuple[str, ...] = ()
    csrf: bool = False


class Written(Struct, frozen=True):
    """A test: its files, its path among them, and the command that runs it in a checkout's root."""

    files: dict[str, str]
    test: str
    command: tuple[str, ...]


def http_test(request: Request, app: App, around: Surroundings, prelude: tuple[Request, ...] = ()) -> Written:
    """A request into the application object."""
    needed = [*_WATCH, *_KINDS[app.kind], *_shared(around)]
    if "asyncio." in app.expression:
        needed.append("import asyncio")
    sent = [_sent(r) for r in (*prelude, request)]
    if any("json.dumps" in s["body"] for s in sent):
        needed.append("import json")
    slug = _slug(f"{request.method} {request.path}")
    return _written(
        "http.py.j2",
        slug,
        around,
        needed,
        citations=request.citations,
        summary=f"{request.line} as production saw it.",
        story=_story(
            around, f"{request.line}" + (f" was answered with {request.status}." if request.status else " failed.")
        ),
        request=sent[-1],
        prelude=sent[:-1],
        kind=app.kind,
        app=app.expression,
        app_imports=app.imports,
        django=app.django,
        handled=request.status < 500,
        through=around.crash_function if request.status < 500 else "",
        csrf=around.csrf,
    )


def call_test(call: Call, around: Surroundings, volume: Volume | None = None) -> Written:
    """A call of one function with recorded arguments, on a table of production's size where that is given."""
    needed = [*(_WATCH if call.caught else ()), *_shared(around), *(("import sqlite3",) if volume else ())]
    own = [line for line in call.imports if _is_standard(line)]
    counted = f" on {volume.rows} rows of {volume.table}, stand-ins but for what was recorded" if volume else ""
    return _written(
        "call.py.j2",
        _slug(call.function.qualname),
        around,
        [*needed, *own],
        citations=(*call.sources, *(volume.citations if volume else ())),
        summary=f"{call.function.qualname}() with the arguments that production recorded{counted}.",
        story=_story(around, f"`{call.function.path}::{call.function.qualname}` was on the stack."),
        call=f"subject{call.expression.removeprefix(call.receiver)}" if volume else call.expression,
        receiver=call.receiver,
        volume=volume,
        call_imports=[line for line in call.imports if not _is_standard(line)],
        caught=call.caught,
        through=around.crash_function,
    )


def _shared(around: Surroundings) -> list[str]:
    return [*(_DOWNSTREAM if around.stubs else ()), *(_CLOCK if around.clock_ns else ())]


def _story(around: Surroundings, first: str) -> list[str]:
    error = around.crash.signature
    lines = [first, f"{short_type(error.type)}: {error.message}" if error.message else short_type(error.type)]
    if around.crash.count > 1:
        lines.append(f"It was seen {around.crash.count} times.")
    return lines


def _written(template: str, slug: str, around: Surroundings, imports: list[str], **values: Any) -> Written:
    path = f"{FOLDER}/test_{slug}.py"
    placed = _placed(around)
    text = (
        _templates()
        .get_template(template)
        .render(
            title=f"{around.incident}: {around.crash.service} failed with {short_type(around.crash.signature.type)}.",
            slug=slug,
            imports=_sorted([*imports, "from pathlib import Path"]),
            environment={k: v for k, v in around.environment.items() if k not in placed},
            placed=placed,
            stubs=[_stub(s) for s in around.stubs],
            roots=around.roots,
            folder=around.folder,
            clock=around.clock_ns / 1e9 if around.clock_ns else None,
            error_type=short_type(around.crash.signature.type),
            **values,
        )
    )
    files = {path: re.sub(r"\n{4,}", "\n\n\n", text).rstrip() + "\n", _CONFIG: "[pytest]\n"}
    command = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "-c", _CONFIG, path)
    return Written(files, path, command)


def _placed(around: Surroundings) -> dict[str, tuple[str, str, str]]:
    """Settings that are paths of the production machine: the repository's own file of that name, else a place that the
    test may write to; (text before the path, folder, path below it)."""
    out = {}
    for name, value in around.environment.items():
        match = _MACHINE_PATH.fullmatch(value)
        if match:
            own = repo_path(match["path"], around.files)
            below = own or PurePosixPath(match["path"]).name
            out[name] = (match["scheme"] or "", "ROOT" if own else "tmp_path", below)
    return out


def _sorted(lines: list[str]) -> list[str]:
    """Plain imports first, then `from` imports; the standard library before the rest."""
    unique = sorted(set(lines), key=lambda x: (not _is_standard(x), x.startswith("from"), x))
    standard = [x for x in unique if _is_standard(x)]
    other = [x for x in unique if not _is_standard(x)]
    return [*standard, *([""] if standard and other else []), *other]


def _is_standard(line: str) -> bool:
    return line.split()[1].split(".")[0] in sys.stdlib_module_names


def _stub(stub: dict[str, Any]) -> dict[str, Any]:
    url = urlsplit(str(stub["url"]))
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return {"method": stub["method"], "target": target, "status": stub["status"], "body": stub["body"]}


def _sent(request: Request) -> dict[str, Any]:
    headers = dict(request.headers)
    if request.host and re.fullmatch(r"[A-Za-z0-9.:-]+", request.host):
        headers["host"] = request.host
    body = "b''"
    if request.body is not None:
        kind = headers.setdefault("content-type", "application/json")
        if "form-urlencoded" in kind and isinstance(request.body, dict):
            body = repr(urlencode(request.body, doseq=True).encode())
        elif isinstance(request.body, str):
            body = repr(request.body.encode(errors="replace"))
        else:
            body = f"json.dumps({request.body!r}).encode()" if _plain(request.body) else repr(b"")
    return {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": dict(sorted(headers.items())),
        "body": body,
    }


def _plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _slug(text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()).strip("_")
    return words[:60].rstrip("_") or "production_input"


@lru_cache(maxsize=1)
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("templates", "tests/python"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["py"] = repr
    made.filters["doc"] = _doc
    return made


def _doc(text: object) -> str:
    """Recorded text inside a docstring: one line, nothing that ends or escapes it."""
    line = " ".join(str(text).split())
    clean = "".join(c if c.isprintable() else "?" for c in line)
    return clean.replace("\\", "/").replace('"', "'")[:200]
