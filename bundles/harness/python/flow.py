"""Recorded values followed through the straight lines of a function (pure).

A small evaluator over plain data: names, constants, subscripts, tuple unpacking and a closed list of string and number
calls. What it doesn't know is unknown; nothing of the repository is run.
"""

import ast
from typing import Any

from bundles.harness.python.declared import Function, dotted, own_nodes
from bundles.harness.python.values import UNKNOWN

_TEXT_CALLS = {
    "strip", "lstrip", "rstrip", "split", "rsplit", "lower", "upper", "replace", "partition", "rpartition",
    "removeprefix", "removesuffix", "splitlines", "title", "casefold",
}  # fmt: skip
_BUILTINS: dict[str, Any] = {
    "int": int,
    "float": float,
    "str": str,
    "len": len,
    "list": list,
    "sorted": sorted,
    "bool": bool,
}


def evaluate(node: ast.expr | None, known: dict[str, Any], depth: int = 0) -> Any:
    """The value of an expression over known plain data, or UNKNOWN."""
    if node is None or depth > 20:
        return UNKNOWN
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return known.get(node.id, UNKNOWN)
        case ast.Attribute():
            return known.get(dotted(node), UNKNOWN)
        case ast.Subscript():
            return _subscript(evaluate(node.value, known, depth + 1), node.slice, known, depth)
        case ast.List() | ast.Tuple():
            items = [evaluate(e, known, depth + 1) for e in node.elts]
            return UNKNOWN if any(i is UNKNOWN for i in items) else items
        case ast.Dict():
            keys = [evaluate(k, known, depth + 1) for k in node.keys]
            values = [evaluate(v, known, depth + 1) for v in node.values]
            if any(x is UNKNOWN or isinstance(x, list | dict) for x in keys) or any(v is UNKNOWN for v in values):
                return UNKNOWN
            return dict(zip(keys, values, strict=True))
        case ast.Call():
            return _call(node, known, depth)
        case ast.UnaryOp(op=ast.USub()):
            value = evaluate(node.operand, known, depth + 1)
            return -value if isinstance(value, int | float) else UNKNOWN
    return UNKNOWN


def _subscript(base: Any, index: ast.expr, known: dict[str, Any], depth: int) -> Any:
    if base is UNKNOWN:
        return UNKNOWN
    if isinstance(index, ast.Slice):
        bounds = [evaluate(b, known, depth + 1) if b else None for b in (index.lower, index.upper, index.step)]
        if isinstance(base, str | list) and all(b is None or isinstance(b, int) for b in bounds) and bounds[2] != 0:
            return base[slice(*bounds)]
        return UNKNOWN
    key = evaluate(index, known, depth + 1)
    if isinstance(base, dict) and isinstance(key, str | int):
        return base.get(key, UNKNOWN)
    if isinstance(base, str | list) and isinstance(key, int) and -len(base) <= key < len(base):
        return base[key]
    return UNKNOWN


def _call(node: ast.Call, known: dict[str, Any], depth: int) -> Any:
    args = [evaluate(a, known, depth + 1) for a in node.args]
    if any(a is UNKNOWN for a in args) or node.keywords:
        return UNKNOWN
    try:
        if isinstance(node.func, ast.Attribute):
            base = evaluate(node.func.value, known, depth + 1)
            if isinstance(base, str) and node.func.attr in _TEXT_CALLS:
                made = getattr(base, node.func.attr)(*args)
                return list(made) if isinstance(made, tuple) else made
            if isinstance(base, dict) and node.func.attr == "get" and args and isinstance(args[0], str | int):
                return base.get(args[0], args[1] if len(args) > 1 else None)
        elif isinstance(node.func, ast.Name) and node.func.id in _BUILTINS and len(args) == 1:
            return _BUILTINS[node.func.id](args[0])
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN
    return UNKNOWN


def run_to(function: Function, line: int | None, known: dict[str, Any]) -> dict[str, Any]:
    """`known` with the names that are assigned before `line`, as far as they follow from it. A name that is assigned
    something unknown is forgotten."""
    env = dict(known)
    statements = [n for n in own_nodes(function.node) if isinstance(n, ast.stmt)]
    for node in sorted(statements, key=lambda n: (n.lineno, n.col_offset)):
        if line is not None and node.lineno >= line:
            break
        if isinstance(node, ast.Assign):
            value = evaluate(node.value, env)
            for target in node.targets:
                _bind(target, value, env)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            _bind(node.target, evaluate(node.value, env), env)
        elif isinstance(node, ast.AugAssign | ast.For):
            _bind(node.target, UNKNOWN, env)
    return env


def _bind(target: ast.expr, value: Any, env: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        if value is UNKNOWN:
            env.pop(target.id, None)
        else:
            env[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        whole = isinstance(value, list | str) and len(value) == len(target.elts)
        for at, part in enumerate(target.elts):
            _bind(part, value[at] if whole and not isinstance(part, ast.Starred) else UNKNOWN, env)


def arguments_at(caller: Function, line: int | None, callee: Function) -> dict[str, ast.expr]:
    """The expressions that `caller` passes to `callee` in the call at `line`, by parameter."""
    if line is None:
        return {}
    name = callee.owner.rsplit(".", 1)[-1] if callee.name == "__init__" else callee.name
    here = [n for n in ast.walk(caller.node) if isinstance(n, ast.Call) and n.lineno <= line <= (n.end_lineno or 0)]
    calls = [n for n in here if _called(n) == name]
    if not calls:
        return {}
    call = max(calls, key=lambda n: (n.lineno, n.col_offset))
    if any(isinstance(a, ast.Starred) for a in call.args):
        return {}
    positional = [p.name for p in callee.params if p.kind == "positional"]
    bound = dict(zip(positional, call.args, strict=False))
    bound.update({k.arg: k.value for k in call.keywords if k.arg})
    return bound


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
