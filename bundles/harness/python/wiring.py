"""How production builds an object: the call in the repository, with its local variables written out (pure).

`Relay(Gateway(), job_timeout_s=config.job_timeout_s)` in `main()`, where `config = Config.load()`, becomes
`Relay(Gateway(), job_timeout_s=Config.load().job_timeout_s)` with the imports that it needs, so that a test can build
the object as the process did, from the same environment.
"""

import ast
import builtins
import copy

from msgspec import Struct

from bundles.harness.python.declared import dotted, own_nodes
from bundles.harness.python.source import Module, Source

_DEPTH = 6
MAX_SITES = 50
_BUILTINS = frozenset(dir(builtins))


class Wired(Struct, frozen=True):
    """An expression, its import lines, and where in the repository it stands."""

    code: str
    imports: tuple[str, ...]
    where: str


class _Unwired(Exception):
    """The expression needs something that only the running process had."""


def wiring_of(source: Source, name: str) -> Wired | None:
    """The first call of class or function `name`, or of an alternative constructor (`Store.load`), outside tests whose
    arguments can be written out; entry points are looked at first."""
    other = [
        s for s in source.sites.get(f"{name}.", ()) if _makes(source, name, dotted(s.call.func).rsplit(".", 1)[-1])
    ]
    sites = sorted((*source.sites.get(name, ()), *other), key=lambda s: not s.path.endswith("__main__.py"))
    for site in sites[:MAX_SITES]:
        try:
            return _Inliner(source, source.modules[site.path], site.scope).wired(site.call)
        except _Unwired:
            continue
    return None


def example_of(source: Source, name: str) -> Wired | None:
    """The first call of class `name` in the repository's own tests that stands on literals and the service's code: how
    its authors make one where production's data is not at hand."""
    for site in source.examples.get(name, ())[:MAX_SITES]:
        try:
            return _Inliner(source, source.modules[site.path], site.scope).wired(site.call)
        except _Unwired:
            continue
    return None


def _makes(source: Source, owner: str, method: str) -> bool:
    return any(f.kind == "classmethod" and f.owner.endswith(owner) for f in source.named.get(method, ()))


class _Inliner:
    def __init__(self, source: Source, module: Module, scope: ast.AST) -> None:
        self._source, self._module, self._scope = source, module, scope
        self._imports: list[str] = []
        self._locals = self._assignments(scope)
        self._parameters: set[str] = set()
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            self._parameters = {a.arg for a in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)}

    def wired(self, node: ast.Call) -> Wired:
        made = self._inline(copy.deepcopy(node), 0)
        ast.fix_missing_locations(made)
        return Wired(ast.unparse(made), tuple(dict.fromkeys(self._imports)), f"{self._module.path}:{node.lineno}")

    @staticmethod
    def _assignments(scope: ast.AST) -> dict[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        for node in own_nodes(scope):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, []).append(node.value)
        return found

    def _inline(self, node: ast.AST, depth: int) -> ast.AST:
        if depth > _DEPTH:
            raise _Unwired
        match node:
            case ast.Name():
                return self._name(node, depth)
            case ast.Attribute():
                default = self._argparse_default(node)
                if default is not None:
                    return default
                node.value = self._expr(node.value, depth)
                return node
            case ast.Constant():
                return node
            case ast.Lambda() | ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
                raise _Unwired
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(node, depth)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr | ast.keyword | ast.comprehension | ast.FormattedValue):
                setattr(node, name, self._inline(value, depth))
            elif isinstance(value, list):
                setattr(node, name, [self._inline(v, depth) if isinstance(v, ast.AST) else v for v in value])
        return node

    def _expr(self, node: ast.expr, depth: int) -> ast.expr:
        made = self._inline(node, depth)
        if not isinstance(made, ast.expr):
            raise _Unwired
        return made

    def _comprehension(self, node: ast.AST, depth: int) -> ast.AST:
        bound = {
            n.id
            for g in ast.walk(node)
            if isinstance(g, ast.comprehension)
            for n in ast.walk(g.target)
            if isinstance(n, ast.Name)
        }
        kept = dict(self._locals)
        for name in bound:
            self._locals[name] = [ast.Name(id=name, ctx=ast.Load())]
        try:
            for child in ast.walk(node):
                if isinstance(child, ast.Name) and child.id not in bound:
                    made = self._name(child, depth)
                    if made is not child:
                        raise _Unwired
        finally:
            self._locals = kept
        return node

    def _name(self, node: ast.Name, depth: int) -> ast.AST:
        name = node.id
        if name in self._parameters:
            raise _Unwired
        if name in self._locals and self._scope is not self._module.tree:
            if len(self._locals[name]) != 1:
                raise _Unwired
            return self._inline(copy.deepcopy(self._locals[name][0]), depth + 1)
        if name in self._module.imports:
            self._imports.append(_import_line(name, self._module.imports[name], self._module))
            return node
        if name in _BUILTINS:
            return node
        if self._importable(name):
            self._imports.append(f"from {self._module.name} import {name}")
            return node
        if len(self._locals.get(name, ())) == 1:
            return self._inline(copy.deepcopy(self._locals[name][0]), depth + 1)
        raise _Unwired

    def _importable(self, name: str) -> bool:
        """Whether the module has the name when it is imported; a `__main__` can't be."""
        if self._module.name.endswith("__main__") or self._module.is_test:
            return False
        for node in self._module.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
                return True
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return True
        return False

    def _argparse_default(self, node: ast.Attribute) -> ast.expr | None:
        """`args.channels` is the default of `add_argument("--channels", default=...)`."""
        if not isinstance(node.value, ast.Name) or node.value.id not in ("args", "options", "opts", "arguments", "ns"):
            return None
        for call in ast.walk(self._module.tree):
            if not (isinstance(call, ast.Call) and dotted(call.func).endswith("add_argument") and call.args):
                continue
            flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            named = {k.arg: k.value for k in call.keywords}
            dest = named.get("dest")
            names = {f.lstrip("-").replace("-", "_") for f in flags}
            if isinstance(dest, ast.Constant):
                names = {str(dest.value)}
            if node.attr in names and isinstance(named.get("default"), ast.Constant):
                return copy.deepcopy(named["default"])
        raise _Unwired


def _import_line(name: str, target: str, module: Module) -> str:
    """The line that binds `name` as the module's own import did."""
    head, _, last = target.rpartition(".")
    if not head:
        return f"import {target}" if name == target else f"import {target} as {name}"
    return f"from {head} import {last}" if last == name else f"from {head} import {last} as {name}"
