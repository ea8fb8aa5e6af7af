"""What a bundle holds, as files in memory. Pure: identical cases give identical bytes.

Nothing here depends on the machine or the moment: no timings, no absolute paths, keys sorted.
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from bundles.result import SCHEMA, evidence_row, result
from retrieval.model import Case, Evidence, Proof
from retrieval.model.moments import iso_of

FORMAT = 1


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def as_json(value: Any) -> bytes:
    """Readable canonical JSON: sorted keys, two spaces, a line feed at the end."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def files_of(
    case: Case, *, versions: Mapping[str, str], sources: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """Every member of the bundle: path -> bytes. `versions` are those of everything that took part; `sources` are
    source trees (`source/…`) that let a stranger re-run the test without the repository."""
    files: dict[str, bytes] = {}
    for evidence in case.evidence:
        files[f"evidence/{evidence.id}.json"] = _evidence_file(evidence)
    proof = case.proof
    if proof is not None:
        for path, text in proof.files.items():
            files[f"overlay/{path}"] = text.encode("utf-8", "surrogatepass")
        if proof.patch is not None:
            files["patches/0001.diff"] = proof.patch.diff.encode("utf-8")
        if packages := proof.environment.get("packages", ""):
            files["requirements.lock"] = f"{packages}\n".encode()
        if proof.test:
            files["repro.sh"] = _render("bundle/repro.sh.j2", case).encode()
    files.update(sources or {})
    files["README.md"] = _render("bundle/README.md.j2", case).encode()
    manifest = _manifest(case, files, versions)
    files["manifest.json"] = as_json(manifest)
    files["attestation.json"] = as_json(_statement(case, files))
    return dict(sorted(files.items()))


def _evidence_file(evidence: Evidence) -> bytes:
    """`content` is the artifact's canonical text as a string, so that its digest can be checked byte for byte."""
    return as_json({**evidence_row(evidence), "content": evidence.content})


def _manifest(case: Case, files: Mapping[str, bytes], versions: Mapping[str, str]) -> dict[str, Any]:
    proof = case.proof
    return {
        "schema": SCHEMA,
        "format": FORMAT,
        "incident": {
            "id": case.incident_id,
            "alerts": [_alert(a) for a in case.alerts],
            "onset": {"at": iso_of(case.onset.at_ns), "source": case.onset.source} if case.onset else None,
            "window": {"from": iso_of(case.window.from_ns), "to": iso_of(case.window.to_ns)} if case.window else None,
        },
        "environment": _environment(proof) if proof else {},
        "flags": _flags(case),
        "config": _config(case),
        "evidence": [{"id": e.id, "file": f"evidence/{e.id}.json", "sha256": e.sha256} for e in case.evidence],
        "test": _test(proof) if proof and proof.test else None,
        "commands": [" ".join(proof.command)] if proof and proof.test else [],
        "patches": _patches(proof),
        "versions": dict(sorted(versions.items())),
        "files": {path: digest(content) for path, content in sorted(files.items())},
        "result": result(case, timings=False),
    }


def _environment(proof: Proof) -> dict[str, str]:
    """What the runs were made in; the packages lie in requirements.lock."""
    return {key: value for key, value in sorted(proof.environment.items()) if key != "packages"}


def _test(proof: Proof) -> dict[str, Any]:
    """What to run, where, and what must be seen; `environment` is where the service declares its dependencies."""
    attempt = proof.at_deployed
    signature = attempt.error_signature if attempt else None
    return {
        "path": proof.test,
        "command": list(proof.command),
        "service": proof.service,
        "repo": proof.repo,
        "environment": proof.environment.get("declared", ""),
        "expected": {
            "type": signature.type if signature else "",
            "message": signature.message if signature else "",
            "frames": list(attempt.frames) if attempt else [],
            "causes": list(attempt.causes) if attempt else [],
        },
    }


def _alert(alert: Any) -> dict[str, Any]:
    return {"name": alert.name, "fingerprint": alert.fingerprint, "starts": iso_of(alert.starts_ns),
            "labels": dict(sorted(alert.labels.items()))}  # fmt: skip


def _flags(case: Case) -> dict[str, Any]:
    """The value of every flag of the failing service as at the onset."""
    at = case.onset.at_ns if case.onset else None
    rows = sorted((f for f in case.sources.flags if at is None or f.at_ns <= at), key=lambda f: f.at_ns)
    return {f"{f.service}/{f.flag}" if f.service else f.flag: msgspec.to_builtins(f.value) for f in rows}


def _config(case: Case) -> dict[str, str]:
    at = case.onset.at_ns if case.onset else None
    rows = sorted((c for c in case.sources.config if at is None or c.at_ns <= at), key=lambda c: c.at_ns)
    return {f"{c.service}/{c.key}": c.value for c in rows}


def _patches(proof: Proof | None) -> list[dict[str, Any]]:
    if proof is None or proof.patch is None:
        return []
    patch = proof.patch
    return [{"file": "patches/0001.diff", "strategy": patch.strategy, "rationale": patch.rationale,
             "outcome": patch.outcome, "regression": patch.regression}]  # fmt: skip


def _statement(case: Case, files: Mapping[str, bytes]) -> dict[str, Any]:
    """An in-toto statement over the bundle's files (in-toto attestation framework, statement v1); unsigned."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": p, "digest": {"sha256": digest(c)}} for p, c in sorted(files.items())],
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {"result": case.verdict.value.upper(), "configuration": [], "url": ""},
    }


def _render(template: str, case: Case) -> str:
    made = Environment(
        loader=PackageLoader("templates", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["iso"] = iso_of
    made.filters["fenced"] = _fenced
    return made.get_template(template).render(case=case, best=case.hypotheses[0] if case.hypotheses else None)


def _fenced(text: str) -> str:
    """Foreign text as a Markdown code span that it cannot leave, without what would act in a terminal."""
    shown = "".join(" " if c.isspace() else c for c in str(text) if c.isspace() or unicodedata.category(c)[0] != "C")
    flat = " ".join(shown.split())
    runs = max((len(r) for r in "".join(c if c == "`" else " " for c in flat).split()), default=0)
    fence = "`" * (runs + 1)
    pad = " " if runs or flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""
