"""The server's redaction key."""

from pathlib import Path

import pytest

from bot.redaction import KEY_FILE, load_redactor
from retrieval.errors import BadInput

TEXT = "login of jane.doe@example.com failed"


def test_a_value_has_one_pseudonym_across_restarts_and_another_in_another_folder(tmp_path: Path) -> None:
    first = load_redactor(tmp_path / "a").text(TEXT)

    assert "jane" not in first
    assert load_redactor(tmp_path / "a").text(TEXT) == first
    assert load_redactor(tmp_path / "b").text(TEXT) != first


def test_the_key_is_for_its_owner_only(tmp_path: Path) -> None:
    load_redactor(tmp_path)

    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


@pytest.mark.parametrize("content", ["", "zz", "abcd"])
def test_a_damaged_key_is_refused_not_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / KEY_FILE).write_text(content)

    with pytest.raises(BadInput, match=r"redaction\.key"):
        load_redactor(tmp_path)
    assert (tmp_path / KEY_FILE).read_text() == content


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BadInput, match="cannot be used"):
        load_redactor(tmp_path / "file")
