"""The README is what a stranger reads first, so its parts are checked."""

import re
from pathlib import Path

from bot.cli import COMMANDS
from bot.intake.sources import registry
from bundles.harness import HARNESSES
from retrieval.contracts import CONTRACT_FORMATS
from retrieval.ingest.readers import READERS
from retrieval.judgement.rules import RULES
from retrieval.kinds.registry import KINDS
from retrieval.languages import LANGUAGES
from retrieval.models import PROVIDERS
from tests.readme import README, current

ROOT = README.parent
TEXT = README.read_text()


def test_the_settings_are_the_schema_s() -> None:
    assert current(TEXT) == TEXT, "run: make readme"


def test_every_command_and_every_plug_in_is_named() -> None:
    for name in COMMANDS:
        assert f"receipts {name}" in TEXT, name
    for name in (*registry(), *LANGUAGES, *HARNESSES, *RULES, *KINDS, *PROVIDERS, *CONTRACT_FORMATS):
        assert f"`{name}`" in TEXT, name


def test_every_file_that_it_names_exists() -> None:
    named = re.findall(r"`((?:bot|bundles|retrieval|templates|tests|\.ci)/[\w./-]*)`", TEXT)
    assert len(named) > 10
    for name in named:
        assert (ROOT / name).exists(), name


def test_the_picture_is_there_and_is_one() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", TEXT)
    assert pictures
    for name in pictures:
        assert (ROOT / name).read_text().startswith("<svg")


def test_each_plug_in_has_captured_fixtures_and_a_contract() -> None:
    captured = ROOT / "tests" / "captured"
    for name in registry():
        assert any((captured / name).iterdir()), name
    for name in LANGUAGES:
        assert any(p.name.startswith((name[:2], name)) for p in (captured / "stack-traces").rglob("*")), name
    assert {p.name for p in (ROOT / "tests" / "contract").glob("*.py")} >= {
        "language.py", "test_alert_source.py", "test_index.py", "test_models.py",
    }  # fmt: skip
    assert len({r.kind for r in READERS}) >= 8


def test_every_package_folder_of_a_registry_is_registered() -> None:
    def folders(path: Path) -> set[str]:
        return {p.name for p in path.iterdir() if p.is_dir() and not p.name.startswith("__")}

    assert folders(ROOT / "retrieval" / "languages") == set(LANGUAGES)
    assert folders(ROOT / "bundles" / "harness") == set(HARNESSES)
    rules = {p.stem for p in (ROOT / "retrieval" / "judgement" / "rules").glob("*.py")} - {"__init__", "symptom"}
    assert rules == set(RULES)
