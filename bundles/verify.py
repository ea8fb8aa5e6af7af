"""Is a bundle what it was, and does it still show what it says? Digests first; nothing is run of a damaged bundle."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bundles.errors import DamagedBundle
from bundles.manifest import digest
from bundles.result import SCHEMA

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
    _check_evidence(files, manifest)
    _check_statement(files, statement)
    return manifest


def _json(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        value = json.loads(files[name])
    except ValueError as error:
        raise DamagedBundle(name, "is not JSON") from error
    if not isinstance(value, dict):
        raise DamagedBundle(name, "is not an object")
    return value


def _check_evidence(files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
    """Each evidence's digest is that of its own content, not only of the file around it."""
    for row in manifest.get("evidence", []):
        name = str(row.get("file"))
        if name not in files:
            raise DamagedBundle(name, "is missing")
        content = _json(files, name).get("content")
        if not isinstance(content, str) or hashlib.sha256(
            content.encode("utf-8", "surrogatepass")
        ).hexdigest() != row.get("sha256"):
            raise DamagedBundle(name, "does not hold what its digest says")


def _check_statement(files: Mapping[str, bytes], statement: Mapping[str, Any]) -> None:
    subjects = {str(s.get("name")): (s.get("digest") or {}).get("sha256") for s in statement.get("subject", [])}
    for name in sorted({*files, *subjects} - {"attestation.json"}):
        if name not in files or subjects.get(name) != digest(files[name]):
            raise DamagedBundle(name, "differs from the attestation")
