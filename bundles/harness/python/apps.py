"""Where a repository builds its web application, read from its syntax (pure).

Found: module-level applications, factories that can be called without arguments or the way production calls them, raw
WSGI and ASGI callables, Django projects, `http.server` handlers, tornado and aiohttp applications.
"""

import ast
import re

from msgspec import Struct

from bundles.harness.python.declared import Class, Function, dotted
from bundles.harness.python.source import Module, Source
from bundles.harness.python.wiring import Wired, wiring_of

# Constructor by origin -> how its application is driven.
_CONSTRUCTORS = {
    "flask.Flask": "wsgi", "bottle.Bottle": "wsgi", "bottle.default_app": "wsgi", "bottle.app": "wsgi",
    "falcon.App": "wsgi", "falcon.API": "wsgi", "falcon.asgi.App": "asgi", "fastapi.FastAPI": "asgi",
    "starlette.applications.Starlette": "asgi", "quart.Quart": "asgi", "litestar.Litestar": "asgi",
    "sanic.Sanic": "asgi",
    "blacksheep.Application": "asgi", "aiohttp.web.Application": "aiohttp", "tornado.web.Application": "tornado",
    "django.core.wsgi.get_wsgi_application": "wsgi", "django.core.asgi.get_asgi_application": "asgi",
    "connexion.FlaskApp": "wsgi", "connexion.App": "wsgi", "apiflask.APIFlask": "wsgi",
    "a2wsgi.ASGIMiddleware": "wsgi", "asgiref.wsgi.WsgiToAsgi": "asgi",
}  # fmt: skip
_VARIABLES = ("app", "application", "api", "asgi", "wsgi", "asgi_app", "wsgi_app", "server", "service")
_FACTORIES = re.compile(
    r"^(create|make|build|get|new|init)?_?(wsgi_|asgi_|web_|http_|api_)?(app|application|api|server|service)(_factory)?$"
)
_SERVED = re.compile(
    r"(?:gunicorn|uvicorn|hypercorn|daphne|waitress-serve|granian|uwsgi)\b[^\n]*?[\s\"',]([A-Za-z_][\w.]*):([A-Za-z_]\w*)(\(\))?"
)
_SETTINGS_MODULE = re.compile(r"DJANGO_SETTINGS_MODULE[\"'\s,=:]+([A-Za-z_][\w.]*)")


ON_LOOP = ("aiohttp", "tornado")
"""Kinds whose application is made and asked on a running event loop."""


class App(Struct, frozen=True, kw_only=True):
    """`expression` gives the application after `imports`; `kind` is wsgi|asgi|aiohttp|tornado|handler. `django` names
    the settings module; `root` is the folder that must be importable."""

    kind: str
    expression: str
    imports: tuple[str, ...]
    root: str
    where: str
    django: str = ""
    rank: int = 0


def find_apps(source: Source, prefix: str = "") -> tuple[App, ...]:
    """The applications of a repository, the likeliest first; a serve command in a Dockerfile or Procfile decides.
    `prefix` is the service's folder in a repository of many."""
    found: list[App] = []
    for path, module in source.modules.items():
        if not module.is_test and path.startswith(prefix):
            found += _in_module(source, module)
    found += _django(source, prefix)
    served = {(m[1], m[2]) for text in source.texts for m in _SERVED.finditer(text)}
    ranked = sorted(found, key=lambda a: (not _is_served(a, served), a.rank, a.where, a.expression))
    return tuple({(a.expression, a.imports): a for a in reversed(ranked)}.values())[::-1]


def _is_served(app: App, served: set[tuple[str, str]]) -> bool:
    return any(f"from {module} import {name}" in app.imports for module, name in served)


def origin(module: Module, node: ast.AST) -> str:
    """The dotted origin of a name as the module imported it: `web.Application` -> `aiohttp.web.Application`."""
    name = dotted(node)
    head, _, rest = name.partition(".")
    base = module.imports.get(head, head)
    return f"{base}.{rest}" if rest else base


def _kind_of(source: Source, module: Module, value: ast.AST | None) -> str:
    """How the object that an expression makes is driven, "" where it is no application."""
    if isinstance(value, ast.Await):
        return _kind_of(source, module, value.value)
    if not isinstance(value, ast.Call):
        return ""
    name = origin(module, value.func)
    if name in _CONSTRUCTORS:
        return _CONSTRUCTORS[name]
    last = name.rsplit(".", 1)[-1]
    if last == "make_wsgi_app":
        return "wsgi"
    own = source.unique_class(last)
    return _class_kind(source, own) if own else ""


def _class_kind(source: Source, found: Class) -> str:
    """A class of the repository: a subclass of a framework's application, or one with `__call__`."""
    module = source.modules[found.path]
    for base in found.node.bases:
        kind = _CONSTRUCTORS.get(origin(module, base), "")
        if kind:
            return kind
    for item in found.node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == "__call__":
            return _callable_kind(item, len(item.args.args) - 1)
    return ""


