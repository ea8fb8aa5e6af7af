"""One pass over a file's syntax that gathers all that later questions need (pure)."""

import ast
from collections.abc import Iterator

from msgspec import Struct, field

from bundles.harness.python.declared import dotted

_LONGEST_STRING = 200
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Site(Struct, frozen=True):
    """A call, with the file and the scope (a function, or the module itself) that it stands in."""

    path: str
    scope: ast.AST
    call: ast.Call


class Facts(Struct, frozen=True):
    """What one file holds. `calls` by the last name of what is called, and `Store.load()` under `Store.` too;
    `generators` are the ids of functions that yield; `settings` are values of DJANGO_SETTINGS_MODULE."""

    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    strings: dict[str, None] = field(default_factory=dict)
    calls: list[tuple[str, Site]] = field(default_factory=list)
    raises: list[ast.Raise | ast.Assert] = field(default_factory=list)
    generators: set[int] = field(default_factory=set)
    settings: list[str] = field(default_factory=list)


def scan(path: str, tree: ast.Module) -> Facts:
    """Every node once, with the function that it stands in."""
    facts = Facts()
    for node, scope in _scoped(tree):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and len(node.value) < _LONGEST_STRING:
                facts.strings[node.value] = None
        elif isinstance(node, ast.Call):
            facts.calls.extend(_called(path, node, scope))
            _settings(node, facts)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            facts.imports.append(node)
        elif isinstance(node, ast.Raise | ast.Assert):
            facts.raises.append(node)
        elif isinstance(node, ast.Yield | ast.YieldFrom):
            facts.generators.add(id(scope))
        elif isinstance(node, ast.Assign):
            _settings(node, facts)
    return facts


def _scoped(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """In source order, as far as one stack gives it."""
    stack: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while stack:
        node, scope = stack.pop()
        yield node, scope
        inner = node if isinstance(node, _FUNCTIONS) else scope
        stack.extend([(child, inner) for child in ast.iter_child_nodes(node)][::-1])


def _called(path: str, node: ast.Call, scope: ast.AST) -> Iterator[tuple[str, Site]]:
    parts = dotted(node.func).split(".")
    if parts[-1]:
        yield parts[-1], Site(path, scope, node)
        if len(parts) > 1 and parts[-2][:1].isupper():
            yield f"{parts[-2]}.", Site(path, scope, node)


def _settings(node: ast.Call | ast.Assign, facts: Facts) -> None:
    """`os.environ.setdefault("DJANGO_SETTINGS_MODULE", X)` or `os.environ["DJANGO_SETTINGS_MODULE"] = X`."""
    key: ast.expr | None = None
    value: ast.expr | None = None
    if isinstance(node, ast.Call) and len(node.args) == 2:
        key, value = node.args
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        key, value = node.targets[0].slice, node.value
    if isinstance(key, ast.Constant) and key.value == "DJANGO_SETTINGS_MODULE" and isinstance(value, ast.Constant):
        facts.settings.append(str(value.value))
