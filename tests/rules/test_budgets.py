"""Sizes and names that the house keeps to."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bot", "bundles", "retrieval")
FILES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS = 400, 60, 7
VAGUE = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MAX_FILE
    for function in _functions(ast.parse(text)):
        assert function.end_lineno is not None
        assert function.end_lineno - function.lineno <= MAX_FUNCTION, function.name
        taken = len(function.args.args) + len(function.args.posonlyargs)
        assert taken <= MAX_PARAMETERS, f"{function.name} takes {taken} positional parameters"


def test_no_room_has_a_name_that_says_nothing() -> None:
    for path in FILES:
        assert not VAGUE & {*path.relative_to(ROOT).with_suffix("").parts}, path


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(p.relative_to(ROOT))
        for p in FILES
        if p.read_text().strip() and not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert not silent


def test_broad_excepts_are_rare() -> None:
    broad, lines = [], 0
    for path in FILES:
        text = path.read_text()
        lines += text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException")
            ):
                broad.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(broad) * 1000 <= lines, broad


def test_the_top_level_holds_only_the_rooms() -> None:
    allowed = {
        *PACKAGES,
        "templates",
        "tests",
        "helm",
        "README.md",
        "pyproject.toml",
        "Makefile",
        "requirements",
        "LICENSE",
        "out",
    }
    found = {p.name for p in ROOT.iterdir() if not p.name.startswith(".") and not p.name.endswith(".egg-info")}
    assert found <= allowed
