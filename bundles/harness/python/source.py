"""A checked-out Python repository as data: modules, functions and classes by `ast`; nothing of it is ever imported."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from bundles.harness.python.declared import Class, Function, Where, collect
from bundles.harness.python.scan import Facts, Site, scan
from retrieval.model.paths import repo_path

_DOTTED = re.compile(r"^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?::\w+)?$")
_NAMED = re.compile(r"(?:-m +|=|[\s\"'])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?=:\w|[\s\"']|$)", re.MULTILINE)
_SERVE_NAMES = ("Dockerfile", "Procfile", "Makefile", "setup.cfg", "pyproject.toml", "compose", "docker-compose")
_SERVE_SUFFIXES = (".sh", ".service", ".ini", ".conf", ".yaml", ".yml")
MAX_SERVE_TEXT = 100_000
MAX_FILES = 3000
MAX_BYTES = 1_000_000
_SKIPPED = {".git", "node_modules", "venv", ".venv", "env", "__pycache__", "site-packages", ".tox", "build", "dist"}


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
    named: dict[str, tuple[Function, ...]]
    classes: dict[str, tuple[Class, ...]]
    strings: dict[str, tuple[str, ...]]
    files: tuple[str, ...]
    sites: dict[str, tuple[Site, ...]] = field(default_factory=dict)  # calls outside tests, by the names that they call
    examples: dict[str, tuple[Site, ...]] = field(default_factory=dict)  # likewise inside tests
    raises: tuple[tuple[str, ast.Raise | ast.Assert], ...] = ()
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict)  # path -> values of DJANGO_SETTINGS_MODULE
    texts: tuple[str, ...] = ()  # Dockerfiles, Procfiles and the like, which may say how the service is started

    def unique_class(self, name: str) -> Class | None:
        """The only class of that name; dotted names match by their last parts."""
        found = [c for c in self.classes.get(name.rsplit(".", 1)[-1], ()) if c.qualname.endswith(name) or "." in name]
        return found[0] if len(found) == 1 else None

    def unique_function(self, name: str) -> Function | None:
        """The only function of that name that stands in no class and no other function."""
        found = [f for f in self.named.get(name, ()) if not f.owner and not f.nested]
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
    return index_source(parsed, files, tuple(_serve_texts(tree, files)))


def index_source(parsed: dict[str, ast.Module], files: tuple[str, ...], texts: tuple[str, ...] = ()) -> Source:
    """Pure half of `read_source`."""
    scanned = {path: scan(path, parsed[path]) for path in sorted(parsed)}
    roots = _Roots(scanned, texts)
    modules = {path: _module(path, parsed[path], facts, roots.of(path)) for path, facts in scanned.items()}
    functions: list[Function] = []
    classes: dict[str, list[Class]] = {}
    strings: dict[str, set[str]] = {}
    sites: dict[str, list[Site]] = {}
    examples: dict[str, list[Site]] = {}
    raises: list[tuple[str, ast.Raise | ast.Assert]] = []
    for path, facts in scanned.items():
        if modules[path].is_test:
            for name, site in facts.calls:
                examples.setdefault(name, []).append(site)
            continue
        collect(Where(path, modules[path].name, facts.generators), parsed[path], functions, classes)
        raises += [(path, node) for node in facts.raises]
        for text in facts.strings:
            strings.setdefault(text, set()).add(path)
        for name, site in facts.calls:
            sites.setdefault(name, []).append(site)
    named: dict[str, list[Function]] = {}
    for function in functions:
        named.setdefault(function.name, []).append(function)
    return Source(
        modules=modules,
        functions=tuple(functions),
        named={name: tuple(found) for name, found in named.items()},
        classes={name: tuple(found) for name, found in classes.items()},
        strings={text: tuple(sorted(paths)) for text, paths in sorted(strings.items())},
        files=files,
        sites={name: tuple(found) for name, found in sites.items()},
        examples={name: tuple(found) for name, found in examples.items()},
        raises=tuple(raises),
        settings={path: tuple(facts.settings) for path, facts in scanned.items() if facts.settings},
        texts=texts,
    )


def _module(path: str, tree: ast.Module, facts: Facts, root: tuple[str, str]) -> Module:
    is_test = bool({"tests", "test"} & set(PurePosixPath(path).parts[:-1])) or _test_file(path)
    imports = _imports(facts.imports, root[1], path.endswith("__init__.py"))
    return Module(path=path, name=root[1], root=root[0], tree=tree, imports=imports, is_test=is_test)


def _serve_texts(tree: Path, files: tuple[str, ...]) -> Iterator[str]:
    for path in files:
        pure = PurePosixPath(path)
        if len(pure.parts) <= 4 and (pure.name.startswith(_SERVE_NAMES) or pure.suffix in _SERVE_SUFFIXES):
            try:
                yield (tree / path).read_bytes()[:MAX_SERVE_TEXT].decode("utf-8", "replace")
            except OSError:
                continue


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

    def __init__(self, scanned: dict[str, Facts], texts: tuple[str, ...]) -> None:
        self._packages = {str(PurePosixPath(p).parent) for p in scanned if p.endswith("__init__.py")}
        self._imported: dict[str, int] = {}
        self._below: dict[str, int] = {}  # how many imported names lie in a package
        for facts in scanned.values():
            for node in facts.imports:
                for name in _absolute(node):
                    self._count(name)
            for text in facts.strings:  # "shop.settings", "app.main:app"
                if _DOTTED.match(text):
                    self._count(text.split(":")[0])
        for text in texts:
            for name in _NAMED.findall(text):
                self._count(name)

    def _count(self, name: str) -> None:
        self._imported[name] = self._imported.get(name, 0) + 1
        parts = name.split(".")
        for end in range(1, len(parts)):
            package = ".".join(parts[:end])
            self._below[package] = self._below.get(package, 0) + 1

    def of(self, path: str) -> tuple[str, str]:
        pure = PurePosixPath(path)
        parts = list(pure.parts[:-1])
        depth = len(parts)
        while depth and "/".join(parts[:depth]) in self._packages:
            depth -= 1
        stem = [] if pure.name == "__init__.py" else [pure.stem]
        best, best_score = depth, -1
        for cut in range(depth, -1, -1):
            name, package = ".".join([*parts[cut:], *stem]), ".".join(parts[cut:])
            score = self._imported.get(name, 0) + self._below.get(package, 0)
            if score > best_score and (cut == depth or score > 0):
                best, best_score = cut, score
        return "/".join(parts[:best]), ".".join([*parts[best:], *stem]) or pure.stem


def _absolute(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif node.level == 0 and node.module:
        yield node.module
        for alias in node.names:
            yield f"{node.module}.{alias.name}"


def _imports(nodes: list[ast.Import | ast.ImportFrom], module: str, is_package: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        else:
            base = node.module or ""
            if node.level:
                up = module.split(".")
                up = up[: len(up) - node.level + (1 if is_package else 0)]
                base = ".".join([*up, base] if base else up)
            for alias in node.names:
                found[alias.asname or alias.name] = f"{base}.{alias.name}" if base else alias.name
    return found
