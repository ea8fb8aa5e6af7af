"""Takes back what a commit did to a file, in a later version of that file. Pure.

A hunk is taken back where its new lines still stand, with the lines around them as they were in the commit; where they
do not, it is not: no guess is made, a candidate less is made instead.
"""

from collections.abc import Sequence

from retrieval.model import Hunk

CONTEXT = 3


def reverse_hunks(text: str, at_commit: str, hunks: Sequence[Hunk]) -> str | None:
    """`text` (a later version) without what `hunks` did; `at_commit` is the file as the commit left it. None when one
    of them has no place any more, or when nothing changes."""
    lines, model = text.split("\n"), at_commit.split("\n")
    for hunk in sorted(hunks, key=lambda h: h.new_start, reverse=True):
        place = _place(lines, model, hunk)
        if place is None:
            return None
        # A file whose last line has no line feed ends without the empty string that `split` leaves; the lines of a hunk
        # never hold one, so the end of the file stays as it is.
        lines[place : place + len(hunk.added)] = list(hunk.removed)
    result = "\n".join(lines)
    return result if result != text else None


def _place(lines: Sequence[str], model: Sequence[str], hunk: Hunk) -> int | None:
    """The index in `lines` where the hunk's new lines begin: the nearest to where they were that agrees with as much of
    their surroundings as can be had (three lines on each side, then two, then one; none only if it is the only one)."""
    added = list(hunk.added)
    # git counts a pure deletion as lying after line new_start, anything else as beginning at it.
    start = hunk.new_start - 1 if added else hunk.new_start
    if list(model[start : start + len(added)]) != added:
        return None
    for context in range(CONTEXT, -1, -1):
        before, after = model[max(0, start - context) : start], model[start + len(added) : start + len(added) + context]
        wanted = [*before, *added, *after]
        if not wanted:
            return None
        found = [
            at + len(before)
            for at in range(len(lines) - len(wanted) + 1)
            if lines[at] == wanted[0] and list(lines[at : at + len(wanted)]) == wanted
        ]
        if len(found) == 1 or (found and context):
            return min(found, key=lambda at: (abs(at - start), at))
    return None
