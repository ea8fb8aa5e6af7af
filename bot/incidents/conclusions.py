"""What is kept of a finished case, and what a second conclusion changed. Pure."""

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from bot.model import BundleRef
from retrieval.model import Case, CaseSources, Hypothesis

MAX_PROBLEMS = 100


def slim(case: Case) -> Case:
    """The case without telemetry, repositories and symbols: what messages and pages show, small enough to keep."""
    sources = CaseSources(
        services=case.sources.services, problems=case.sources.problems[:MAX_PROBLEMS], present=case.sources.present
    )
    crashes = tuple(replace(crash, logs=(), spans=()) for crash in case.crashes)
    suspects = tuple(replace(s, commit=replace(s.commit, files=())) for s in case.suspects)
    return replace(case, sources=sources, symbols=(), crashes=crashes, suspects=suspects)


def encode(case: Case) -> str:
    """JSON that survives what telemetry may hold: lone surrogates, NaN, infinity, foreign objects (as their text)."""
    return json.dumps(msgspec.to_builtins(case, enc_hook=str), ensure_ascii=True)


def decode(text: str) -> Case:
    return msgspec.convert(json.loads(text), type=Case, dec_hook=_path)


def _path(kind: type, value: Any) -> Any:
    if kind is Path or issubclass(kind, Path):
        return Path(value)
    raise NotImplementedError(kind)


def encode_bundle(bundle: BundleRef, data: Path) -> str:
    """The path is kept relative to the data folder, so that the folder can be moved."""
    path = bundle.path.resolve()
    inside = path.relative_to(data.resolve()) if path.is_relative_to(data.resolve()) else path
    return json.dumps({"path": str(inside), "sha256": bundle.sha256, "size": bundle.size})


def decode_bundle(text: str, data: Path) -> BundleRef:
    value = json.loads(text)
    return BundleRef(path=data / value["path"], sha256=value["sha256"], size=value["size"])


def changed(before: Case | None, after: Case) -> str:
    """One line that says how a re-run's conclusion differs; "" on the first run."""
    if before is None:
        return ""
    pairs = [("verdict", str(before.verdict), str(after.verdict))]
    old, new = _best(before), _best(after)
    for name in ("suspected_service", "suspected_commit", "suspected_file", "suspected_function", "failure_mode"):
        pairs.append((name.removeprefix("suspected_").replace("_", " "), _of(old, name), _of(new, name)))
    differences = [f"{name} {was} → {now}" for name, was, now in pairs if was != now]
    return "; ".join(differences) or "same conclusion as before"


def _best(case: Case) -> Hypothesis | None:
    return case.hypotheses[0] if case.hypotheses else None


def _of(hypothesis: Hypothesis | None, name: str) -> str:
    value = str(getattr(hypothesis, name, None) or "none")
    return value[:10] if name == "suspected_commit" else value
