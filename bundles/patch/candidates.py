"""Which patches are worth a run, best first. Pure.

First what the convicted commit did, taken back in parts: hunk by hunk (the file of the crash first, then near it),
function by function as before it, file by file, then all of it, at last with its tests. A part of a known-good state is
a better answer than a repair at the place of the crash, which may only silence; those come after.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from msgspec import Struct

from bundles.patch.guard import guards
from bundles.patch.parsing import parse_python
from bundles.patch.restore import restore_functions, touched_functions
from bundles.patch.reverse import reverse_hunks
from retrieval.model import Commit, ErrorSignature, FileChange

MOST = 28
_HUNKS = 6
_FUNCTIONS = 4
_NOT_CODE = (".md", ".rst", ".txt", ".adoc", ".lock")


class Candidate(Struct, frozen=True, kw_only=True):
    """`changes`: path -> text after, None: removed. `guess`: nothing but a better answer than all others speaks for
    it."""

    changes: dict[str, str | None]
    strategy: str  # revert_hunk | restore_function | revert_file | revert_commit | guard
    rationale: str
    guess: bool = False


class Versions(Struct, frozen=True, kw_only=True):
    """The convicted commit's files: as it left them, as they are deployed, as they were before it. A file that is
    absent, too large or no UTF-8 is in none of them."""

    at_commit: dict[str, str]
    deployed: dict[str, str]
    before: dict[str, str]


def candidates(
    culprit: Commit | None,
    versions: Versions,
    *,
    crash_at: tuple[str, int] | None,
    error: ErrorSignature | None,
    crash_source: bytes = b"",
) -> list[Candidate]:
    """At most `MOST`, without two that change the same, all of them programs."""
    found = list(_reverts(culprit, versions, crash_at)) if culprit else []
    if crash_at and error:
        found += _guards(crash_at, error, crash_source, culprit)
    unique: dict[tuple[tuple[str, str | None], ...], Candidate] = {}
    for candidate in filter(_compiles, found):
        unique.setdefault(tuple(sorted(candidate.changes.items(), key=lambda item: item[0])), candidate)
    return list(unique.values())[:MOST]


def is_test(path: str) -> bool:
    pure = PurePosixPath(path)
    return (
        any(part in ("tests", "test", "testing") for part in pure.parts[:-1])
        or pure.name.startswith("test_")
        or pure.stem.endswith("_test")
        or pure.name == "conftest.py"
    )


def _reverts(culprit: Commit, versions: Versions, crash_at: tuple[str, int] | None) -> Iterator[Candidate]:
    crash_path, crash_line = crash_at or ("", 0)
    product = [f for f in culprit.files if not is_test(f.path) and not _is_prose(f.path)]
    code = sorted(product, key=lambda f: (f.path != crash_path, f.path))
    singles = [(change, at) for change in code for at in range(len(change.hunks)) if len(change.hunks) > 1]
    singles.sort(key=lambda s: (s[0].path != crash_path, abs(s[0].hunks[s[1]].new_start - crash_line), s[0].path, s[1]))
    for change, at in singles[:_HUNKS]:
        text = _without(change, versions, [at])
        if text is not None:
            yield _revert("revert_hunk", culprit, {change.path: text}, "one hunk")
    yield from _restores(culprit, code, versions)
    whole = {change.path: _whole(change, versions) for change in code}
    for change in code:
        if (changes := whole[change.path]) is not None and len(code) > 1:
            yield _revert("revert_file", culprit, changes, "one file")
    every = [culprit_file for culprit_file in culprit.files if not _is_prose(culprit_file.path)]
    for files, what in ((code, "the code"), (every, "all")):
        parts = [_whole(change, versions) for change in files]
        joined = {path: text for part in parts if part is not None for path, text in part.items()}
        if joined and None not in parts:
            yield _revert("revert_commit", culprit, joined, what)


def _is_prose(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith(_NOT_CODE) and "requirements" not in path and "constraints" not in path


def _without(change: FileChange, versions: Versions, hunks: Sequence[int]) -> str | None:
    if change.path not in versions.deployed or change.path not in versions.at_commit or change.status == "added":
        return None
    return reverse_hunks(
        versions.deployed[change.path], versions.at_commit[change.path], [change.hunks[at] for at in hunks]
    )


def _whole(change: FileChange, versions: Versions) -> dict[str, str | None] | None:
    """What undoes a commit's change of one file; None where that can't be told from text."""
    if change.binary or change.status == "typechange":
        return None
    deployed = versions.deployed.get(change.path)
    if change.status in ("added", "copied"):
        unchanged = deployed is not None and deployed == versions.at_commit.get(change.path)
        return {change.path: None} if unchanged else None
    if change.status == "deleted":
        before = versions.before.get(change.path)
        return {change.path: before} if before is not None and deployed is None else None
    text = _without(change, versions, range(len(change.hunks))) if change.hunks else deployed
    if change.status == "renamed" and change.old_path:
        return {change.path: None, change.old_path: text} if text is not None else None
    return {change.path: text} if text is not None else None


def _revert(strategy: str, culprit: Commit, changes: Mapping[str, str | None], what: str) -> Candidate:
    text = _template("patch/revert.j2").render(
        what=what, commit=culprit.sha, subject=culprit.subject, paths=sorted(changes)
    )
    return Candidate(changes=dict(changes), strategy=strategy, rationale=text.strip())


def _restores(culprit: Commit, code: Sequence[FileChange], versions: Versions) -> Iterator[Candidate]:
    """Functions that the commit changed, as before it: each alone, then all of them."""
    whole: dict[str, str | None] = {}
    made, count = [], 0
    for change in code:
        before, after = versions.before.get(change.old_path or change.path), versions.at_commit.get(change.path)
        deployed = versions.deployed.get(change.path)
        if not change.path.endswith(".py") or before is None or after is None or deployed is None:
            continue
        names = touched_functions(before, after, change.hunks)
        for name in names:
            text = restore_functions(deployed, before, [name])
            if text is not None:
                made.append(_revert("restore_function", culprit, {change.path: text}, f"the change of {name}()"))
        joined = restore_functions(deployed, before, names)
        if joined is not None:
            whole[change.path], count = joined, count + len(names)
    yield from made[:_FUNCTIONS]
    if count > 1:
        yield _revert("restore_function", culprit, whole, "the change of every function")


def _compiles(candidate: Candidate) -> bool:
    return all(
        text is None or not path.endswith(".py") or parse_python(text) is not None
        for path, text in candidate.changes.items()
    )


def _guards(
    crash_at: tuple[str, int], error: ErrorSignature, source: bytes, culprit: Commit | None
) -> Iterator[Candidate]:
    path, line = crash_at
    files = culprit.files if culprit else ()
    removed = [text for change in files if not is_test(change.path) for hunk in change.hunks for text in hunk.removed]
    for guard in guards(source, line, error, removed):
        text = _template("patch/guard.j2").render(
            kind=guard.kind,
            expression=guard.expression,
            value=guard.value,
            donor=guard.donor,
            commit=culprit.sha if culprit else "",
            path=path,
            line=line,
        )
        yield Candidate(
            changes={path: guard.text},
            strategy="guard",
            rationale=" ".join(text.split()),
            guess=guard.donor,
        )


def about_the_answer(share: float) -> str:
    """One sentence on how much of the answer is as before the failure came in."""
    return _template("patch/answer.j2").render(percent=int(100 * share)).strip()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(loader=PackageLoader("templates", ""), undefined=StrictUndefined)
    made.filters["oneline"] = lambda text: " ".join(str(text).split())[:120]
    return made


def _template(name: str) -> Template:
    return _environment().get_template(name)
