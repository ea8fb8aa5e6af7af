"""Contract files: which belong together, in which order, and when each came."""

from pathlib import Path

import pytest

from retrieval.contracts.versions import place_of, versions_changes
from retrieval.ingest.intake import Intake, SourceFile
from retrieval.ingest.readers.contracts import READER
from retrieval.model import Contract, ContractChange
from tests.building import MINUTE, ONSET, a_deploy

PROTO = 'syntax = "proto3"; message Coupon { string id = 1; string text = 2; }'
WITHOUT = PROTO.replace(" string text = 2;", "")


@pytest.mark.parametrize(
    ("path", "family", "version"),
    [
        ("openapi.yaml", "openapi.yaml", ""),
        ("v1/openapi.yaml", "openapi.yaml", "v1"),
        ("api/1.2.0/openapi.yaml", "api/openapi.yaml", "1.2.0"),
        ("2025-05-14T06:30:00Z/a.graphql", "a.graphql", "2025-05-14T06:30:00Z"),
        ("3f9c2ab/a.proto", "a.proto", "3f9c2ab"),
        ("before/a.proto", "a.proto", "before"),
        ("openapi-v2.yaml", "openapi.yaml", "v2"),
        ("openapi.previous.yaml", "openapi.yaml", "previous"),
        ("coupon-2.schema.json", "coupon.schema.json", "2"),
        ("coupon.schema.json", "coupon.schema.json", ""),
        ("http2.proto", "http2.proto", ""),
        ("new_orders.proto", "new_orders.proto", ""),
    ],
)
def test_a_path_tells_family_and_version(path: str, family: str, version: str) -> None:
    place = place_of(path)
    assert (place.family, place.version) == (family, version)


def read(folder: Path, files: dict[str, str]) -> tuple[list[Contract], Intake]:
    intake, found = Intake(), list[Contract]()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        found.extend(READER.read(SourceFile(path, name), intake))  # type: ignore[arg-type]
    return found, intake


def changes(folder: Path, files: dict[str, str]) -> tuple[ContractChange, ...]:
    found, intake = read(folder, files)
    assert intake.problems() == ()
    return versions_changes(found, (a_deploy(), a_deploy("f" * 40, 5)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("before/a.proto", "after/a.proto"),
        ("a.old.proto", "a.proto"),
        ("v9/a.proto", "v10/a.proto"),
        ("a-2025-05-13.proto", "a-2025-05-14.proto"),
        ("1.9.0/a.proto", "1.10.0/a.proto"),
    ],
)
def test_the_later_version_is_the_new_one(tmp_path: Path, old: str, new: str) -> None:
    (change,) = changes(tmp_path, {f"contracts/price/{new}": WITHOUT, f"contracts/price/{old}": PROTO})
    assert (change.service, change.told) == ("price", "field Coupon.2 (text) removed")
    assert change.source.file == f"contracts/price/{new}"


def test_a_version_named_after_a_commit_came_with_its_deploy(tmp_path: Path) -> None:
    found = changes(tmp_path, {"contracts/price/0a0a0a0/a.proto": PROTO, "contracts/price/a.proto": WITHOUT})
    assert found[0].reached_ns is None
    assert place_of("bbbbbbbb/a.proto").version == ""  # letters only may be a word
    numbered = a_deploy("1" * 40)
    contracts, _ = read(
        tmp_path, {"contracts/price/0a0a0a0/a.proto": PROTO, "contracts/price/1111111/a.proto": WITHOUT}
    )
    (change,) = versions_changes(contracts, (numbered,))
    assert change.reached_ns == numbered.started_ns


def test_a_migration_comes_with_the_deploy_after_it_was_written(tmp_path: Path) -> None:
    sql = "ALTER TABLE orders DROP COLUMN note;"
    (change,) = changes(tmp_path, {"contracts/price/migrations/20250514063000_drop.sql": sql})
    assert change.reached_ns == a_deploy().started_ns == ONSET - 5 * MINUTE
    (unknown,) = changes(tmp_path, {"contracts/price/0007_drop.sql": sql})
    assert unknown.reached_ns is None
    (alone,) = changes(tmp_path, {"contracts/other/2025-05-14_drop.sql": sql})
    assert alone.reached_ns is not None and alone.reached_ns < ONSET


def test_one_version_alone_changes_nothing(tmp_path: Path) -> None:
    assert changes(tmp_path, {"contracts/price/a.proto": PROTO, "contracts/shop/v2/a.proto": WITHOUT}) == ()


def test_what_is_no_contract_is_told_with_its_line(tmp_path: Path) -> None:
    files = {"contracts/price/a.proto": "message A {\n string x = ;\n}", "contracts/price/notes.yaml": "a: 1"}
    found, intake = read(tmp_path, files)
    assert found == []
    assert [(str(p.source), p.reason.split(":")[0]) for p in intake.problems()] == [
        ("contracts/price/a.proto:2", "expected the number of field 'x'"),
        ("contracts/price/notes.yaml", "is none of the contracts that are read"),
    ]


def test_a_file_outside_of_a_case_folder_belongs_to_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "coupons" / "a.proto"
    path.parent.mkdir()
    path.write_text(PROTO)
    (contract,) = READER.read(SourceFile(path, "a.proto"), Intake())
    assert isinstance(contract, Contract)
    assert contract.service == "coupons"
