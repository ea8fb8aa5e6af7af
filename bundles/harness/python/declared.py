"""What a Python file declares: functions, methods and classes with what they take (pure)."""

import ast
from collections.abc import Collection, Iterator

from msgspec import Struct


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
    has_init: bool
    enum: bool
    node: ast.ClassDef

    @property
    def name(self) -> str:
        return self.node.name


class Where(Struct, frozen=True):
    """The file and the dotted module that a declaration stands in; ids of functions that yield."""

    path: str
    module: str
    generators: Collection[int] = ()


def collect(where: Where, tree: ast.Module, functions: list[Function], classes: dict[str, list[Class]]) -> None:
    """Append all functions and, by name, all classes of a file that can be reached from outside."""

    def visit(body: list[ast.stmt], prefix: str, owner: str, nested: bool) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(_function(where, node, prefix, owner if not nested else ""))
                visit(node.body, f"{prefix}{node.name}.<locals>.", "", True)
            elif isinstance(node, ast.ClassDef):
                if not nested:
                    classes.setdefault(node.name, []).append(_class(where, node, prefix))
                visit(node.body, f"{prefix}{node.name}.", f"{prefix}{node.name}", nested)
            else:
                for part in ("body", "orelse", "finalbody"):
                    visit([n for n in getattr(node, part, []) if isinstance(n, ast.stmt)], prefix, owner, nested)
                for handler in getattr(node, "handlers", []):
                    visit(handler.body, prefix, owner, nested)

    visit(tree.body, "", "", False)


def _function(where: Where, node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str, owner: str) -> Function:
    decorators = {dotted(d.func if isinstance(d, ast.Call) else d).rsplit(".", 1)[-1] for d in node.decorator_list}
    kind = "function"
    if owner:
        kind = next((k for k in ("classmethod", "staticmethod") if k in decorators), "method")
        if decorators & {"property", "cached_property"}:
            kind = "property"
    params = parameters(node)
    return Function(
        path=where.path,
        module=where.module,
        qualname=prefix + node.name,
        kind=kind,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        is_generator=id(node) in where.generators,
        nested="<locals>" in prefix,
        params=params[1:] if kind in ("method", "classmethod", "property") else params,
        node=node,
        owner=owner,
    )


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function's own body, without those of functions and classes inside it, in order."""
    stack = list(ast.iter_child_nodes(node))[::-1]
    while stack:
        child = stack.pop()
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack.extend(list(ast.iter_child_nodes(child))[::-1])


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


def _class(where: Where, node: ast.ClassDef, prefix: str) -> Class:
    bases = tuple(dotted(b) for b in node.bases)
    decorators = {dotted(d.func if isinstance(d, ast.Call) else d).rsplit(".", 1)[-1] for d in node.decorator_list}
    last = {b.rsplit(".", 1)[-1] for b in bases}
    fielded = bool(decorators & {"dataclass", "define", "frozen", "attrs", "s", "mutable"}) or bool(
        last & {"NamedTuple", "BaseModel", "Struct", "TypedDict", "SQLModel"}
    )
    init = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    params = parameters(init)[1:] if init else (_fields(node) if fielded else ())
    enum = bool(last & {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
    return Class(
        path=where.path,
        module=where.module,
        qualname=prefix + node.name,
        bases=bases,
        params=params,
        fielded=fielded and init is None,
        has_init=init is not None,
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
    if isinstance(value, ast.Call) and dotted(value.func).rsplit(".", 1)[-1] in ("field", "Field", "ib"):
        named = {k.arg for k in value.keywords}
        required = bool(value.args) and isinstance(value.args[0], ast.Constant) and value.args[0].value is Ellipsis
        return bool(named & {"default", "default_factory", "factory"}) or (bool(value.args) and not required)
    return True


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name or attribute, "" of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""
