"""Puts a function back as it was before a commit, into a later version of its file. Pure.

Later commits often touch the same lines, so that a hunk cannot be taken back; the function as a whole still can. What
the old body needs and the file no longer binds at its top (imports, constants, functions) is brought back with it.
Text is spliced by the line ranges of the syntax tree, so that nothing else moves.
"""

import ast
from collections.abc import Iterator, Sequence

from bundles.patch.parsing import parse_python
from retrieval.model import Hunk

Function = ast.FunctionDef | ast.AsyncFunctionDef


def touched_functions(before: str, at_commit: str, hunks: Sequence[Hunk]) -> list[str]:
    """Qualified names of functions that a commit changed and that are there before and after it, in order."""
    old, new = _functions(before), _functions(at_commit)
    touched = []
    for name in new:
        if name not in old:
            continue
        was, now = _range(old[name]), _range(new[name])
        for hunk in hunks:
            in_old = hunk.old_lines and was[0] <= hunk.old_start + hunk.old_lines - 1 and hunk.old_start <= was[1]
            in_new = hunk.new_lines and now[0] <= hunk.new_start + hunk.new_lines - 1 and hunk.new_start <= now[1]
            if in_old or in_new:
                touched.append(name)
                break
    # An outer function that holds a touched inner one would put back more than was asked for.
    return [name for name in touched if not any(other.startswith(f"{name}.") for other in touched)]


def restore_functions(deployed: str, before: str, names: Sequence[str]) -> str | None:
    """`deployed` with these functions as in `before`. None when one is missing, the files do not parse, the result does
    not, or nothing changes."""
    now, then = _functions(deployed), _functions(before)
    if not names or any(name not in now or name not in then for name in names):
        return None
    lines, old_lines = deployed.split("\n"), before.split("\n")
    for name in sorted(names, key=lambda n: now[n].lineno, reverse=True):
        (first, last), (old_first, old_last) = _range(now[name]), _range(then[name])
        lines[first - 1 : last] = old_lines[old_first - 1 : old_last]
    result = _bring_back("\n".join(lines), before, [then[name] for name in names])
    return result if result != deployed and parse_python(result) is not None else None


def _functions(text: str) -> dict[str, Function]:
    """Functions by qualified name; of several with one name the first."""
    found: dict[str, Function] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    found.setdefault(name, child)
                walk(child, f"{name}.")
            elif isinstance(child, ast.If | ast.Try | ast.With):
                walk(child, prefix)

    tree = parse_python(text)
    if tree is not None:
        walk(tree, "")
    return found


def _range(node: Function) -> tuple[int, int]:
    """First and last line, 1-based, decorators included."""
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return start, node.end_lineno or node.lineno


def _bring_back(text: str, before: str, functions: Sequence[Function]) -> str:
    tree, old_tree = parse_python(text), parse_python(before)
    if tree is None or old_tree is None:
        return text
    bound = {name for statement in tree.body for name in _binds(statement)}
    wanted = {name for function in functions for name in _reads(function)} - bound
    imports: list[str] = []
    others: list[str] = []
    old_lines = before.split("\n")
    # From the last to the first: what is brought back may need what was bound before it.
    for statement in reversed(old_tree.body):
        if not wanted.intersection(_binds(statement)):
            continue
        start = _range(statement)[0] if isinstance(statement, Function) else statement.lineno
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imports.insert(0, _only(statement, wanted))
        else:
            others.insert(0, "\n".join(old_lines[start - 1 : statement.end_lineno]))
        wanted |= set(_reads(statement)) - bound
    return _insert(text, tree, imports, others)


def _only(statement: ast.Import | ast.ImportFrom, wanted: set[str]) -> str:
    """The import with the wanted names alone."""
    names = [a for a in statement.names if (a.asname or a.name.partition(".")[0]) in wanted]
    cut: ast.stmt = (
        ast.Import(names=names)
        if isinstance(statement, ast.Import)
        else ast.ImportFrom(module=statement.module, names=names, level=statement.level)
    )
    return ast.unparse(cut)


def _binds(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
    elif isinstance(statement, Function | ast.ClassDef):
        yield statement.name
    else:
        yield from (
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )


def _reads(node: ast.AST) -> Iterator[str]:
    yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _insert(text: str, tree: ast.Module, imports: Sequence[str], others: Sequence[str]) -> str:
    """After the last import at the top, else after the docstring, else at the beginning."""
    at = 0
    for index, statement in enumerate(tree.body):
        docstring = index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not docstring and not isinstance(statement, ast.Import | ast.ImportFrom):
            break
        at = statement.end_lineno or at
    lines = text.split("\n")
    added = [*imports, *(["", *others] if others else [])]
    if added and (at == 0 or (at < len(lines) and lines[at].strip())):
        added.append("")
    return "\n".join([*lines[:at], *added, *lines[at:]])
