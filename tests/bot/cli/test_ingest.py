"""`receipts ingest` as a person calls it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RECEIPTS = (sys.executable, "-c", "from bot.cli import main; main()")


def a_repository(path: Path) -> Path:
    path.mkdir()
    (path / "shop.py").write_text("def sell():\n    return 1\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Sell."]):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *words], cwd=path, check=True)
    return path


def ingest_repository(data: Path, path: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "RECEIPTS_DATA": str(data), "RECEIPTS_EMBEDDING__MODEL": ""}
    command = [*RECEIPTS, "ingest", "repo", *more, str(path)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["shop@v2", "shop+legacy", "größe"])
def test_a_repository_is_taken_under_every_name_that_a_case_folder_may_have(name: str, tmp_path: Path) -> None:
    told = ingest_repository(tmp_path / "data", a_repository(tmp_path / name))

    assert told.returncode == 0, told.stderr
    assert (tmp_path / "data" / "repos" / name).is_dir()


def test_a_name_that_could_be_an_option_is_refused_with_the_remedy(tmp_path: Path) -> None:
    told = ingest_repository(tmp_path / "data", a_repository(tmp_path / "a"), "--name=--upload-pack=x")

    assert told.returncode == 2
    assert "--name" in told.stderr and "letters, digits" in told.stderr
    assert list((tmp_path / "data").glob("repos/*")) == []


def test_contracts_and_tickets_are_stored_and_what_is_neither_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "contracts" / "coupons"
    for name, text in {
        "v1/a.proto": "message A { string x = 1; }",
        "v2/a.proto": "message A { }",
        "b.yaml": "a: 1",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "SHOP-17.md").write_text("# Coupons fail\n\n## Cause\nNull.\n")
    environment = {**os.environ, "RECEIPTS_DATA": str(tmp_path / "data"), "RECEIPTS_EMBEDDING__MODEL": ""}
    told = [
        subprocess.run(
            [*RECEIPTS, "ingest", kind, str(path)], env=environment, capture_output=True, text=True, check=True
        )
        for kind, path in (("contracts", tmp_path / "contracts"), ("tickets", tmp_path / "SHOP-17.md"))
    ]

    assert told[0].stdout == "3 contract documents\n"
    assert "b.yaml: is none of the contracts that are read" in told[0].stderr
    assert told[1].stdout == "1 ticket documents\n"
