"""What the redactor finds and what it takes for something: `python -m tests.benchmarks.redaction [FOLDER...]`, the
labelled sets in `tests/captured/redaction` where none is named.

A set is a folder of JSON lines, `{"line", "sensitive": [[start, end, kind]…], "keep": [text…]}`. A labelled value is
found when it stands nowhere in what came out. Precision is the share of the replaced values that touch a labelled one.
Kept is the share of the texts that must survive which did. `--misses` shows what was missed, of a set that one may look
at: `a` was, while rules were made; `b` was not.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from retrieval.ingest.redaction import KeyedRedactor, throwaway_redactor
from retrieval.ingest.redaction.pseudonyms import Pseudonyms

SETS = Path(__file__).resolve().parents[1] / "captured" / "redaction"
RECALL, PRECISION = 0.99, 0.95


class Labelled(Struct, frozen=True):
    """One entry of a set; offsets are characters of `line`."""

    line: str
    sensitive: list[tuple[int, int, str]]
    keep: list[str]


class Figures(Struct):
    spans: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    replaced: int = 0
    rightly: int = 0
    keep: int = 0
    kept: int = 0
    lines: int = 0
    seconds: float = 0.0
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return sum(self.found.values()) / max(1, sum(self.spans.values()))

    @property
    def precision(self) -> float:
        return self.rightly / max(1, self.replaced)


class Telling(Pseudonyms):
    """Remembers what was replaced."""

    def __init__(self, plain: Pseudonyms) -> None:
        super().__init__(plain.key, plain.key_id)
        self.values: list[str] = []

    def of(self, kind: str, value: str) -> str:
        self.values.append(value)
        return super().of(kind, value)


def read(path: Path) -> Iterator[Labelled]:
    for line in path.read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        yield Labelled(raw["line"], [(s, e, k) for s, e, k in raw["sensitive"]], raw["keep"])


def judge(files: Iterable[Path]) -> Figures:
    """All lines of some files of a set."""
    figures = Figures()
    for path in files:
        for labelled in read(path):
            _one(labelled, figures, path.stem)
    return figures


def _one(labelled: Labelled, figures: Figures, form: str) -> None:
    redactor: KeyedRedactor = throwaway_redactor()
    telling = redactor._pseudonyms = Telling(redactor._pseudonyms)
    began = time.perf_counter()
    clean = redactor.text(labelled.line)
    figures.seconds += time.perf_counter() - began
    figures.lines += 1
    for start, end, kind in labelled.sensitive:
        value = labelled.line[start:end]
        figures.spans[kind] += 1
        if value not in clean:
            figures.found[kind] += 1
        else:
            figures.missed.append(f"{form} {kind}: {value!r} in {labelled.line!r}")
    for value in telling.values:
        figures.replaced += 1
        if _touches(labelled, value):
            figures.rightly += 1
        else:
            figures.wrong.append(f"{form}: {value!r} in {labelled.line!r}")
    figures.keep += len(labelled.keep)
    figures.kept += sum(text in clean for text in labelled.keep)


def _touches(labelled: Labelled, value: str) -> bool:
    """Whether a replaced value holds, lies in or overlaps a labelled one; a decoded one is compared by its text."""
    at = labelled.line.find(value)
    if at < 0:
        return bool(labelled.sensitive)
    while at >= 0:
        if any(start < at + len(value) and at < end for start, end, _ in labelled.sensitive):
            return True
        at = labelled.line.find(value, at + 1)
    return False


def told(name: str, figures: Figures) -> bool:
    met = figures.recall >= RECALL and figures.precision >= PRECISION
    spans, speed = sum(figures.spans.values()), figures.lines / figures.seconds
    print(
        f"{name:<12} recall {figures.recall:7.4f} of {spans:5}, precision {figures.precision:7.4f} of "
        f"{figures.replaced:5}, kept {figures.kept}/{figures.keep}, {speed:8,.0f} lines a second"
    )
    return met


def run(folders: Sequence[Path] = (), *, misses: bool = False) -> bool:
    """True when every set reaches both goals, taken whole."""
    met = True
    for folder in folders or sorted(path for path in SETS.iterdir() if path.is_dir()):
        files = sorted(folder.glob("*.jsonl"))
        for path in files:
            told(path.stem, judge([path]))
        whole = judge(files)
        for kind, count in sorted(whole.spans.items()):
            if whole.found[kind] < count:
                print(f"  {kind}: {whole.found[kind]} of {count}")
        met = told(f"= {folder.name}", whole) and met
        if misses:
            print("\n".join([*whole.missed, "-- replaced for nothing", *whole.wrong]))
    return met


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--misses"]
    sys.exit(0 if run([Path(a) for a in arguments], misses="--misses" in sys.argv) else 1)
