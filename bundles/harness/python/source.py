"""A checked-out Python repository as data: modules, functions and classes by `ast`; nothing of it is ever imported."""

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from retrieval.model.paths import repo_path

MAX_FILES = 3000
MAX_BYTES = 1_000_000
_SKIPPED = {".git", "node_modules", "venv", ".venv", "env", "__pycache__", "site-packages", ".tox", "build", "dist"}


class Param(Struct, frozen=True):
    """One parameter. `kind` is positional|keyword|args|kwargs; `default` tells that it may be left out."""

    name: str
    kind: str
    default: bool
    annotation: str = ""


class Function(Struct, frozen=True, kw_only=True):
    """A function or method. `kind` is function|method|classmethod|staticmethod|property; `nested` ones can't be called
    from outside."""

    path: str
    module: str
    qualname: str
    kind: str
    is_async: bool
    is_generator: bool
    nested: bool
    params: tuple[Param, ...]
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: str = ""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def start(self) -> int:
        return min([self.node.lineno, *(d.lineno for d in self.node.decorator_list)])

    @property
    def end(self) -> int:
        return self.node.end_lineno or self.node.lineno


class Class(Struct, frozen=True, kw_only=True):
    """A class. `params` are what its constructor takes: its `__init__`, or its fields where a decorator or base class
    makes the constructor (dataclass, attrs, NamedTuple, pydantic)."""

    path: str
    module: str
    qualname: str
    bases: tuple[str, ...]
    params: tuple[Param, ...]
    fielded: bool
    enum: bool
    node: ast.ClassDef

    @property
    def name(self) -> str:
        return self.node.name


class Module(Struct, frozen=True, kw_only=True):
    path: str
    name: str
    root: str  # folder that must be on sys.path, "" for the repository's root
    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)  # local name -> dotted origin
    is_test: bool = False


class Source(Struct, frozen=True, kw_only=True):
    """All of a repository. `strings` are the string constants of non-test code, by text -> paths; `files` all paths."""

    modules: dict[str, Module]
    functions: tuple[Function, ...]
    classes: dict[str, tuple[Class, ...]]
    strings: dict[str, tuple[str, ...]]
    files: tuple[str, ...]

    def unique_class(self, name: str) -> Class | None:
        """The only class of that name; dotted names match by their last parts."""
        found = [c for c in self.classes.get(name.rsplit(".", 1)[-1], ()) if c.qualname.endswith(name) or "." in name]
        return found[0] if len(found) == 1 else None

    def function_at(self, path: str, name: str, line: int | None) -> Function | None:
        """The function of a frame: by line where the name agrees, else the only one of that name in the file."""
        here = [f for f in self.functions if f.path == path]
        inside = [f for f in here if line is not None and f.start <= line <= f.end]
        named = [f for f in inside if f.name == name.rsplit(".", 1)[-1]]
        if named:
            return max(named, key=lambda f: f.start)
        if name.startswith("<") and name != "<module>" and inside:
            return max(inside, key=lambda f: f.start)
        by_name = [f for f in here if f.qualname == name] or [f for f in here if f.name == name.rsplit(".", 1)[-1]]
        return by_name[0] if len(by_name) == 1 else None

    def resolve_file(self, printed: str) -> str | None:
        """The repository's path of a file as a traceback printed it; None for libraries."""
        if {"site-packages", "dist-packages"} & set(printed.replace("\\", "/").split("/")):
            return None
        return repo_path(printed, self.modules)


def read_source(tree: Path) -> Source:
    """Parse every Python file below `tree`; files that don't parse are left out, as are very large ones."""
    files = tuple(sorted(_walk(tree)))
    parsed: dict[str, ast.Module] = {}
    for path in [f for f in files if f.endswith(".py")][:MAX_FILES]:
        try:
            data = (tree / path).read_bytes()
            if len(data) <= MAX_BYTES:
                parsed[path] = ast.parse(data)
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
    return index_source(parsed, files)


