"""Stack frames that were recorded as data, with their local variables (pure).

Error trackers (Sentry's event payload: `exception.values[].stacktrace.frames[].vars`), structlog's dict tracebacks
(`exc_type`, `frames[].locals`), log4j2's `extendedStackTrace`. What the recorder wrote is kept as text or as nested
lists and dicts of text; nothing of it is evaluated.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from retrieval.ingest.values import first, integer, text
from retrieval.languages import LANGUAGES, language_of
from retrieval.model import Frame, StackTrace

_MAX_CHAIN, _MAX_FRAMES, _MAX_DEPTH, _MAX_ITEMS = 64, 2_000, 6, 1_000
_PLATFORMS = {name: name for name in LANGUAGES} | {"node": "javascript"}


def recorded(value: Any) -> StackTrace | None:
    """The exception, outermost on top with its causes below; None when the data holds no frames."""
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        return _tracker(value["values"])
    if isinstance(value, list):
        return _chain([e for e in value if isinstance(e, dict)][:_MAX_CHAIN])
    if isinstance(value, dict):
        return _single(value, 0)
    return None


def _tracker(values: list[Any]) -> StackTrace | None:
    """Sentry lists the oldest exception first; `mechanism` tells groups and causes apart."""
    entries = [e for e in values if isinstance(e, dict)][-_MAX_CHAIN:]
    traces = [_single(e, 0) or _bare(e) for e in entries]
    if not any(t is not None and t.frames for t in traces):
        return None
    below: StackTrace | None = None
    kind = "cause"
    members: list[StackTrace] = []
    for entry, trace in zip(entries, traces, strict=True):
        if trace is None:
            continue
        said = entry.get("mechanism")
        mechanism: dict[str, Any] = said if isinstance(said, dict) else {}
        source = text(mechanism.get("source"))
        if mechanism.get("is_exception_group") and (below is not None or members):
            members += [below] if below is not None else []
            trace = replace(trace, members=tuple(replace(m, cause_kind="member") for m in reversed(members)))
            members, below = [], None
        elif below is not None:
            trace = replace(trace, cause=replace(below, cause_kind=kind))
        if source.startswith("exceptions["):
            members.append(trace)
            below = None
        else:
            below = trace
        kind = "context" if source == "__context__" else "cause"
    return below or (members[-1] if members else None)


def _chain(entries: list[dict[str, Any]]) -> StackTrace | None:
    """structlog lists the exception that was logged first, then what it came from; `is_cause` marks an explicit one."""
    below: StackTrace | None = None
    for entry in reversed(entries):
        trace = _single(entry, 0)
        if trace is None:
            continue
        below = replace(trace, cause=below) if below is not None else trace
        below = replace(below, cause_kind="cause" if entry.get("is_cause") else "context")
    return replace(below, cause_kind="") if below is not None else None


def _bare(entry: Mapping[str, Any]) -> StackTrace | None:
    name = _type(entry)
    return StackTrace(language="", type=name, message=_message(entry)) if name else None


def _single(entry: Mapping[str, Any], depth: int) -> StackTrace | None:
    holder = entry.get("stacktrace")
    listed = holder.get("frames") if isinstance(holder, dict) else first(entry, "frames", "extendedStackTrace")
    if not isinstance(listed, list) or not listed:
        return None
    if "extendedStackTrace" in entry:
        listed = listed[::-1]  # the JVM prints the innermost first
    raw = [f for f in listed if isinstance(f, dict)][-_MAX_FRAMES:]
    language = _language(raw, text(entry.get("platform")))
    found = tuple(_frame(f, language) for f in raw)
    nested = entry.get("exceptions")
    members = () if depth > 3 or not isinstance(nested, list) else tuple(_members(nested, depth))
    cause = entry.get("cause")
    below = _single(cause, depth + 1) if isinstance(cause, dict) and depth < _MAX_DEPTH else None
    return StackTrace(
        language=language,
        type=_type(entry),
        message=_message(entry),
        frames=found,
        cause=replace(below, cause_kind="cause") if below is not None else None,
        members=members,
        notes=tuple(text(n) for n in entry.get("exc_notes") or () if isinstance(n, str)),
    )


def _members(nested: list[Any], depth: int) -> list[StackTrace]:
    """Members of a group: structlog nests a `{"stacks": [...]}` or a list for each."""
    found = []
    for member in nested[:_MAX_CHAIN]:
        stacks = member.get("stacks") if isinstance(member, dict) else member
        trace = _chain([e for e in stacks if isinstance(e, dict)]) if isinstance(stacks, list) else None
        if trace is None and isinstance(member, dict):
            trace = _single(member, depth + 1)
        if trace is not None:
            found.append(replace(trace, cause_kind="member"))
    return found


def _type(entry: Mapping[str, Any]) -> str:
    name, module = text(first(entry, "type", "exc_type", "name", "class")), text(entry.get("module"))
    plain = not module or module in ("builtins", "exceptions") or "." in name
    return name if plain else f"{module}.{name}"


def _message(entry: Mapping[str, Any]) -> str:
    return text(first(entry, "value", "exc_value", "message", "localizedMessage"))


def _language(raw: list[dict[str, Any]], platform: str) -> str:
    for frame in reversed(raw):
        named = language_of(text(first(frame, "abs_path", "filename", "file", "path")))
        if named is not None:
            return named.name
    return _PLATFORMS.get(platform.lower(), "")


def _frame(raw: Mapping[str, Any], language: str) -> Frame:
    file = text(first(raw, "abs_path", "filename", "file", "path", "fileName"))
    function = text(first(raw, "function", "name", "method", "methodName"))
    module = text(first(raw, "module", "class", "declaringClass")) if "lineno" not in raw or language == "java" else ""
    recorded_in_app = first(raw, "in_app", "inApp")
    known = LANGUAGES.get(language)
    in_app = known.in_app(file, function, module) if known is not None else True
    variables = first(raw, "vars", "locals")
    return Frame(
        file=file,
        function=function,
        line=integer(first(raw, "lineno", "line", "lineNumber")),
        module=module,
        code=text(first(raw, "context_line", "code", "line_source")).strip(),
        in_app=recorded_in_app if isinstance(recorded_in_app, bool) else in_app,
        locals=_variables(variables) if isinstance(variables, dict) else {},
    )


def _variables(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {text(k): _variable(v, 0) for k, v in list(variables.items())[:_MAX_ITEMS]}


def _variable(value: Any, depth: int) -> Any:
    """Trackers write leaves as reprs; a leaf that came as a JSON number or boolean becomes the repr of that."""
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        return {text(k): _variable(v, depth + 1) for k, v in list(value.items())[:_MAX_ITEMS]}
    if isinstance(value, list) and depth < _MAX_DEPTH:
        return [_variable(v, depth + 1) for v in value[:_MAX_ITEMS]]
    return value if isinstance(value, str) else repr(value)