def _callable_kind(node: ast.FunctionDef | ast.AsyncFunctionDef, count: int) -> str:
    names = [a.arg for a in node.args.args][-count:] if count else []
    if count == 2 and isinstance(node, ast.FunctionDef) and names[1] == "start_response":
        return "wsgi"
    if count == 3 and isinstance(node, ast.AsyncFunctionDef) and names[1:] == ["receive", "send"]:
        return "asgi"
    return ""


def _in_module(source: Source, module: Module) -> list[App]:
    found: list[App] = []
    for node in module.tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            found += _assigned(source, module, node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found += _defined(source, module, node)
        elif isinstance(node, ast.ClassDef):
            bases = {origin(module, b).rsplit(".", 1)[-1] for b in node.bases}
            if bases & {"BaseHTTPRequestHandler", "SimpleHTTPRequestHandler"}:
                found.append(_app(module, "handler", node.name, node.name, 3))
    return found


def _app(module: Module, kind: str, expression: str, name: str, rank: int, extra: tuple[str, ...] = ()) -> App:
    return App(
        kind=kind,
        expression=expression,
        imports=(f"from {module.name} import {name}", *extra),
        root=module.root,
        where=module.path,
        rank=rank,
    )


def _assigned(source: Source, module: Module, node: ast.Assign | ast.AnnAssign) -> list[App]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    out = []
    for target in targets:
        if not isinstance(target, ast.Name):
            continue
        kind = _kind_of(source, module, node.value)
        if not kind and target.id in _VARIABLES and isinstance(node.value, ast.Call):
            kind = _factory_kind(source, module, node.value)
        if kind:
            out.append(_app(module, kind, target.id, target.id, 0 if target.id in _VARIABLES else 2))
    return out


def _factory_kind(source: Source, module: Module, call: ast.Call) -> str:
    name = origin(module, call.func).rsplit(".", 1)[-1]
    made = source.unique_function(name)
    return _returned_kind(source, made) if made else ""


def _defined(source: Source, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[App]:
    direct = _callable_kind(node, len(node.args.args))
    if direct:
        return [_app(module, direct, node.name, node.name, 1)]
    function = next((f for f in source.named.get(node.name, ()) if f.node is node), None)
    if function is None:
        return []
    kind = _returned_kind(source, function)
    if not kind:
        return []
    rank = 1 if _FACTORIES.match(node.name) else 2
    wired = Wired(f"{node.name}()", (), module.path)
    if any(not p.default and p.kind in ("positional", "keyword") for p in function.params):
        made = wiring_of(source, node.name)
        if made is None:
            return []
        wired, rank = made, rank + 1
    expression = wired.code
    if function.is_async:
        expression = f"await {expression}" if kind in ON_LOOP else f"asyncio.run({expression})"
    return [
        _app(
            module,
            kind,
            expression,
            node.name,
            rank,
            tuple(i for i in wired.imports if not i.endswith(f" {node.name}")),
        )
    ]


def _returned_kind(source: Source, function: Function, depth: int = 0) -> str:
    """The kind of what a function returns: an application that it made, wrapped or got from another factory."""
    module = source.modules[function.path]
    made: dict[str, str] = {}
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            kind = _kind_of(source, module, node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if kind and isinstance(target, ast.Name):
                    made[target.id] = kind
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not function.node:
            kind = _callable_kind(node, len(node.args.args))
            if kind:
                made[node.name] = kind
    for node in ast.walk(function.node):
        if isinstance(node, ast.Return) and node.value is not None:
            if isinstance(node.value, ast.Name) and node.value.id in made:
                return made[node.value.id]
            kind = _kind_of(source, module, node.value)
            if not kind and depth < 3 and isinstance(node.value, ast.Call):
                called = origin(module, node.value.func).rsplit(".", 1)[-1]
                other = source.unique_function(called)
                kind = _returned_kind(source, other, depth + 1) if other and other is not function else ""
            if kind:
                return kind
    return ""


def _django(source: Source, prefix: str) -> list[App]:
    """`get_wsgi_application()` under the settings module that the project itself names."""
    names: dict[str, str] = {}
    paths = sorted(source.settings, key=lambda path: (source.modules[path].is_test, path))
    for path in paths:
        if path.startswith(prefix):
            for name in source.settings[path]:
                names.setdefault(name, path)
    for text in source.texts:
        for match in _SETTINGS_MODULE.finditer(text):
            names.setdefault(match[1], "")
    by_module = {m.name: m for m in source.modules.values()}
    out = []
    for name, where in names.items():
        if name not in by_module:
            continue
        out.append(
            App(
                kind="wsgi",
                expression="get_wsgi_application()",
                imports=("from django.core.wsgi import get_wsgi_application",),
                root=by_module[name].root,
                where=where or by_module[name].path,
                django=name,
                rank=0 if "test" not in name else 4,
            )
        )
    return out