def index_source(parsed: dict[str, ast.Module], files: tuple[str, ...]) -> Source:
    """Pure half of `read_source`."""
    roots = _Roots(parsed)
    modules = {}
    for path in sorted(parsed):
        root, name = roots.of(path)
        is_test = bool({"tests", "test"} & set(PurePosixPath(path).parts[:-1])) or _test_file(path)
        imports = _imports(parsed[path], name, path.endswith("__init__.py"))
        modules[path] = Module(path=path, name=name, root=root, tree=parsed[path], imports=imports, is_test=is_test)
    functions: list[Function] = []
    classes: dict[str, list[Class]] = {}
    strings: dict[str, set[str]] = {}
    for module in modules.values():
        if module.is_test:
            continue
        _collect(module, functions, classes)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
                strings.setdefault(node.value, set()).add(module.path)
    return Source(
        modules=modules,
        functions=tuple(functions),
        classes={name: tuple(found) for name, found in classes.items()},
        strings={text: tuple(sorted(paths)) for text, paths in sorted(strings.items())},
        files=files,
    )


def _walk(tree: Path) -> Iterator[str]:
    stack = [tree]
    while stack:
        for entry in sorted(stack.pop().iterdir()):
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if entry.name not in _SKIPPED:
                    stack.append(entry)
            else:
                yield entry.relative_to(tree).as_posix()


