"""Unified diffs that `git apply` takes in a checkout's root. Pure."""

import difflib
from collections.abc import Mapping

_NO_NEWLINE = "\\ No newline at end of file"


def unified(changes: Mapping[str, tuple[str | None, str | None]]) -> str:
    """`changes`: path -> (text before, text after); None: there is no such file. Paths in order."""
    return "".join(_one(path, before, after) for path, (before, after) in sorted(changes.items()) if before != after)


def _one(path: str, before: str | None, after: str | None) -> str:
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    head = f"diff --git {old} {new}\n"
    if before is None:
        head += "new file mode 100644\n"
    elif after is None:
        head += "deleted file mode 100644\n"
    body = difflib.unified_diff(
        _lines(before or ""),
        _lines(after or ""),
        fromfile=old if before is not None else "/dev/null",
        tofile=new if after is not None else "/dev/null",
        n=3,
    )
    text = []
    for line in body:
        text.append(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n")
    return head + "".join(text)


def _lines(text: str) -> list[str]:
    """Lines as git counts them: only at line feeds."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _quoted(path: str) -> str:
    """git's C-style quoting of paths with control characters, quotes or backslashes (git-config, core.quotePath)."""
    if not any(ord(c) < 32 or c in '"\\' for c in path):
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if ord(c) >= 32 else f"\\{ord(c):03o}" for c in escaped) + '"'
