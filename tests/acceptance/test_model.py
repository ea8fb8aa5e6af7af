"""A language model beside the rules, by the command line: it words, it never decides, and the bundle stays the same."""

import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests import case_folder
from tests.acceptance.test_triage import answer, receipts
from tests.contract.model_server import CAPTURED, KEY


class Endpoint(BaseHTTPRequestHandler):
    """Answers every question by the first of all that may be chosen, and quotes the first line that it was shown."""

    status = 200
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append(question)
        captured = json.loads(
            (CAPTURED / ("valid" if self.status == 200 else "unknown_key")).with_suffix(".json").read_text()
        )
        if self.status == 200:
            captured["body"]["choices"][0]["message"]["content"] = json.dumps(_said(question))
        body = json.dumps(captured["body"]).encode()
        self.send_response(captured["status"])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


def _said(question: dict[str, Any]) -> dict[str, Any]:
    lines = question["messages"][1]["content"].splitlines()
    shown = next(line for line in lines if line.startswith("E1:01| "))
    schema = question["response_format"]["json_schema"]["schema"]
    about = schema["$defs"]["AddedClaim"]["properties"]["about"]["enum"]
    name = next(n for n in about if n.rsplit("::", 1)[-1].rsplit(".", 1)[-1] in shown)
    told = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
    claim = {"text": f"The error shows up while {told} runs.", "about": name, "evidence": "E1", "quote": shown[7:67]}
    return {"verdict": "supported", "best": "H1", "summary": "", "claims": [claim], "wanted": []}


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[Endpoint]]:
    handler = type("Handler", (Endpoint,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("RECEIPTS_MODEL__BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("RECEIPTS_MODEL__API_KEY", KEY)
    monkeypatch.setenv("RECEIPTS_CACHE", str(tmp_path / "cache"))
    yield handler
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def case(tmp_path: Path) -> Path:
    case_folder.build(tmp_path / "case", tmp_path / "nowhere")
    return tmp_path / "case"


DECIDED = ("verdict", "ranked", "evidence", "missing", "proof", "looked_at")


def test_a_model_adds_cited_words_once_and_replays_them(
    case: Path, tmp_path: Path, endpoint: type[Endpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(out: str, *options: str) -> dict[str, Any]:
        return answer(
            receipts("triage", case, "--json", "--no-sandbox", "--out", tmp_path / out, *options, cwd=tmp_path)
        )

    plain, first, second = run("p"), run("a", "--model", "m"), run("b", "--model", "m")
    monkeypatch.setenv("RECEIPTS_MODEL__PROVIDER", "replay")
    monkeypatch.setenv("RECEIPTS_MODEL__ANSWERS", str(tmp_path / "cache" / "answers"))
    replayed = run("c", "--model", "m")

    assert plain["model"] is None
    assert first["model"] == {"name": "m", "provider": "openai", "outcome": "refined", "tokens": 50}
    assert first["hypothesis"]["claims"][-1]["by"] == "model"
    assert all(first[key] == plain[key] for key in DECIDED)
    assert len(endpoint.asked) == 1
    bundles = [next((tmp_path / name).glob("*.zip")).read_bytes() for name in ("a", "b")]
    assert bundles[0] == bundles[1]
    assert second["hypothesis"] == first["hypothesis"] == replayed["hypothesis"]
    with zipfile.ZipFile(next((tmp_path / "a").glob("*.zip"))) as archive:
        manifest = archive.read("manifest.json").decode()
    assert json.loads(manifest)["versions"]["model"] == "m (refined)"
    assert KEY not in manifest
    with zipfile.ZipFile(next((tmp_path / "p").glob("*.zip"))) as archive:
        assert "model" not in json.loads(archive.read("manifest.json"))["versions"]


def test_a_model_that_fails_leaves_the_answer_as_it_is_and_is_said(
    case: Path, tmp_path: Path, endpoint: type[Endpoint]
) -> None:
    endpoint.status = 401
    plain = answer(receipts("triage", case, "--json", "--no-sandbox", "--out", tmp_path / "p", cwd=tmp_path))
    done = receipts("triage", case, "--json", "--no-sandbox", "--model", "m", "--out", tmp_path / "a", cwd=tmp_path)
    told = receipts("triage", case, "--no-sandbox", "--model", "m", "--out", tmp_path / "b", cwd=tmp_path)
    found = answer(done)

    assert (found["model"]["outcome"], found["model"]["reason"]) == ("llm_error", "key_refused")
    assert found["hypothesis"] == plain["hypothesis"]
    assert all(found[key] == plain[key] for key in DECIDED)
    assert "the rules' answer stands" in told.stdout
    assert KEY not in done.stdout + done.stderr + told.stdout + told.stderr


def test_a_model_without_a_key_is_a_configuration_error(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECEIPTS_MODEL__API_KEY", raising=False)
    done = receipts("triage", case, "--json", "--model", "m", cwd=tmp_path)

    assert done.returncode == 2
    assert "RECEIPTS_MODEL__API_KEY" in done.stderr
