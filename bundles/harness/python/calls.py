"""Calls of the functions that were on the stack, with the arguments that production recorded (pure)."""

import ast
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bundles.harness.occurrences import Occurrence, short_type
from bundles.harness.python.declared import Function, Param, dotted, own_nodes
from bundles.harness.python.flow import arguments_at, evaluate, run_to
from bundles.harness.python.objects import Argument, Builder
from bundles.harness.python.pool import Pool
from bundles.harness.python.source import Source
from bundles.harness.python.values import UNKNOWN, Value, decode, import_of, literal
from retrieval.model import CrashGroup, Frame, StackTrace

MAX_FRAMES = 12
_CONTEXT = ("flask.request", "flask.g", "flask.current_app", "flask.session", "bottle.request", "quart.request")
_MAX_VARIANTS = 6


class Call(Struct, frozen=True, kw_only=True):
    """A call to make. `rank` tells how indirect its least direct argument is; `caught` that production's code caught
    and logged the error inside this function."""

    function: Function
    expression: str
    receiver: str  # the object that a method is called on, "" for functions
    imports: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...]
    plain: tuple[tuple[str, Any], ...]  # the arguments as plain data, where they are
    rank: int
    caught: bool
    lacks: tuple[tuple[str, tuple[str, ...]], ...]  # parameter -> keys that were not recorded
    depth: int
    sources: tuple[str, ...]
    time_ns: int


class Located(Struct, frozen=True):
    """A frame of the application with its function in the repository."""

    frame: Frame
    function: Function


class Unresolved(Struct, frozen=True):
    """A function on the stack and the parameters that nothing recorded."""

    function: Function
    params: tuple[str, ...]


def stack_of(occurrence: Occurrence, crash: CrashGroup, source: Source) -> tuple[list[Located], bool]:
    """The application's frames, outermost first, of the record that kept most variables; and whether the outermost
    frame of all is among them (the code there caught the error)."""
    traces = [t for thrown in occurrence.thrown if thrown.info.trace for t in _chain(thrown.info.trace)]
    wanted = short_type(crash.signature.type)
    same = [t for t in traces if short_type(t.type) == wanted] or traces
    best = max(same, key=lambda t: (sum(len(f.locals) for f in t.frames), len(t.frames)), default=None)
    if best is None:
        return _from_names(crash, source), False
    located: list[Located] = []
    for frame in best.frames:
        path = source.resolve_file(frame.file) if frame.in_app else None
        function = source.function_at(path, frame.function, frame.line) if path else None
        if function is not None:
            located.append(Located(frame, function))
    outermost = bool(best.frames) and bool(located) and best.frames[0] is located[0].frame
    return located, outermost


def _chain(trace: StackTrace) -> Iterator[StackTrace]:
    at: StackTrace | None = trace
    while at is not None:
        yield at
        at = at.cause


def _from_names(crash: CrashGroup, source: Source) -> list[Located]:
    out = []
    for name in crash.in_app_frames:
        path, _, qualname = name.partition("::")
        function = source.function_at(path, qualname, crash.crash_line if name == crash.in_app_frames[-1] else None)
        if function:
            out.append(Located(Frame(file=path, function=qualname), function))
    return out


def calls_of(
    occurrence: Occurrence, crash: CrashGroup, source: Source, pool: Pool
) -> tuple[list[Call], list[Unresolved]]:
    """Calls for every frame whose arguments are known, outermost first; and the functions that lack some."""
    located, outermost = stack_of(occurrence, crash, source)
    maker = _Maker(source, pool, occurrence, tuple(dict.fromkeys(here.function.module for here in located)))
    calls: list[Call] = []
    unresolved: list[Unresolved] = []
    flows: dict[str, Any] = {}
    for index, here in enumerate(located[-MAX_FRAMES:]):
        following = located[-MAX_FRAMES:][index + 1] if index + 1 < len(located[-MAX_FRAMES:]) else None
        arguments, absent = maker.arguments(here, flows)
        flows = maker.flows(here, arguments, following, pool) if following else {}
        if absent:
            unresolved.append(Unresolved(here.function, absent))
            continue
        calls += maker.calls(here, arguments, index, outermost and index == 0)
    return calls, unresolved


