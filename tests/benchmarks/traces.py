"""How many recorded failures are read whole: the exception and every frame that is listed for them.

    python -m tests.benchmarks traces FOLDER...

A folder holds `cases.jsonl` and `traces/ID.txt`, a recorded failure each. A line tells what stands in it: `exception`
and `frames` (Python), or `failing_tests` (Java, where one chain must have the exception and all frames in order). A
folder of texts alone counts those that yield a trace with a type and frames.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from retrieval.languages import parse_stack_traces
from retrieval.model import Frame, StackTrace
from retrieval.model.signatures import short_type

GOAL = 0.99
_SHOWN = 20


def run(folders: Sequence[str] = ()) -> bool:
    """Print the share per folder; whether every one reaches the goal."""
    if not folders:
        print("   no folder given: python -m tests.benchmarks traces FOLDER...")
        return False
    return not [folder for folder in folders if not _measure(Path(folder))]


def _measure(folder: Path) -> bool:
    cases = folder / "cases.jsonl"
    rows = list(_cases(folder, cases) if cases.exists() else _texts(folder))
    missed = [f"{name}: {why}" for name, why in rows if why]
    share = (len(rows) - len(missed)) / len(rows) if rows else 0.0
    print(f"   {folder.name}: {len(rows) - len(missed)} of {len(rows)} read whole, {share:.2%} (goal {GOAL:.0%})")
    for line in missed[:_SHOWN]:
        print(f"      {line}")
    for why, count in Counter(m.split(": ", 1)[1].split(" | ")[0] for m in missed).most_common():
        print(f"      {count} x {why}")
    return share >= GOAL


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.txt")):
        found = parse_stack_traces(path.read_text("utf-8", "replace"))
        yield path.name, "" if any(t.type and t.frames for t in found) else "no trace with a type and frames"


def _cases(folder: Path, cases: Path) -> Iterator[tuple[str, str]]:
    for line in cases.read_text("utf-8").splitlines():
        case = json.loads(line)
        text = (folder / "traces" / f"{case['id']}.txt").read_text("utf-8", "replace")
        found = list(_every(parse_stack_traces(text)))
        if "failing_tests" in case:
            for test in case["failing_tests"]:
                yield f"{case['id']} {test['test']}", _missing_java(test, found)
        elif case.get("frames") or case.get("exception"):
            yield str(case["id"]), _missing_python(case, found)


def _every(traces: Sequence[StackTrace]) -> Iterator[StackTrace]:
    for trace in traces:
        yield trace
        yield from _every([*([trace.cause] if trace.cause else []), *trace.members])


def _missing_python(case: Mapping[str, Any], found: Sequence[StackTrace]) -> str:
    """What a recorded Python failure lacks; frames may be spread over the chain that it is."""
    wanted = str(case.get("exception") or "")
    if wanted and not any(_says(t, wanted) for t in found):
        return f"exception | {wanted[:80]!r} not in {[t.type for t in found][:6]}"
    seen = [frame for trace in found for frame in trace.frames]
    for listed in case.get("frames") or ():
        if not any(_same(listed, frame) for frame in seen):
            return f"frame | {listed['file']}:{listed['line']} {listed['function']}"
    return ""


def _says(trace: StackTrace, wanted: str) -> bool:
    name = re.match(r"[\w.]+", wanted)
    return bool(name) and short_type(trace.type) == short_type(name[0] if name else "")


def _same(listed: Mapping[str, Any], frame: Frame) -> bool:
    """The same file and line. The listed function was looked up in another commit's source, so that it is no witness
    of what was printed."""
    file = str(listed["file"])
    same_file = f"/{frame.file}".endswith(f"/{file}") or f"/{file}".endswith(f"/{frame.file}")
    return bool(listed["line"] == frame.line and same_file)


def _missing_java(test: Mapping[str, Any], found: Sequence[StackTrace]) -> str:
    wanted = [(f["class"], f["method"], f["file"], f["line"]) for f in test["frames"]]
    head = str(test["exception"]).split(":")[0].strip()
    typed = [t for t in found if t.type == head]
    if not typed:
        return f"exception | {head!r} not in {sorted({t.type for t in found})[:6]}"
    for trace in typed:
        told = [(f.module, f.function, f.file, f.line) for t in _every([trace]) for f in reversed(t.frames)]
        if _in_order(wanted, told):
            return ""
    return f"frames | {len(wanted)} listed, {[len(t.frames) for t in typed][:6]} read"


def _in_order(wanted: Sequence[tuple[Any, ...]], told: Sequence[tuple[Any, ...]]) -> bool:
    rest = iter(told)
    return all(any(_alike(w, t) for t in rest) for w in wanted)


def _alike(wanted: tuple[Any, ...], told: tuple[Any, ...]) -> bool:
    return wanted[:2] == told[:2] and (not wanted[3] or wanted[2:] == told[2:])
