"""Services, commits, files and functions in order of suspicion (contract 3.3 `ranked`). Pure.

Before anything was run, a function is suspect for four reasons, added up: it is on the crash's stack (innermost 1,
each frame further out 0.7 of the one before), a suspect commit touched it, the functions on the stack call it, and the
words of the error occur in its name. A commit is suspect for the best function it touched, for touching a file on the
stack, for touching what the service's dependencies are, and for coming late. Where a dump or a profile shows functions
(`context.observed`), these count like the stack's; where the trouble is one of locks, memory or time, a commit whose
changed lines speak of that counts a little more (row A13); what a failing test ran counts too (row A4, coverage
overlap). A conviction outweighs all of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from retrieval.context.exercised import exercised
from retrieval.context.observed import observed, touches
from retrieval.model import Case, CrashGroup, RankedItem, Rankings, Suspect

FRAME_DECAY = 0.7
ON_STACK, TOUCHED, CALLED = 0.5, 0.4, 0.2
CONVICTED = 10.0
OF_ITS_CLASS = 0.1  # a commit that changed locks where threads hang, what is kept where memory grows
EXERCISED = 0.15  # a commit whose changed lines a failing test ran
_DEPENDENCY_FILES = frozenset(
    [
        "requirements.txt",
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "poetry.lock",
        "uv.lock",
        "Pipfile.lock",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "go.mod",
        "package.json",
        "package-lock.json",
        "Cargo.toml",
        "Cargo.lock",
    ]
)
_TEST_PARTS = frozenset({"test", "tests", "testing", "docs", "doc", ".github"})


def is_production_path(path: str) -> bool:
    """Whether a change of this file can reach production: neither tests nor documentation."""
    pure = PurePosixPath(path)
    name = pure.name
    if any(part in _TEST_PARTS for part in pure.parts[:-1]) or name.startswith("test_") or name == "conftest.py":
        return False
    return pure.suffix.lower() not in {".md", ".rst"} and name not in {"CODEOWNERS", "LICENSE", ".gitignore"}


def _ordered(scores: Mapping[str, float], limit: int = 50) -> tuple[RankedItem, ...]:
    rows = sorted(((round(s, 6), i) for i, s in scores.items() if s > 0), key=lambda r: (-r[0], r[1]))
    return tuple(RankedItem(i, s) for s, i in rows[:limit])


def rank_functions(case: Case, crash: CrashGroup | None, convicted: str | None) -> dict[str, float]:
    """Score per function id."""
    scores: dict[str, float] = defaultdict(float)
    frames = crash.in_app_frames if crash else ()
    for depth, frame in enumerate(reversed(frames)):
        scores[frame] = max(scores[frame], ON_STACK * FRAME_DECAY**depth)
    for place, weight in observed(case).places:
        scores[place] = max(scores[place], ON_STACK * weight)
    called = {callee for frame in frames for callee in case.calls.get(frame, ())}
    for suspect in case.suspects:
        weight = _verdict_weight(suspect, convicted)
        for touched in dict.fromkeys(suspect.symbols):
            if is_production_path(touched.split("::")[0]):
                scores[touched] += TOUCHED * weight
    for callee in called:
        if callee in scores:
            scores[callee] += CALLED
    for symbol in case.symbols:
        if is_production_path(symbol.path) and symbol.kind != "class":
            scores[symbol.symbol_id] += 0.1 if symbol.symbol_id in called else 0.01
    return dict(scores)


def rank_files(case: Case, functions: Mapping[str, float], convicted: str | None) -> dict[str, float]:
    """Score per file: its best function, and whether a suspect commit changed it."""
    scores: dict[str, float] = defaultdict(float)
    for function, score in functions.items():
        path = function.split("::")[0]
        scores[path] = max(scores[path], score)
    for suspect in case.suspects:
        weight = _verdict_weight(suspect, convicted)
        for change in suspect.commit.files:
            if is_production_path(change.path):
                scores[change.path] += 0.3 * weight
    return dict(scores)


def _verdict_weight(suspect: Suspect, convicted: str | None) -> float:
    if convicted is None:
        return 1.0
    return CONVICTED if suspect.commit.sha == convicted else 0.0


def rank_commits(
    case: Case, crash: CrashGroup | None, convicted: str | None, acquitted: Iterable[str]
) -> dict[str, float]:
    """Score per commit that reached the path, suspects or not; the acquitted keep their place behind the rest."""
    frames = list(reversed(crash.in_app_frames)) if crash else []
    on_stack = {frame: FRAME_DECAY**depth for depth, frame in reversed(list(enumerate(frames)))}
    looked = observed(case)
    for place, weight in looked.places:
        on_stack[place] = max(on_stack.get(place, 0.0), weight)
    stack_files = {frame.split("::")[0] for frame in on_stack}
    ran = exercised(case)
    called = {callee for frame in frames for callee in case.calls.get(frame, ())}
    innocent, scores = set(acquitted), {}
    for age, suspect in enumerate(case.suspects):
        touched, files = set(suspect.symbols), {c.path for c in suspect.commit.files}
        score = 0.02 + 0.03 / (1 + age)
        score += 0.5 * max((on_stack[s] for s in touched if s in on_stack), default=0.0)
        score += 0.25 if touched & called else 0.0
        score += 0.15 if files & stack_files else 0.0
        score += 0.1 if any(PurePosixPath(f).name in _DEPENDENCY_FILES for f in files) else 0.0
        score += 0.05 if any(is_production_path(f) for f in files) else 0.0
        score += OF_ITS_CLASS if touches(suspect.commit, looked.symptom) else 0.0
        score += EXERCISED * ran.get(suspect.commit.sha, 0.0)
        if crash and suspect.service != crash.service:
            score *= 0.3
        if suspect.commit.sha == convicted:
            score += CONVICTED
        elif suspect.commit.sha in innocent:
            score *= 0.05
        scores[suspect.commit.sha] = score
    return scores


def rank_services(case: Case, crash: CrashGroup | None) -> dict[str, float]:
    """Score per service: how unlike its baseline it is, and where the best crash happened.

    A crash with frames of the application outweighs every baseline; an error without a stack is often the echo of a
    fault elsewhere, and only speaks where no baseline does.
    """
    scores = {item.id: item.score for item in case.service_scores}
    top = max(scores.values(), default=0.0)
    for depth, service in enumerate(case.topology.path):
        scores.setdefault(service, 0.001 * (depth + 1))
    for alert in case.alerts:
        if alert.service:
            scores.setdefault(alert.service, 0.01)
    if crash and crash.service:
        weight = (top + 1.0) * crash.novelty if crash.in_app_frames else 0.5
        scores[crash.service] = scores.get(crash.service, 0.0) + weight
    return scores


def rank(case: Case) -> Rankings:
    """All four rankings from what the case holds now; call it again once there is a proof."""
    crash = chosen_crash(case)
    bisect = case.proof.bisect if case.proof else None
    convicted = bisect.culprit if bisect else None
    functions = rank_functions(case, crash, convicted)
    return Rankings(
        services=_ordered(rank_services(case, crash)),
        commits=_ordered(rank_commits(case, crash, convicted, bisect.acquitted if bisect else ())),
        files=_ordered(rank_files(case, functions, convicted)),
        functions=_ordered(functions),
    )


def chosen_crash(case: Case) -> CrashGroup | None:
    """The crash that the proof worked on, else the best one."""
    if case.proof and case.proof.input:
        for crash in case.crashes:
            if crash.service == case.proof.service:
                return crash
    return case.crashes[0] if case.crashes else None