class _Maker:
    def __init__(self, source: Source, pool: Pool, occurrence: Occurrence, loaded: tuple[str, ...]) -> None:
        self._source, self._pool, self._occurrence, self._loaded = source, pool, occurrence, loaded
        self._builder = Builder(source, pool)

    def arguments(self, here: Located, flows: dict[str, Any]) -> tuple[dict[str, list[Argument]], tuple[str, ...]]:
        """Values for the parameters of a frame's function, and the names of those that are required and unknown."""
        found: dict[str, list[Argument]] = {}
        absent = []
        for param in here.function.params:
            own = self._own(here.frame, param)
            if own:
                found[param.name] = [own]
                continue
            if param.kind in ("args", "kwargs"):
                continue
            options = self._builder.alternatives(here.function, param, flows.get(param.name, UNKNOWN))
            if param.default:
                options = [o for o in options if o.rank <= 4]
            if options:
                found[param.name] = options
            elif not param.default:
                absent.append(param.name)
        return found, tuple(absent)

    def _own(self, frame: Frame, param: Param) -> Argument | None:
        """The parameter among the frame's own recorded variables."""
        if param.name not in frame.locals:
            return None
        value = decode(frame.locals[param.name], self._source)
        cited = next(
            (str(t.source) for t in self._occurrence.thrown if t.info.trace and frame in t.info.trace.frames), ""
        )
        if value is None:
            return None
        return Argument(value, 0, (cited,) if cited else ())

    def flows(
        self, here: Located, arguments: dict[str, list[Argument]], following: Located, pool: Pool
    ) -> dict[str, Any]:
        """What this frame passes to the next one, as far as it follows from what is known."""
        known: dict[str, Any] = {
            e.name: e.value.plain for e in reversed(pool.entries) if "." in e.name and e.rank <= 4 and _exact(e.value)
        }
        known.update({n: a[0].value.plain for n, a in arguments.items() if _exact(a[0].value)})
        env = run_to(here.function, here.frame.line, known)
        for name, recorded in here.frame.locals.items():
            value = decode(recorded, self._source)
            if value is not None and _exact(value):
                env[name] = value.plain
        passed = arguments_at(here.function, here.frame.line, following.function)
        return {name: value for name, node in passed.items() if (value := evaluate(node, env)) is not UNKNOWN}

    def calls(self, here: Located, arguments: dict[str, list[Argument]], depth: int, caught: bool) -> list[Call]:
        """The calls of one frame's function, one for each choice of arguments."""
        function = here.function
        if not self._callable(function):
            return []
        receiver = self._receiver(here)
        if receiver is None:
            return []
        out = []
        for chosen in _variants(arguments):
            used = [receiver[1], *chosen.values()]
            code = _invocation(function, receiver[0], chosen)
            imports = [line for a in used for line in a.value.imports]
            if function.is_async:
                imports.append("import asyncio")
            out.append(
                Call(
                    function=function,
                    expression=code,
                    receiver=receiver[0] if function.kind == "method" else "",
                    imports=tuple(dict.fromkeys([*imports, *self._import(function), *self._registered(function)])),
                    arguments=tuple((n, a.value.code) for n, a in chosen.items()),
                    plain=tuple((n, a.value.plain) for n, a in chosen.items() if _exact(a.value)),
                    rank=max((a.rank for a in used), default=0),
                    caught=caught,
                    lacks=tuple((n, a.lacks) for n, a in chosen.items() if a.lacks),
                    depth=depth,
                    sources=tuple(dict.fromkeys(s for a in used for s in a.sources)),
                    time_ns=self._occurrence.time_ns,
                )
            )
        return out

    def _callable(self, function: Function) -> bool:
        """Not from inside a function, not of a `__main__`, not within a request that only a framework can make, not
        from a command line that was not recorded."""
        if function.nested or (function.is_async and function.is_generator) or not importable(function.module):
            return False
        imports = self._source.modules[function.path].imports
        for node in own_nodes(function.node):
            if isinstance(node, ast.Name) and node.id in imports and imports[node.id].endswith(_CONTEXT):
                return False
            if isinstance(node, ast.Call) and not node.args and dotted(node.func).endswith(".parse_args"):
                return False
        return True

    def _receiver(self, here: Located) -> tuple[str, Argument] | None:
        """The code before the method's name, with what it was made from; None for an object that can't be built."""
        function = here.function
        nothing = Argument(Value(""), 0, ())
        if function.kind == "function":
            return "", nothing
        owner = self._source.unique_class(function.owner)
        if owner is None:
            return None
        if function.kind in ("classmethod", "staticmethod") or function.name == "__init__":
            return function.owner, nothing
        recorded = here.frame.locals.get("self")
        value = decode(recorded, self._source) if recorded is not None else None
        if value is not None:
            return value.code, Argument(value, 0, ())
        built = self._builder.construct(owner)
        return (built.value.code, built) if built else None

    def _registered(self, function: Function) -> list[str]:
        """Modules of the stack that the function's own does not import: production had loaded them, and what they
        registered (tasks, handlers, commands) is found by name."""
        reached, todo = {function.module}, [function.module]
        by_name = {m.name: m for m in self._source.modules.values()}
        while todo:
            module = by_name.get(todo.pop())
            for origin in module.imports.values() if module else ():
                for name in (origin, origin.rpartition(".")[0]):
                    if name in by_name and name not in reached:
                        reached.add(name)
                        todo.append(name)
        return [f"import {name}" for name in self._loaded if name not in reached and importable(name)]

    def _import(self, function: Function) -> list[str]:
        if function.kind == "function":
            return [f"from {function.module} import {function.name}"]
        owner = self._source.unique_class(function.owner)
        named = function.kind in ("classmethod", "staticmethod") or function.name == "__init__"
        return [import_of(owner)] if owner and named else []


