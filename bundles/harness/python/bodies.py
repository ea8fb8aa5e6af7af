"""Request bodies that only the variables of a view's frame recorded, and whether a view reads a body at all (pure)."""

import ast
from typing import Any

from msgspec import Struct

from bundles.harness.occurrences import Occurrence
from bundles.harness.python.calls import Located
from bundles.harness.python.declared import Function, dotted, own_nodes
from bundles.harness.python.pool import Pool, normal
from bundles.harness.python.source import Source
from bundles.harness.python.values import UNKNOWN, decode

_READS = {
    "json", "get_json", "body", "form", "POST", "data", "media", "get_data", "get_media", "stream", "bounded_stream",
    "files", "post", "text", "read", "values", "body_arguments", "get_body_argument", "params", "content",
}  # fmt: skip
_REQUESTS = {
    "request",
    "req",
    "self.request",
    "environ",
    "rfile",
    "self.rfile",
    "flask.request",
    "bottle.request",
    "falcon",
}
_NAMES = (
    "payload",
    "body",
    "data",
    "json_data",
    "request_data",
    "request_body",
    "form",
    "document",
    "content",
    "params",
    "input_data",
)


class Body(Struct, frozen=True):
    """A body as plain data; `form` where the view reads it as a form."""

    value: Any
    form: bool
    source: str


def body_of(occurrence: Occurrence, stack: list[Located], source: Source) -> Body | None:
    """The body among the variables of the frames, outermost view first: what was read from the request, then a
    parameter of a data class that the framework fills, then variables that are named so."""
    found: list[tuple[int, int, Body]] = []
    for depth, here in enumerate(stack):
        cited = next(
            (str(t.source) for t in occurrence.thrown if t.info.trace and here.frame in t.info.trace.frames), ""
        )
        for name, recorded in here.frame.locals.items():
            value = decode(recorded, source)
            if value is None or value.plain is UNKNOWN or not isinstance(value.plain, dict | list) or not value.plain:
                continue
            rank, form = _rank(here.function, name, source, depth)
            if rank is not None:
                found.append((rank, depth, Body(value.plain, form, cited)))
    return min(found, key=lambda f: f[:2])[2] if found else None


def logged_body(pool: Pool, stack: list[Located], source: Source) -> Body | None:
    """A document among the records of the failure that holds keys which the code on the stack reads: the one that
    holds most of them, and where one key has to do, one that is named like a body."""
    read = _keys_read(stack, source)
    best: tuple[int, int, Body] | None = None
    for order, entry in enumerate(pool.documents()):
        plain = entry.value.plain
        if not isinstance(plain, dict) or entry.rank > 6:
            continue
        shared = len(read & set(plain))
        named = normal(entry.name).rsplit("_", 1)[-1] in _NAMES
        if (shared >= 2 or (shared and (named or len(plain) == 1))) and (best is None or (shared, -order) > best[:2]):
            best = (shared, -order, Body(plain, False, entry.source))
    return best[2] if best else None


def _keys_read(stack: list[Located], source: Source) -> set[str]:
    keys: set[str] = set()
    for function in _near(stack, source):
        for node in own_nodes(function.node):
            match node:
                case ast.Subscript(slice=ast.Constant(value=str() as key)):
                    keys.add(key)
                case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str() as key), *_]):
                    keys.add(key)
        for param in function.params:
            found = source.unique_class(param.annotation.rsplit(".", 1)[-1]) if param.annotation else None
            keys |= {p.name for p in found.params} if found and found.fielded else set()
    return keys


def _rank(function: Function, name: str, source: Source, depth: int) -> tuple[int | None, bool]:
    for node in own_nodes(function.node):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            text = ast.unparse(node.value)
            if _mentions_request(node.value):
                return 0, ".form" in text or ".POST" in text or ".post()" in text
    for param in function.params:
        if param.name == name and depth == 0 and param.annotation:
            last = param.annotation.rsplit(".", 1)[-1].split("[")[0]
            known = source.unique_class(last)
            if known and known.fielded:
                return 1, False
            if "Body(" in ast.unparse(function.node.args):
                return 1, False
    return (2, name == "form") if name in _NAMES else (None, False)


def _mentions_request(node: ast.AST) -> bool:
    return any(dotted(n) in _REQUESTS or dotted(n).endswith(".request") for n in ast.walk(node))


def reads_body(stack: list[Located], source: Source) -> bool:
    """Whether a function on the stack, or one that it calls directly, reads the request's body. True where no function
    of the application is known."""
    if not stack:
        return True
    return any(_reads(f, source) for f in _near(stack, source))


def _near(stack: list[Located], source: Source) -> list[Function]:
    """The functions on the stack and those that they call directly by an unambiguous name."""
    functions = {id(h.function): h.function for h in stack}
    for here in stack:
        for node in own_nodes(here.function.node):
            if isinstance(node, ast.Call):
                called = source.named.get(dotted(node.func).rsplit(".", 1)[-1], ())
                functions.update({id(f): f for f in called if len(called) == 1})
    return list(functions.values())


def _reads(function: Function, source: Source) -> bool:
    for node in own_nodes(function.node):
        if isinstance(node, ast.Attribute) and node.attr in _READS:
            base = dotted(node.value)
            if base in _REQUESTS or base.endswith("request"):
                return True
        if isinstance(node, ast.Constant) and node.value == "wsgi.input":
            return True
    route = any(_routed(d) for d in function.node.decorator_list)
    return route and any(
        (found := source.unique_class(p.annotation.rsplit(".", 1)[-1])) is not None and found.fielded
        for p in function.params
        if p.annotation
    )


def _routed(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).rsplit(".", 1)[-1] in (
        "post",
        "put",
        "patch",
        "route",
        "api_route",
        "delete",
    )


_QUERIES = {
    "args",
    "query_params",
    "GET",
    "query",
    "query_string",
    "get_param",
    "params",
    "get_query_argument",
    "rel_url",
}
_CLOCKS = {"now", "utcnow", "today", "time", "time_ns", "localtime", "gmtime", "localdate"}
_CLOCK_OWNERS = {
    "datetime",
    "date",
    "time",
    "timezone",
    "dt",
    "datetime.datetime",
    "datetime.date",
    "dt.datetime",
    "dt.date",
}


def reads_query(stack: list[Located]) -> bool:
    """Whether a function on the stack reads the request's query string."""
    for here in stack:
        for node in own_nodes(here.function.node):
            if isinstance(node, ast.Attribute) and node.attr in _QUERIES:
                base = dotted(node.value)
                if base in _REQUESTS or base.endswith("request"):
                    return True
    return False


def uses_clock(stack: list[Located], source: Source) -> bool:
    """Whether a function on the stack, or one that it calls directly, asks for the time of day."""
    return any(_asks_time(f) for f in _near(stack, source))


def _asks_time(function: Function) -> bool:
    for node in own_nodes(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CLOCKS:
            owner = dotted(node.func.value)
            if owner in _CLOCK_OWNERS:
                return True
    return False
