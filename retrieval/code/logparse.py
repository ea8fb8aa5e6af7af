"""Reads what `git log -z --raw -p -U0` prints, by structure and never by guessing at names.

The stream of one commit is: fields ended by NUL (FORMAT), then a line feed, the raw entries (whose paths are exact), a
NUL, and the patch. A patch's sections are joined to the raw entries by their blob names, and the lines of a hunk are
counted, so that neither a file's name nor its content can be mistaken for structure.
"""

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field

from retrieval.errors import Reason, RepositoryError
from retrieval.model import Commit, FileChange, Hunk

# The marker makes sure that a commit's start is seen even after a patch that was cut short.
FORMAT = "%x01%H%x00%P%x00%an%x00%at%x00%ct%x00%s%x00%b%x00"
_FIELDS = 7
_STATUS = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "C": "copied", "T": "typechange"}
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_INDEX = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_NULL = b"0" * 40
_NS = 1_000_000_000


@dataclass(slots=True)
class _Entry:
    """One raw entry, on its way to a FileChange."""

    status: str
    old_blob: bytes
    new_blob: bytes
    path: str
    old_path: str = ""
    binary: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    def change(self) -> FileChange:
        return FileChange(
            path=self.path, status=self.status, old_path=self.old_path, binary=self.binary, hunks=tuple(self.hunks)
        )


@dataclass(slots=True)
class _Cursor:
    """A place in the stream."""

    data: bytes
    at: int = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.data)

    def looking_at(self, prefix: bytes) -> bool:
        return self.data.startswith(prefix, self.at)

    def until(self, end: bytes) -> bytes:
        """What comes before the next `end`, which is passed over.

        Raises: RepositoryError CORRUPT when there is none.
        """
        stop = self.data.find(end, self.at)
        if stop < 0:
            raise _unreadable("git log ended in the middle of a record")
        found = self.data[self.at : stop]
        self.at = stop + len(end)
        return found

    def line(self) -> bytes:
        """The next line without its line feed; the last one may have none."""
        stop = self.data.find(b"\n", self.at)
        stop = len(self.data) if stop < 0 else stop
        found = self.data[self.at : stop]
        self.at = stop + 1
        return found


def _unreadable(message: str) -> RepositoryError:
    return RepositoryError(message, reason=Reason.CORRUPT, remedy="check it with git fsck, and git with git --version")


def parse_log(data: bytes, repo: str) -> list[Commit]:
    """The commits of a stream, in its order. Text that is not UTF-8 is shown with replacement characters.

    Raises: RepositoryError CORRUPT when the stream is not what git prints.
    """
    cursor = _Cursor(data)
    commits: list[Commit] = []
    while not cursor.done:
        if not cursor.looking_at(b"\x01"):
            raise _unreadable(f"git log of {repo} printed something unexpected")
        cursor.at += 1
        commits.append(_commit(cursor, repo))
    return commits


def _commit(cursor: _Cursor, repo: str) -> Commit:
    sha, parents, author, authored, committed, subject, body = (
        cursor.until(b"\0").decode("utf-8", "replace") for _ in range(_FIELDS)
    )
    files: tuple[FileChange, ...] = ()
    if cursor.looking_at(b"\0"):
        cursor.at += 1
    if cursor.looking_at(b"\n"):
        cursor.at += 1
        files = _files(cursor)
    return Commit(
        repo=repo,
        sha=sha,
        author=author,
        author_ns=_seconds(authored),
        committed_ns=_seconds(committed),
        subject=subject,
        body=body.strip(),
        parents=tuple(parents.split()),
        files=files,
    )


def _seconds(text: str) -> int:
    """Commit times are whatever the author's clock said; an unreadable one counts as the epoch."""
    return int(text) * _NS if text.lstrip("-").isdigit() else 0


def _files(cursor: _Cursor) -> tuple[FileChange, ...]:
    entries: list[_Entry] = []
    while cursor.looking_at(b":"):
        entries.append(_raw(cursor))
    if cursor.looking_at(b"\0"):
        cursor.at += 1
    by_blobs = _by_blobs(entries)
    while cursor.looking_at(b"diff --git "):
        _section(cursor, by_blobs)
    return tuple(entry.change() for entry in entries)


def _raw(cursor: _Cursor) -> _Entry:
    _, _, old_blob, new_blob, status = cursor.until(b"\0").split(b" ")
    letter = status[:1].decode("ascii", "replace")
    path = cursor.until(b"\0").decode("utf-8", "replace")
    old_path = ""
    if letter in "RC":
        old_path, path = path, cursor.until(b"\0").decode("utf-8", "replace")
    return _Entry(_STATUS.get(letter, "modified"), old_blob, new_blob, path, old_path)


def _by_blobs(entries: list[_Entry]) -> dict[tuple[bytes, bytes], deque[_Entry]]:
    """Entries by (old blob, new blob). A type change is printed as a deletion and an addition."""
    found: dict[tuple[bytes, bytes], deque[_Entry]] = defaultdict(deque)
    for entry in entries:
        if entry.status == "typechange":
            found[entry.old_blob, _NULL].append(entry)
            found[_NULL, entry.new_blob].append(entry)
        else:
            found[entry.old_blob, entry.new_blob].append(entry)
    return found


def _section(cursor: _Cursor, by_blobs: dict[tuple[bytes, bytes], deque[_Entry]]) -> None:
    """One file's part of a patch. Without an index line (mode change, exact rename) there is nothing to note."""
    cursor.line()
    entry: _Entry | None = None
    while not cursor.done and not cursor.looking_at(b"diff --git ") and not cursor.looking_at(b"\x01"):
        line = cursor.line()
        if index := _INDEX.match(line):
            waiting = by_blobs.get((index[1], index[2]))
            entry = waiting.popleft() if waiting else None
        elif line.startswith((b"Binary files ", b"GIT binary patch")) and entry is not None:
            entry.binary = True
        elif header := _HUNK.match(line):
            hunk = _hunk(cursor, header)
            if entry is not None:
                entry.hunks.append(hunk)


def _hunk(cursor: _Cursor, header: re.Match[bytes]) -> Hunk:
    old_start, old_lines, new_start, new_lines = (1 if part is None else int(part) for part in header.groups())
    removed = _lines(cursor, b"-", old_lines)
    added = _lines(cursor, b"+", new_lines)
    return Hunk(
        old_start=old_start,
        old_lines=old_lines,
        new_start=new_start,
        new_lines=new_lines,
        removed=removed,
        added=added,
    )


def _lines(cursor: _Cursor, sign: bytes, count: int) -> tuple[str, ...]:
    found: list[str] = []
    for _ in range(count):
        if not cursor.looking_at(sign):
            raise _unreadable("git printed a hunk that is shorter than it says")
        found.append(cursor.line()[1:].decode("utf-8", "replace"))
    if cursor.looking_at(b"\\ "):
        cursor.line()
    return tuple(found)
