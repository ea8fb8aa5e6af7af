"""Log lines to templates with counts (row B2), after Drain (He, Zhu, Zheng, Lyu: "Drain: An Online Log Parsing Approach
with Fixed Depth Tree", ICWS 2017).

Two things differ from the paper, so that a template is the same wherever and whenever it is mined: the distinct masked
lines are clustered in sorted order, not in the order of arrival, and a template's id is the hash of its text.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

WILDCARD = "<*>"
SIMILARITY = (
    0.5  # share of equal tokens from which two lines are one template; Drain's `st`, its authors use 0.3 to 0.7
)
_MAX_BRANCHES = (
    10_000  # distinct (length, first word); beyond, lines of one length share a branch, as in Drain's `maxChild`
)
_MAX_CLUSTERS = 100  # of one branch; beyond, a line joins the nearest one, so that no batch costs quadratic time
_MAX_TOKENS = 60
_LINE_CAP = 2_000  # characters of a line that are read

_FIGURED = re.compile(r"(?:(?<= )|^)[^\d ]*\d[^ ]*")
_TWO_WORDS = re.compile(r"\d{4}-\d\d-\d\d \d")  # the only thing that is masked across a blank
_TIME = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\d\d:\d\d:\d\d(?:[.,]\d+)?"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# One alternation, so that a line is scanned once; the group's name is the placeholder.
_MASK = re.compile(
    rf"""(?P<time>\b(?:{_TIME}))
    | (?P<uuid>\b{_UUID}\b)
    | (?P<ip>\b\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+)?\b)
    | (?P<hex>\b0x[0-9a-fA-F]+\b|\b(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{{8,}}\b)
    | (?P<id>\b(?=[A-Za-z_]*\d)(?=\d*[A-Za-z_])(?=[A-Za-z_]*\d[A-Za-z_]*\d)\w{{5,}}\b)
    | (?P<num>(?<![A-Za-z_])[-+]?\d+(?:[.,]\d+)*)""",
    re.VERBOSE,
)


class Template(Struct, frozen=True, kw_only=True):
    """One shape of log line. `id` is 16 hexadecimal digits of its text; `first` and `last` are the earliest and latest
    raw line in the order given."""

    id: str
    text: str
    count: int
    first: str
    last: str


class Templates(Struct, frozen=True, kw_only=True):
    """What was mined. `by_id` is ordered by count, most frequent first, ties by id; `masked` is each line's masked
    form."""

    by_id: dict[str, Template]
    by_masked: dict[str, str]
    masked: dict[str, str] = {}

    @property
    def templates(self) -> tuple[Template, ...]:
        return tuple(self.by_id.values())

    def template_of(self, line: str) -> str:
        """The id of the template that a mined line fell into; of any other line the id that it would get alone."""
        masked = self.masked.get(line) or mask(line)
        return self.by_masked.get(masked) or template_id(masked)


class _Seen(Struct):
    """Occurrences of one masked line."""

    count: int
    first: tuple[int, str]
    last: tuple[int, str]


class _Cluster(Struct):
    tokens: list[str]
    members: list[str]


def mask(line: str) -> str:
    """A line with its times, ids, addresses and numbers as placeholders, white space folded, one line, bounded.

    Whatever is masked holds a digit, so that most words of a line need not be looked at closely.
    """
    text = " ".join(line[:_LINE_CAP].split())
    if "-" in text and ":" in text and _TWO_WORDS.search(text):
        text = _MASK.sub(_placeholder, text)
    else:
        text = _FIGURED.sub(lambda word: _masked(word.group()), text)
    return text if text.count(" ") < _MAX_TOKENS else " ".join(text.split()[:_MAX_TOKENS])


@lru_cache(maxsize=16_384)
def _masked(word: str) -> str:
    return _MASK.sub(_placeholder, word)


def _placeholder(match: re.Match[str]) -> str:
    return f"<{match.lastgroup}>"


def template_id(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def mine(lines: Iterable[str]) -> Templates:
    """The templates of a batch of lines. The same lines give the same templates, ids and counts in any order; only the
    examples follow the order. Memory is that of the distinct lines."""
    seen: dict[str, _Seen] = {}
    masked_of: dict[str, str] = {}
    for at, line in enumerate(lines):
        masked = masked_of.get(line)
        if masked is None:
            masked = masked_of[line] = mask(line)
        known = seen.get(masked)
        if known is None:
            seen[masked] = _Seen(count=1, first=(at, line), last=(at, line))
        else:
            known.count += 1
            known.last = (at, line)
    return _collect(_cluster(sorted(seen)), seen, masked_of)


def _collect(texts: dict[str, list[str]], seen: dict[str, _Seen], masked: dict[str, str]) -> Templates:
    templates = []
    by_masked = {}
    for text, members in texts.items():
        key = template_id(text)
        occurrences = [seen[m] for m in members]
        templates.append(
            Template(
                id=key,
                text=text,
                count=sum(o.count for o in occurrences),
                first=min(o.first for o in occurrences)[1],
                last=max(o.last for o in occurrences)[1],
            )
        )
        by_masked.update(dict.fromkeys(members, key))
    ordered = sorted(templates, key=lambda t: (-t.count, t.id))
    return Templates(by_id={t.id: t for t in ordered}, by_masked=by_masked, masked=masked)


def _cluster(masked: list[str]) -> dict[str, list[str]]:
    """Template text -> the masked lines in it. Lines meet only where their length and first word are the same."""
    tree: dict[tuple[int, str], list[_Cluster]] = {}
    for line in masked:
        tokens = line.split()
        head = tokens[0] if tokens else ""
        branch = (len(tokens), WILDCARD if "<" in head else head)
        if branch not in tree and len(tree) >= _MAX_BRANCHES:
            branch = (len(tokens), WILDCARD)
        clusters = tree.setdefault(branch, [])
        best = _nearest(clusters, tokens)
        if best is None:
            clusters.append(_Cluster(tokens=tokens, members=[line]))
        else:
            best.tokens = [a if a == b else WILDCARD for a, b in zip(best.tokens, tokens, strict=True)]
            best.members.append(line)
    texts: dict[str, list[str]] = {}
    for clusters in tree.values():
        for cluster in clusters:
            texts.setdefault(" ".join(cluster.tokens), []).extend(cluster.members)
    return texts


def _nearest(clusters: list[_Cluster], tokens: list[str]) -> _Cluster | None:
    """The most similar cluster above the threshold, the oldest of equals. A wildcard is not an equal token, so that a
    template that is nothing but wildcards draws nothing in."""
    best, best_equal = None, -1
    needed = SIMILARITY * len(tokens)
    for cluster in clusters:
        equal = sum(map(str.__eq__, cluster.tokens, tokens))
        if equal > best_equal:
            best, best_equal = cluster, equal
    return best if best_equal >= needed or len(clusters) >= _MAX_CLUSTERS else None
