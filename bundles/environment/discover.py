"""Which files of a commit declare what its code needs, and what they say together."""

from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath

from msgspec import Struct

from bundles.environment.requirements import Parsed, Unreadable, parse

Read = Callable[[str], Awaitable[str | None]]
"""The text of a file at the commit, None where there is none."""

# By convention, the first that is there; then what the repository's own tests need.
MAIN = ("requirements.txt", "requirements/base.txt", "requirements/prod.txt", "requirements/production.txt")
PROJECT = ("pyproject.toml", "setup.cfg", "Pipfile.lock")
DEV = (
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "requirements-tests.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
)
_DEPTH = 8


class Declared(Struct, frozen=True, kw_only=True):
    """`files` were read; `lines` is what the service itself needs, `dev_lines` what only its tests do; `left_out` are
    declarations that are not followed (see `requirements`); `problem` names a declared file that is not there."""

    files: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    dev_lines: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    problem: str = ""


async def discover(read: Read, *, declared: str, prefix: str) -> Declared:
    """`declared` is a path in the repository or ""; `prefix` the service's folder in it. With the declared file (else
    the first by convention) those that its tests need are read too."""
    collected = _Collected(read)
    problem = ""
    if declared:
        if not await collected.add(declared):
            problem = f"{declared} is not in the repository at this commit"
    else:
        await _first(collected, prefix, (*MAIN, *PROJECT))
    main = collected.lines
    collected.lines = []
    for name in ("requirements.txt", *DEV):
        await _first(collected, prefix, (name,))
    kept = [line for line in collected.lines if line not in main]
    if not declared:
        problem = ""
    return Declared(
        files=tuple(collected.files),
        lines=tuple(dict.fromkeys(main)),
        dev_lines=tuple(dict.fromkeys(kept)),
        constraints=tuple(dict.fromkeys(collected.constraints)),
        left_out=tuple(dict.fromkeys(collected.left_out)),
        problem=problem or collected.problem,
    )


async def _first(collected: "_Collected", prefix: str, names: tuple[str, ...]) -> None:
    folders = [prefix.strip("/"), ""] if prefix.strip("/") else [""]
    for folder in folders:
        for name in names:
            path = f"{folder}/{name}" if folder else name
            if path in collected.files or await collected.add(path):
                return


class _Collected:
    def __init__(self, read: Read) -> None:
        self._read = read
        self.files: list[str] = []
        self.lines: list[str] = []
        self.constraints: list[str] = []
        self.left_out: list[str] = []
        self.problem = ""

    async def add(self, path: str, depth: int = 0, *, constraint: bool = False) -> bool:
        """Read a file and what it includes; False where it is not there."""
        if path in self.files or depth > _DEPTH:
            return True
        text = await self._read(path)
        if text is None:
            return False
        try:
            parsed = parse(path, text)
        except Unreadable as error:
            self.problem = str(error)
            return True
        if PurePosixPath(path).name in PROJECT and not parsed.lines:
            return False  # a pyproject.toml that only configures tools declares nothing
        self.files.append(path)
        (self.constraints if constraint else self.lines).extend(parsed.lines)
        self.left_out += parsed.left_out
        await self._follow(path, parsed, depth, constraint)
        return True

    async def _follow(self, path: str, parsed: Parsed, depth: int, constraint: bool) -> None:
        folder = PurePosixPath(path).parent
        wanted = [(i, constraint) for i in parsed.includes] + [(c, True) for c in parsed.constraints]
        for name, as_constraint in wanted:
            target = _inside(folder, name)
            if target is None or not await self.add(target, depth + 1, constraint=as_constraint):
                self.left_out.append(f"-r {name}"[:120])


def _inside(folder: PurePosixPath, name: str) -> str | None:
    """A path relative to a file's folder, as one from the root; None when it leaves the repository."""
    if "://" in name or PurePosixPath(name).is_absolute():
        return None
    parts: list[str] = []
    for part in (folder / name).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
