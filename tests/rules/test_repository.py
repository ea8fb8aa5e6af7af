"""What a clone must and must not hold."""

import re
import socket
import subprocess
from pathlib import Path

import pytest
from jinja2 import Environment, StrictUndefined
from pytest_socket import SocketConnectBlockedError

ROOT = Path(__file__).resolve().parents[2]


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name]


def test_no_lock_file_records_where_packages_came_from() -> None:
    for path in _tracked():
        assert path.name not in {"uv.lock", "poetry.lock", "Pipfile.lock"}
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        text = path.read_text()
        assert "--hash=sha256:" in text
        assert not re.search(r"https?://|--index-url|--find-links", text), path.name


def test_no_file_names_this_machine() -> None:
    for path in _tracked():
        if path.is_file() and path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".j2", ".sh", ".json", ""}:
            text = path.read_text(errors="ignore")
            assert not re.search(r"(^|[^A-Za-z0-9_.])/(work|root)/(main|shared|\.pyenv)", text), path


def test_every_template_is_strict_and_parses() -> None:
    env = Environment(undefined=StrictUndefined, extensions=["jinja2.ext.do"])
    templates = sorted((ROOT / "templates").rglob("*.j2"))
    assert templates
    for path in templates:
        env.parse(path.read_text())


@pytest.mark.filterwarnings("ignore:A test tried to use socket")
def test_tests_reach_nothing_but_loopback() -> None:

    with socket.socket() as outside, pytest.raises(SocketConnectBlockedError):
        outside.connect(("192.0.2.1", 80))
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as inside:
        assert inside.getpeername() == server.getsockname()
