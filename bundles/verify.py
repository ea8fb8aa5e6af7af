"""Is a bundle what it was, and does it still show what it says? Digests first; nothing is run of a damaged bundle."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from bundles.errors import DamagedBundle
from bundles.judge import Production
from bundles.manifest import digest
from bundles.result import SCHEMA
from bundles.runs import Test
from retrieval.model import ErrorSignature

_Commit = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{40,64}\Z")]


class _Run(msgspec.Struct):
    commit: _Commit
    outcome: str


class _Patch(msgspec.Struct):
    outcome: str
    diff: str


class _Proof(msgspec.Struct):
    at_deployed: _Run | None = None
    at_good: _Run | None = None
    patch: _Patch | None = None


class _Result(msgspec.Struct):
    verdict: str
    proof: _Proof | None = None


class _Expected(msgspec.Struct):
    type: str
    message: str
    frames: list[str]
    causes: list[str] = []


class _Test(msgspec.Struct):
    command: Annotated[list[str], msgspec.Meta(min_length=1)]
    service: str
    repo: str
    environment: str
    expected: _Expected


class _Shape(msgspec.Struct):
    """What of a manifest is used to run its test again."""

    result: _Result
    test: _Test | None = None


_OUTSIDE = frozenset({"manifest.json", "attestation.json"})


def check(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Check every digest and that nothing is missing or added; returns the manifest.

    Raises: DamagedBundle, naming the first file (in the order of names) that is not as the manifest and the
    attestation say.
    """
    for name in sorted(_OUTSIDE):
        if name not in files:
            raise DamagedBundle(name, "is missing")
    manifest, statement = _json(files, "manifest.json"), _json(files, "attestation.json")
    if manifest.get("schema") != SCHEMA:
        raise DamagedBundle("manifest.json", f"has another schema than {SCHEMA}")
    listed = manifest.get("files")
    if not isinstance(listed, dict):
        raise DamagedBundle("manifest.json", "lists no files")
    for name in sorted({*files, *listed} - _OUTSIDE):
        if name not in files:
            raise DamagedBundle(name, "is missing")
        if listed.get(name) != digest(files[name]):
            raise DamagedBundle(name, "differs from the manifest" if name in listed else "is not in the manifest")
    _check_shape(manifest)
    _check_evidence(files, manifest)
    _check_statement(files, statement)
    return manifest


def _json(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        value = json.loads(files[name])
    except (ValueError, RecursionError) as error:
        raise DamagedBundle(name, "is not JSON") from error
    if not isinstance(value, dict):
        raise DamagedBundle(name, "is not an object")
    return value


def _check_shape(manifest: Mapping[str, Any]) -> None:
    """What a run is made of has the kinds that it must have. A commit names a folder, hence digits only; an environment
    of another machine's is never mounted, hence no absolute path."""
    try:
        wanted = msgspec.convert({"result": manifest.get("result"), "test": manifest.get("test")}, _Shape)
    except msgspec.ValidationError as error:
        raise DamagedBundle("manifest.json", "does not have the shape of a manifest") from error
    test, proof = wanted.test, wanted.result.proof
    if test and (proof is None or proof.at_deployed is None or test.environment.startswith("/")):
        raise DamagedBundle("manifest.json", "does not say what to run, and where")


def _check_evidence(files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
    """Each evidence's digest is that of its own content, not only of the file around it."""
    for row in _rows(manifest, "manifest.json", "evidence"):
        name = str(row.get("file"))
        if name not in files:
            raise DamagedBundle(name, "is missing")
        content = _json(files, name).get("content")
        if not isinstance(content, str) or hashlib.sha256(
            content.encode("utf-8", "surrogatepass")
        ).hexdigest() != row.get("sha256"):
            raise DamagedBundle(name, "does not hold what its digest says")


def _check_statement(files: Mapping[str, bytes], statement: Mapping[str, Any]) -> None:
    rows = _rows(statement, "attestation.json", "subject")
    subjects = {str(s.get("name")): s.get("digest") for s in rows}
    for name in sorted({*files, *subjects} - {"attestation.json"}):
        if name not in files or subjects.get(name) != {"sha256": digest(files[name])}:
            raise DamagedBundle(name, "differs from the attestation")


def _rows(document: Mapping[str, Any], name: str, key: str) -> list[dict[str, Any]]:
    rows = document.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DamagedBundle(name, f"has no list of {key}")
    return rows


def packed_test(files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> Test:
    """The generated test of a checked bundle, and what must be seen when it is run."""
    expected = manifest["test"]["expected"]
    overlay = {n.removeprefix("overlay/"): content for n, content in files.items() if n.startswith("overlay/")}
    return Test(
        files={name: content.decode("utf-8", "surrogateescape") for name, content in overlay.items()},
        command=tuple(manifest["test"]["command"]),
        production=Production(
            signature=ErrorSignature(str(expected["type"]), str(expected["message"])),
            frames=tuple(map(str, expected["frames"])),
            causes=tuple(map(str, expected.get("causes", ()))),
        ),
    )