def _test_file(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"


class _Roots:
    """Which folder of a file is the import root: packages by `__init__.py`, else what the code itself imports."""

    def __init__(self, parsed: dict[str, ast.Module]) -> None:
        self._packages = {str(PurePosixPath(p).parent) for p in parsed if p.endswith("__init__.py")}
        self._imported: dict[str, int] = {}
        for tree in parsed.values():
            for node in ast.walk(tree):
                for name in _absolute(node):
                    self._imported[name] = self._imported.get(name, 0) + 1

    def of(self, path: str) -> tuple[str, str]:
        pure = PurePosixPath(path)
        parts = list(pure.parts[:-1])
        depth = len(parts)
        while depth and "/".join(parts[:depth]) in self._packages:
            depth -= 1
        stem = [] if pure.name == "__init__.py" else [pure.stem]
        best, best_score = depth, -1
        for cut in range(depth, -1, -1):
            dotted = ".".join([*parts[cut:], *stem])
            score = self._imported.get(dotted, 0) + sum(
                n
                for name, n in self._imported.items()
                if cut < len(parts) and name.startswith(".".join(parts[cut:]) + ".")
            )
            if score > best_score and (cut == depth or score > 0):
                best, best_score = cut, score
        return "/".join(parts[:best]), ".".join([*parts[best:], *stem]) or pure.stem


def _absolute(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module
        for alias in node.names:
            yield f"{node.module}.{alias.name}"


def _imports(tree: ast.Module, module: str, is_package: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = module.split(".")
                up = up[: len(up) - node.level + (1 if is_package else 0)]
                base = ".".join([*up, base] if base else up)
            for alias in node.names:
                found[alias.asname or alias.name] = f"{base}.{alias.name}" if base else alias.name
    return found


def _collect(module: Module, functions: list[Function], classes: dict[str, list[Class]]) -> None:
    def visit(body: list[ast.stmt], prefix: str, owner: str, nested: bool) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(_function(module, node, prefix, owner, nested))
                visit(node.body, f"{prefix}{node.name}.<locals>.", "", True)
            elif isinstance(node, ast.ClassDef):
                if not nested:
                    classes.setdefault(node.name, []).append(_class(module, node, prefix))
                visit(node.body, f"{prefix}{node.name}.", f"{prefix}{node.name}", nested)
            else:
                for part in ("body", "orelse", "finalbody"):
                    visit([n for n in getattr(node, part, []) if isinstance(n, ast.stmt)], prefix, owner, nested)
                for handler in getattr(node, "handlers", []):
                    visit(handler.body, prefix, owner, nested)

    visit(module.tree.body, "", "", False)


def _function(
    module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str, owner: str, nested: bool
) -> Function:
    decorators = {_dotted(d.func if isinstance(d, ast.Call) else d).rsplit(".", 1)[-1] for d in node.decorator_list}
    kind = "function"
    if owner:
        kind = next((k for k in ("classmethod", "staticmethod") if k in decorators), "method")
        if decorators & {"property", "cached_property"}:
            kind = "property"
    params = parameters(node)
    return Function(
        path=module.path,
        module=module.name,
        qualname=prefix + node.name,
        kind=kind,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        is_generator=any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes(node)),
        nested=nested,
        params=params[1:] if kind in ("method", "classmethod", "property") else params,
        node=node,
        owner=owner,
    )


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function's own body, without those of functions and classes inside it."""
    stack = list(ast.iter_child_nodes(node))
    while stack:
        child = stack.pop()
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(child))


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Param, ...]:
    """All parameters in order of declaration."""
    args = node.args
    ordered = [*args.posonlyargs, *args.args]
    first_default = len(ordered) - len(args.defaults)
    out = [Param(a.arg, "positional", i >= first_default, _annotation(a)) for i, a in enumerate(ordered)]
    if args.vararg:
        out.append(Param(args.vararg.arg, "args", True, _annotation(args.vararg)))
    out += [
        Param(a.arg, "keyword", d is not None, _annotation(a))
        for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg:
        out.append(Param(args.kwarg.arg, "kwargs", True, _annotation(args.kwarg)))
    return tuple(out)


def _annotation(arg: ast.arg) -> str:
    if arg.annotation is None:
        return ""
    if isinstance(arg.annotation, ast.Constant):
        return str(arg.annotation.value)
    return ast.unparse(arg.annotation)


def _class(module: Module, node: ast.ClassDef, prefix: str) -> Class:
    bases = tuple(_dotted(b) for b in node.bases)
    decorators = {_dotted(d.func if isinstance(d, ast.Call) else d).rsplit(".", 1)[-1] for d in node.decorator_list}
    last = {b.rsplit(".", 1)[-1] for b in bases}
    fielded = bool(decorators & {"dataclass", "define", "frozen", "attrs", "s", "mutable"}) or bool(
        last & {"NamedTuple", "BaseModel", "Struct", "TypedDict", "SQLModel"}
    )
    init = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    params = parameters(init)[1:] if init else (_fields(node) if fielded else ())
    enum = bool(last & {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
    return Class(
        path=module.path,
        module=module.name,
        qualname=prefix + node.name,
        bases=bases,
        params=params,
        fielded=fielded and init is None,
        enum=enum,
        node=node,
    )


def _fields(node: ast.ClassDef) -> tuple[Param, ...]:
    out = []
    for item in node.body:
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        text = ast.unparse(item.annotation)
        if text.startswith(("ClassVar", "typing.ClassVar")):
            continue
        call = item.value if isinstance(item.value, ast.Call) else None
        if call and any(
            k.arg == "init" and isinstance(k.value, ast.Constant) and not k.value.value for k in call.keywords
        ):
            continue
        out.append(Param(item.target.id, "positional", _has_default(item.value), text))
    return tuple(out)


def _has_default(value: ast.expr | None) -> bool:
    """A bare `field(...)`/`Field(...)` without a default is a required field."""
    if value is None:
        return False
    if isinstance(value, ast.Call) and _dotted(value.func).rsplit(".", 1)[-1] in ("field", "Field", "ib"):
        named = {k.arg for k in value.keywords}
        required = bool(value.args) and isinstance(value.args[0], ast.Constant) and value.args[0].value is Ellipsis
        return bool(named & {"default", "default_factory", "factory"}) or (bool(value.args) and not required)
    return True


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return ""


dotted = _dotted
