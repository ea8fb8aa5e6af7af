"""A checked-out Python repository as data: modules, functions and classes by `ast`; nothing of it is ever imported."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from bundles.harness.python.declared import Class, Function, Where, collect
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
    classes: dict[str, tuple[Class, ...]]
    strings: dict[str, tuple[str, ...]]
    files: tuple[str, ...]
    texts: tuple[str, ...] = ()  # Dockerfiles, Procfiles and the like, which may say how the service is started

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
    return index_source(parsed, files, tuple(_serve_texts(tree, files)))


def index_source(parsed: dict[str, ast.Module], files: tuple[str, ...], texts: tuple[str, ...] = ()) -> Source:
    """Pure half of `read_source`."""
    roots = _Roots(parsed, texts)
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
        collect(Where(module.path, module.name), module.tree, functions, classes)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
                strings.setdefault(node.value, set()).add(module.path)
    return Source(
        modules=modules,
        functions=tuple(functions),
        classes={name: tuple(found) for name, found in classes.items()},
        strings={text: tuple(sorted(paths)) for text, paths in sorted(strings.items())},
        files=files,
        texts=texts,
    )


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

    def __init__(self, parsed: dict[str, ast.Module], texts: tuple[str, ...]) -> None:
        self._packages = {str(PurePosixPath(p).parent) for p in parsed if p.endswith("__init__.py")}
        self._imported: dict[str, int] = {}
        for tree in parsed.values():
            for node in ast.walk(tree):
                for name in _absolute(node):
                    self._imported[name] = self._imported.get(name, 0) + 1
        for text in texts:
            for name in _NAMED.findall(text):
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
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _DOTTED.match(node.value):
        yield node.value.split(":")[0]  # "shop.settings", "app.main:app"


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
