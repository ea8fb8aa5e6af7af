"""When are two errors the same error, and two stacks the same stack? (row A2)

Pure functions over printed text and `StackTrace`. A signature never holds line numbers, values, or the folder that a
release happens to be unpacked in, so that it is the same before and after a deploy, on a laptop and in a container.
"""

import hashlib
import re
from collections.abc import Collection
from functools import lru_cache

from msgspec.structs import replace

from retrieval.model.code import Frame, StackTrace, Symbol
from retrieval.model.paths import module_path, repo_path, stable_path
from retrieval.model.proof import ErrorSignature

__all__ = [
    "MESSAGE_CAP",
    "error_signature",
    "frame_path",
    "frame_qualname",
    "frame_symbol",
    "in_repository",
    "normalise_message",
    "origins",
    "repo_path",
    "same_error",
    "same_type",
    "short_type",
    "stable_path",
    "stack_signature",
    "symbol_at",
]

MESSAGE_CAP = 300  # characters of a normalised message
_READ_CAP = 4_000  # characters of a raw message that are looked at
_HASH_BYTES = 8

# Quoted text is data, except where a runtime quotes a name of the program: a type, an attribute, a parameter.
_TYPE_NAMES = (
    "NoneType|int|float|str|bool|bytes|bytearray|list|dict|tuple|set|frozenset|object|type|function|method|module"
)
_CODE_BEFORE = r"(?:attribute|argument:?|module named|import name|invoke|because|column|relation|no such table:?)"
_CODE_QUOTE = re.compile(
    rf"""(?P<before>\b{_CODE_BEFORE}\s)(?P<q1>['"`])(?P<name1>[^'"`]{{1,120}})(?P=q1)
    | (?P<q2>['"])(?P<name2>[A-Za-z_][\w.]*)(?P=q2)(?=\sobject\b)
    | (?<=\bname\s)(?P<q3>['"])(?P<name3>\w+)(?P=q3)(?=\sis\snot\sdefined)
    | (?P<q4>['"])(?P<name4>{_TYPE_NAMES})(?P=q4)""",
    re.VERBOSE,
)
_KEPT = "\x00{}\x00"
_KEPT_BACK = re.compile("\x00(\\d+)\x00")

# Order matters: the more specific shape first. None of them can match across another's placeholder.
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:\bb|(?<!\w))'(?:[^'\\]|\\.){0,2000}'(?!\w)|\"(?:[^\"\\]|\\.){0,2000}\"|`[^`]{0,2000}`"), "<str>"),
    (re.compile(r"\b[a-z][a-z-]{1,30}:[a-f]\d[0-9a-f]{14}\b"), "<id>"),  # what redaction put in a value's place
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>\"']+", re.IGNORECASE), "<url>"),
    (re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), "<email>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b0x[0-9a-f]+\b|(?<=@)[0-9a-f]{4,16}\b", re.IGNORECASE), "<addr>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"(?<![\w<])(?:[A-Za-z]:)?(?:[/\\][\w.@%+=~-]+){2,}[/\\]?"), "<path>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"\b(?=\w*[A-Za-z])(?=\w*\d\w*\d)\w{6,}\b"), "<id>"),
    (re.compile(r"(?<![\w<])[-+]?\d[\d_]*(?:[.,]\d+)*(?:e[-+]?\d+)?|\d+", re.IGNORECASE), "<num>"),
)
# Where the stack ran full is chance: "... while calling a Python object", "... in comparison".
_RECURSION = re.compile(r"(?<=maximum recursion depth exceeded)\s(?:while|in|during)\s.*")
_SPACES = re.compile(r"\s+")
_ELLIPSIS = ("...", "…")


@lru_cache(maxsize=2_048)
def normalise_message(text: str) -> str:
    """The first line that says something, with every value replaced by a placeholder; at most `MESSAGE_CAP` characters.

    Values are quoted strings, URLs, mail and network addresses, UUIDs, times, memory addresses, paths, hexadecimal and
    mixed ids, numbers. What a runtime quotes as a name of the program (`'NoneType' object`, `attribute 'x'`) is kept:
    it tells two faults apart.
    """
    line = next((part.strip() for part in text[:_READ_CAP].splitlines() if part.strip()), "")
    line = _RECURSION.sub("", line.replace("\x00", " "))
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match.group(0))
        return _KEPT.format(len(kept) - 1)

    line = _CODE_QUOTE.sub(keep, line)
    parts = _KEPT_BACK.split(line)
    for at in range(0, len(parts), 2):
        parts[at] = _mask(parts[at])
    for at in range(1, len(parts), 2):
        parts[at] = kept[int(parts[at])]
    return _SPACES.sub(" ", "".join(parts)).strip()[:MESSAGE_CAP].rstrip()


def _mask(text: str) -> str:
    for pattern, placeholder in _MASKS:
        text = pattern.sub(placeholder, text)
    return text


def error_signature(language: str, type_name: str, message: str) -> str:
    """16 hexadecimal digits for (language, exception type, normalised message).

    The type counts by its last component: runtimes print it qualified or not, depending on who prints.
    """
    return _digest(language, short_type(type_name), normalise_message(message))