def _exact(value: Value) -> bool:
    """Whether the plain form is the value itself and not its JSON rendering."""
    return value.plain is not UNKNOWN and literal(value.plain).code == value.code


def importable(module: str) -> bool:
    return all(part.isidentifier() for part in module.split(".")) and not module.endswith("__main__")


def _variants(arguments: dict[str, list[Argument]]) -> list[dict[str, Argument]]:
    """The best value of each parameter, then each other value in its turn."""
    best = {name: options[0] for name, options in arguments.items()}
    out = [best]
    for name, options in arguments.items():
        out += [{**best, name: option} for option in options[1:]]
    return out[:_MAX_VARIANTS]


def _invocation(function: Function, receiver: str, chosen: dict[str, Argument]) -> str:
    if function.kind == "property":
        return f"{receiver}.{function.name}"
    parts: list[str] = []
    positional = True
    for param in function.params:
        if param.name not in chosen:
            positional = positional and param.kind not in ("positional",)
            continue
        code = chosen[param.name].value.code
        if param.kind == "args":
            parts += [f"*{code}"] if positional else []
        elif param.kind == "kwargs":
            parts.append(f"**{code}")
        else:
            parts.append(code if positional and param.kind == "positional" else f"{param.name}={code}")
    target = receiver if function.name == "__init__" else f"{receiver}.{function.name}" if receiver else function.name
    if any(_decorator(d) in ("command", "group") for d in function.node.decorator_list):
        target += ".callback"
    code = f"{target}({', '.join(parts)})"
    if function.is_async:
        return f"asyncio.run({code})"
    return f"list({code})" if function.is_generator else code


def _decorator(node: Any) -> str:
    target = getattr(node, "func", node)
    return str(getattr(target, "attr", getattr(target, "id", "")))
