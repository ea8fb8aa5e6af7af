"""A bundle is the same bytes for the same case, and any change of it is found and named."""

import json
import zipfile
from pathlib import Path

import pytest

from bundles.errors import DamagedBundle
from bundles.manifest import as_json, files_of
from bundles.pack import read_zip, size_of, write_zip
from bundles.result import result
from bundles.verify import check
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