def stack_signature(trace: StackTrace, top: int = 8) -> str:
    """16 hexadecimal digits for the `top` innermost in-app frames' (stable path, function); "" without frames.

    Falls back to all frames where none is the application's own. Recursion counts once: equal neighbours are folded.
    """
    frames = [f for f in trace.frames if f.in_app] or list(trace.frames)
    parts: list[str] = [trace.language]
    for frame in reversed(frames):
        package = frame.module.rpartition(".")[0] if frame.module else stable_path(frame.file)
        place = f"{package}::{frame_qualname(frame)}"
        if place != parts[-1]:
            parts.append(place)
        if len(parts) > top:
            break
    return _digest(*parts) if len(parts) > 1 else ""


def short_type(name: str) -> str:
    """`packaging.version.InvalidVersion` -> `InvalidVersion`; nested Java classes lose their `Outer$` as well, Ruby's
    and PHP's their `Outer::` and `Space\\`."""
    return re.split(r"[.$\\]|::", name.strip())[-1]


def same_type(a: str, b: str) -> bool:
    """Whether two printed type names are one type. Only the last components are compared: the same class is printed
    bare, under its module, and under the package that re-exports it."""
    return bool(a.strip()) and short_type(a) == short_type(b)


def same_error(a: ErrorSignature, b: ErrorSignature) -> bool:
    """Whether two errors are one: same type, same normalised message. A message that was cut off with an ellipsis
    matches whatever it is the beginning of."""
    if not same_type(a.type, b.type):
        return False
    left, right = normalise_message(a.message), normalise_message(b.message)
    return left == right or _is_cut(left, right) or _is_cut(right, left)


def _is_cut(short: str, full: str) -> bool:
    ending = next((e for e in _ELLIPSIS if short.endswith(e)), "")
    stem = short[: -len(ending)].rstrip() if ending else ""
    return len(stem) >= 20 and full.startswith(stem)


def frame_path(frame: Frame, files: Collection[str]) -> str | None:
    """The file of a repository that a frame points into, or None; a Java frame brings its package with it."""
    return repo_path(module_path(frame.module, frame.file), files)


def in_repository(trace: StackTrace, files: Collection[str]) -> StackTrace:
    """The same trace with `in_app` decided by the repository: a frame is the application's own if its file is there.

    Where no frame maps to the repository the trace is returned as it was, causes and members included.
    """
    cause = in_repository(trace.cause, files) if trace.cause else None
    members = tuple(in_repository(member, files) for member in trace.members)
    own = [frame_path(f, files) is not None for f in trace.frames]
    frames = trace.frames
    if any(own):
        frames = tuple(replace(f, in_app=mine) for f, mine in zip(trace.frames, own, strict=True))
    return replace(trace, frames=frames, cause=cause, members=members)


def frame_qualname(frame: Frame) -> str:
    """A frame's function as a symbol's qualified name, as far as the frame alone tells.

    On the JVM `a.b.C$D` and `lambda$run$0` give `C.D.run`, `<init>` the constructor's name; anonymous classes are left
    out. Elsewhere the printed name without `<locals>`.
    """
    if not frame.module:
        return frame.function.replace(".<locals>", "")
    outer = [part for part in frame.module.rpartition(".")[2].split("$") if part and not part.isdigit()]
    name = frame.function
    if lambda_of := re.match(r"lambda\$(.+?)\$\d+$", name):
        name = {"new": "<init>", "static": "<clinit>"}.get(lambda_of[1], lambda_of[1])
    if name == "<init>":
        name = outer[-1] if outer else name
    return ".".join(outer if name == "<clinit>" else [*outer, name])


def frame_symbol(frame: Frame, path: str, symbols: Collection[Symbol]) -> Symbol | None:
    """The symbol of a file that a frame was in: the innermost one around its line, if it has the frame's name; else the
    only one of that name (the line may be of another commit); else None."""
    qualname = frame_qualname(frame)
    name = qualname.rpartition(".")[2]
    at = symbol_at(symbols, path, frame.line)
    if at is not None and (at.name == name or name.startswith("<")):
        return at
    named = [s for s in symbols if s.path == path and s.name == name]
    exact = [s for s in named if s.qualname == qualname]
    ids = {s.symbol_id: s for s in exact or named}
    return next(iter(ids.values())) if len(ids) == 1 else None


def origins(trace: StackTrace) -> list[StackTrace]:
    """The exceptions that it began with: the bottom of the cause chain, of each member where that is a group."""
    bottom = trace.root
    members = [m for m in bottom.members if m.cause_kind != "suppressed"]
    return [origin for member in members for origin in origins(member)] or [bottom]


def symbol_at(symbols: Collection[Symbol], path: str, line: int | None) -> Symbol | None:
    """The innermost symbol of a file that covers a 1-based line, functions before classes; None outside of all."""
    if line is None:
        return None
    around = [s for s in symbols if s.path == path and s.start_line <= line <= s.end_line]
    return min(around, key=lambda s: (s.end_line - s.start_line, s.kind == "class", s.symbol_id), default=None)


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=_HASH_BYTES).hexdigest()
