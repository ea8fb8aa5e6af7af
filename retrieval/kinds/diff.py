"""Commits: one document for each file's group of hunks, with the commit's subject and the symbols it touches."""

from collections.abc import Iterator

from retrieval.kinds.base import Kind, Material
from retrieval.model import Commit, Document, FileChange, Hunk

_GROUP = 120  # changed lines of one document; a longer change is cut between hunks


def documents(material: Material) -> Iterator[Document]:
    for commit in material.commits:
        for change in commit.files:
            for number, hunks in enumerate(_groups(change.hunks)):
                yield _document(material, commit, change, (number, hunks))


def _document(material: Material, commit: Commit, change: FileChange, group: tuple[int, list[Hunk]]) -> Document:
    number, hunks = group
    touched = material.touched.get((commit.repo, commit.sha), ())
    symbols = [s for s in touched if s.path in (change.path, change.old_path)]
    # A group's own symbols where lines tell; a removed one has the lines of the parent, so that it counts for all.
    near = [s for s in symbols if not hunks or any(_meets(h, s.start_line, s.end_line) for h in hunks)] or symbols
    names = " ".join(s.qualname for s in near)
    return material.document(
        "diff",
        (commit.repo, commit.sha, change.path, number),
        title=f"{commit.subject} ({change.path})",
        text="\n".join(part for part in (commit.subject, commit.body, change.path, names, *map(_lines, hunks)) if part),
        time_ns=commit.committed_ns,
        service=material.service_of(commit.repo, change.path),
        paths=tuple(dict.fromkeys(path for path in (change.path, change.old_path) if path)),
        symbols=tuple(s.symbol_id for s in near),
        keys={"commit_sha": commit.sha, "repo": commit.repo, "diff_id": f"{commit.sha[:12]}:{change.path}#{number}"},
        source=f"{commit.repo}@{commit.sha}:{change.path}",
        attributes={
            "repo": commit.repo,
            "sha": commit.sha,
            "author": commit.author,
            "subject": commit.subject,
            "path": change.path,
            "status": change.status,
            "lines": [[hunk.new_start, hunk.new_start + max(hunk.new_lines - 1, 0)] for hunk in hunks],
        },
    )


def _groups(hunks: tuple[Hunk, ...]) -> Iterator[list[Hunk]]:
    group: list[Hunk] = []
    lines = 0
    for hunk in hunks:
        size = len(hunk.removed) + len(hunk.added)
        if group and lines + size > _GROUP:
            yield group
            group, lines = [], 0
        group.append(hunk)
        lines += size
    if group or not hunks:
        yield group


def _meets(hunk: Hunk, start: int, end: int) -> bool:
    return hunk.new_start <= end and hunk.new_start + max(hunk.new_lines - 1, 0) >= start


def _lines(hunk: Hunk) -> str:
    return "\n".join([*(f"-{line}" for line in hunk.removed), *(f"+{line}" for line in hunk.added)])


KIND = Kind("diff", documents)
