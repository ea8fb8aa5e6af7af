"""A bundle is the same bytes for the same case, and any change of it is found and named."""

import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bundles.errors import DamagedBundle
from bundles.manifest import as_json, digest, files_of
from bundles.pack import read_zip, size_of, write_zip
from bundles.result import result
from bundles.verify import check, packed_test
from retrieval.judgement.conclude import conclude
from retrieval.model import Case
from tests import building as b


def a_bundle() -> dict[str, bytes]:
    return files_of(conclude(b.a_case(proof=b.a_proof()), []), versions={"receipts": "0.1.0"})


def test_the_same_case_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = write_zip(tmp_path / "1.zip", a_bundle()), write_zip(tmp_path / "sub" / "2.zip", a_bundle())
    assert one == two
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "sub" / "2.zip").read_bytes()
    assert size_of(tmp_path / "1.zip") > 1000


def test_it_holds_what_the_contract_says_and_checks() -> None:
    files = a_bundle()
    assert {"manifest.json", "README.md", "attestation.json", "repro.sh", "patches/0001.diff"} <= set(files)
    assert "overlay/receipts_repro/test_total.py" in files
    manifest = check(files)
    assert manifest["result"]["verdict"] == "proved"
    assert len(manifest["evidence"]) == sum(n.startswith("evidence/") for n in files)
    assert "timings_ms" not in manifest["result"]


def test_its_test_is_held_to_the_same_error_again_and_to_what_that_wrapped() -> None:
    proof = b.a_proof()
    assert proof.at_deployed is not None
    wrapped = structs.replace(proof, at_deployed=structs.replace(proof.at_deployed, causes=("KeyError",)))
    files = files_of(conclude(b.a_case(proof=wrapped), []), versions={})

    expected = packed_test(files, check(files)).production

    assert expected.signature == proof.at_deployed.error_signature
    assert expected.frames == proof.at_deployed.frames
    assert expected.causes == ("KeyError",)


def test_a_case_with_nothing_makes_a_bundle_too() -> None:
    case = conclude(Case(incident_id="i", alerts=(b.an_alert(),)), [])
    files = files_of(case, versions={})
    assert check(files)["result"]["verdict"] == "insufficient_evidence"
    assert "Nothing recorded names a cause" in files["README.md"].decode()
    assert "repro.sh" not in files


@pytest.mark.parametrize("name", sorted(a_bundle()))
def test_one_changed_byte_is_found_and_its_file_named(name: str) -> None:
    files = a_bundle()
    content = bytearray(files[name])
    content[len(content) // 2] ^= 1
    with pytest.raises(DamagedBundle) as caught:
        check({**files, name: bytes(content)})
    assert caught.value.file == name or name in ("manifest.json", "attestation.json")


def test_an_added_and_a_missing_file_are_found() -> None:
    files = a_bundle()
    with pytest.raises(DamagedBundle, match=r"extra\.txt"):
        check({**files, "extra.txt": b""})
    with pytest.raises(DamagedBundle, match=r"E1\.json"):
        check({n: c for n, c in files.items() if n != "evidence/E1.json"})
    with pytest.raises(DamagedBundle, match="attestation"):
        check({n: c for n, c in files.items() if n != "attestation.json"})


def test_evidence_rewritten_with_its_manifest_is_still_found() -> None:
    files = a_bundle()
    row = json.loads(files["evidence/E1.json"])
    files["evidence/E1.json"] = as_json({**row, "content": row["content"] + " "})
    manifest = json.loads(files["manifest.json"])
    import hashlib

    manifest["files"]["evidence/E1.json"] = hashlib.sha256(files["evidence/E1.json"]).hexdigest()
    files["manifest.json"] = as_json(manifest)
    with pytest.raises(DamagedBundle, match=r"E1\.json"):
        check(files)


def test_a_byte_changed_inside_the_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    write_zip(path, a_bundle())
    raw = bytearray(path.read_bytes())
    at = raw.index(b'"kind": "log"')
    raw[at + 10] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(DamagedBundle) as caught:
        read_zip(path)
    assert caught.value.file.startswith("evidence/")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "a\\b", "dir/"])
def test_names_that_leave_the_folder_are_refused_both_ways(tmp_path: Path, name: str) -> None:
    with pytest.raises(DamagedBundle):
        write_zip(tmp_path / "x.zip", {name: b""})
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"")
    with pytest.raises(DamagedBundle):
        read_zip(tmp_path / "y.zip")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"no zip at all"])
def test_what_is_no_archive_is_said_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "z.zip").write_bytes(content)
    with pytest.raises(DamagedBundle, match=r"z\.zip"):
        read_zip(tmp_path / "z.zip")


def test_the_answer_obeys_the_contract() -> None:
    answer = result(conclude(b.a_case(proof=b.a_proof()), []), bundle="x.zip")
    assert answer["schema"] == "receipts/1"
    assert answer["bundle"] == "x.zip"
    assert answer["proof"]["bisect"]["culprit"] == b.GUILTY
    assert answer["hypothesis"]["suspected_commit"] == b.GUILTY


def test_foreign_text_cannot_leave_its_code_span() -> None:
    crash = b.a_crash(signature=type(b.SIGNATURE)("E`rror", "``` [click](http://evil) <!channel>"))
    text = files_of(conclude(b.a_case(crashes=(crash,)), []), versions={})["README.md"].decode()
    line = next(line for line in text.splitlines() if "evil" in line)
    assert line.count("````") == 2


def test_foreign_text_cannot_act_in_a_terminal() -> None:
    crash = b.a_crash(
        signature=type(b.SIGNATURE)("Error", "\x1b[31mred\x1b]0;t\x07 zero\u200bwidth \u202ebidi\r\nline")
    )
    text = files_of(conclude(b.a_case(crashes=(crash,)), []), versions={})["README.md"].decode()
    assert "zerowidth bidi line" in text
    assert not set(text) & set("\x1b\x07\u200b\u202e\r")


def forged(**changes: object) -> dict[str, bytes]:
    """A bundle whose digests hold, with parts of its manifest replaced: what somebody who wants harm would send."""
    files = a_bundle()
    manifest = {**json.loads(files["manifest.json"]), **changes}
    statement = json.loads(files["attestation.json"])
    files["manifest.json"] = as_json(manifest)
    for subject in statement["subject"]:
        subject["digest"] = {"sha256": digest(files[subject["name"]])}
    files["attestation.json"] = as_json(statement)
    return files


def manifest_of(files: dict[str, bytes], part: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files["manifest.json"])[part]
    return found


def test_a_forged_manifest_cannot_name_places_of_this_machine() -> None:
    test, answer = manifest_of(a_bundle(), "test"), manifest_of(a_bundle(), "result")
    assert check(forged(test=test, result=answer))["test"] == test
    outside = {**answer["proof"]["at_deployed"], "commit": "/root/.ssh"}
    for changes in (
        {"test": {**test, "environment": "/root"}},
        {"result": {**answer, "proof": {**answer["proof"], "at_deployed": outside}}},
        {"result": {**answer, "proof": {**answer["proof"], "at_good": outside}}},
    ):
        with pytest.raises(DamagedBundle, match=r"manifest\.json"):
            check(forged(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"result": None},
        {"result": {"verdict": "proved", "proof": None}},
        {"result": {"verdict": "proved", "proof": []}},
        {"test": {"command": "rm -rf /"}},
        {"test": 5},
        {"evidence": 5},
        {"evidence": ["E1"]},
        {"files": []},
    ],
)
def test_a_manifest_of_another_shape_is_damaged_and_named(changes: dict[str, object]) -> None:
    with pytest.raises(DamagedBundle, match=r"manifest\.json"):
        check(forged(**changes))


def test_a_statement_of_another_shape_is_damaged_and_named() -> None:
    for statement in (b"[]", b"{}", b'{"subject": 5}', b'{"subject": [{"name": "manifest.json", "digest": 5}]}'):
        with pytest.raises(DamagedBundle):
            check({**a_bundle(), "attestation.json": statement})
    with pytest.raises(DamagedBundle, match=r"manifest\.json: is not JSON"):
        check({**a_bundle(), "manifest.json": b"[" * 100_000})


def test_an_archive_that_lies_about_its_sizes_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(64 * 2**20))
    raw = path.read_bytes()
    path.write_bytes(raw.replace((64 * 2**20).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    tracemalloc.start()
    with pytest.raises(DamagedBundle):
        read_zip(path)
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_broken_compressed_member_is_named(tmp_path: Path, method: int) -> None:
    path = tmp_path / "c.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.txt", bytes(range(256)) * 40)
    raw = bytearray(path.read_bytes())
    raw[45:70] = b"\xff" * 25
    path.write_bytes(bytes(raw))
    with pytest.raises(DamagedBundle, match=r"a\.txt"):
        read_zip(path)
