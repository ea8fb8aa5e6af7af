"""`receipts doctor`: a line per part, with the remedy."""

import os
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.cli.doctor import Finding, checks, examine, line
from bot.cli.serve import locked
from bot.live import remember_services
from retrieval.model import ServiceInfo
from tests.bot.cli.test_serve import receipts
from tests.bot.serving import settings_of


async def found(folder: Path, *names: str, **environ: str) -> list[Finding]:
    known = checks(os.environ)
    answers = await examine(settings_of(folder, **environ), {name: known[name] for name in names})
    return [answers[name] for name in names]


async def answering(status: int, answer: object, headers: dict[str, str] | None = None) -> TestServer:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(answer, status=status, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    server = TestServer(app)
    await server.start_server()
    return server


async def test_with_nothing_configured_nothing_is_broken(tmp_path: Path) -> None:
    names = [name for name in checks(os.environ) if name != "sandbox"]

    assert {finding.state for finding in await found(tmp_path, *names)} <= {"ok", "absent"}


async def test_a_service_that_does_not_answer_is_broken(tmp_path: Path) -> None:
    (finding,) = await found(tmp_path, "prometheus", RECEIPTS_PROMETHEUS__URL="http://127.0.0.1:9")

    assert (finding.state, finding.what) == ("broken", "prometheus.url does not answer")
    assert finding.remedy


@pytest.mark.parametrize(("status", "state"), [(200, "ok"), (404, "ok"), (503, "broken")])
async def test_a_service_is_as_it_answers(tmp_path: Path, status: int, state: str) -> None:
    server = await answering(status, {})
    url = str(server.make_url("")).rstrip("/")

    (finding,) = await found(tmp_path, "alertmanager", RECEIPTS_ALERTMANAGER__URL=url)
    await server.close()

    assert finding.state == state


@pytest.mark.parametrize(
    ("status", "headers", "state", "what"),
    [
        (200, {"X-Elastic-Product": "Elasticsearch"}, "ok", "Elasticsearch 8.19.9"),
        (200, {}, "broken", "What answers at store.url is not Elasticsearch."),
        (
            401,
            {"X-Elastic-Product": "Elasticsearch"},
            "broken",
            "Elasticsearch does not allow us to say what it is (401).",
        ),
    ],
)
async def test_a_cluster_is_asked_what_it_is(
    tmp_path: Path, status: int, headers: dict[str, str], state: str, what: str
) -> None:
    server = await answering(status, {"version": {"number": "8.19.9"}}, headers)
    (finding,) = await found(tmp_path, "store", RECEIPTS_STORE__URL=str(server.make_url("")).rstrip("/"))
    await server.close()

    assert (finding.state, finding.what) == (state, what)
    assert finding.remedy or state == "ok"


async def test_a_cluster_that_does_not_answer_is_broken(tmp_path: Path) -> None:
    (finding,) = await found(tmp_path, "store", RECEIPTS_STORE__URL="http://127.0.0.1:9")

    assert (finding.state, finding.what) == ("broken", "Elasticsearch does not answer.")


@pytest.mark.parametrize(
    ("answer", "state"), [({"ok": True}, "ok"), ({"ok": False, "error": "invalid_auth"}, "broken"), ([], "broken")]
)
async def test_slack_is_asked_whether_it_knows_the_token(tmp_path: Path, answer: object, state: str) -> None:
    server = await answering(200, answer)
    environ = {
        "RECEIPTS_SLACK__API_URL": str(server.make_url("/api")),
        "RECEIPTS_SLACK__BOT_TOKEN": "xoxb-1",
        "RECEIPTS_SLACK__CHANNEL": "C1",
        "RECEIPTS_SLACK__SIGNING_SECRET": "s",
    }

    (finding,) = await found(tmp_path, "slack", **environ)
    await server.close()

    assert finding.state == state
    assert "xoxb" not in line("slack", finding)


async def test_slack_that_is_away_or_half_configured_is_broken(tmp_path: Path) -> None:
    environ = {
        "RECEIPTS_SLACK__API_URL": "http://127.0.0.1:9",
        "RECEIPTS_SLACK__BOT_TOKEN": "xoxb-1",
        "RECEIPTS_SLACK__CHANNEL": "C1",
    }

    (half,) = await found(tmp_path, "slack", **environ)
    (away,) = await found(tmp_path, "slack", RECEIPTS_SLACK__SIGNING_SECRET="s", **environ)

    assert (half.state, half.remedy) == ("broken", "set slack.signing_secret")
    assert (away.state, "does not answer" in away.what) == ("broken", True)


async def test_a_folder_in_use_is_fine_and_one_that_cannot_be_written_is_not(tmp_path: Path) -> None:
    with locked(tmp_path / "data"):
        (used,) = await found(tmp_path, "data")
    (tmp_path / "file").write_text("")
    (wrong,) = await found(tmp_path / "file", "data")

    assert (used.state, "in use" in used.what) == ("ok", True)
    assert wrong.state == "broken"


async def test_what_is_switched_off_is_said(tmp_path: Path) -> None:
    environ = {
        "RECEIPTS_SANDBOX__ENABLED": "false",
        "RECEIPTS_EMBEDDING__MODEL": "",
        "RECEIPTS_KILL_SWITCH": "true",
        "RECEIPTS_ALERTS__TOKENS": '["a"]',
        "RECEIPTS_SERVICES": '{"a": {"repo": "/nonexistent/repo"}, "b": {"repo": "https://git.example.com/b"}}',
    }

    findings = await found(tmp_path, "sandbox", "vectors", "rights", "alerts", "model", "services", **environ)

    assert [finding.state for finding in findings] == ["absent", "absent", "absent", "ok", "absent", "broken"]
    assert "kill_switch" in findings[2].what


async def test_declared_services_are_counted(tmp_path: Path) -> None:
    (finding,) = await found(tmp_path, "services", RECEIPTS_SERVICES='{"b": {"repo": "git@example.com:b"}}')

    assert (finding.state, finding.what) == ("ok", "1 declared, 0 from what was ingested")
    (tmp_path / "data").mkdir(exist_ok=True)
    remember_services(tmp_path / "data", {"a": ServiceInfo(name="a", repo="a")})
    (finding,) = await found(tmp_path, "services")
    assert (finding.state, finding.what) == ("ok", "0 declared, 1 from what was ingested")


async def test_a_model_that_is_not_here_is_said_with_the_remedy(tmp_path: Path) -> None:
    (finding,) = await found(tmp_path, "vectors", RECEIPTS_EMBEDDING__MODEL="no-such-model")

    assert finding.state == "absent"
    assert "no-such-model" in finding.what
    assert "embedding.model" in finding.remedy


def test_the_command_prints_a_line_each_and_says_by_its_exit_whether_something_is_broken(tmp_path: Path) -> None:
    environ = {
        "RECEIPTS_DATA": str(tmp_path / "data"),
        "RECEIPTS_SANDBOX__ENABLED": "false",
        "HOME": str(tmp_path),
    }
    fine = receipts("doctor", **environ)
    broken = receipts("doctor", RECEIPTS_PROMETHEUS__URL="http://127.0.0.1:9", **environ)

    assert (fine.returncode, broken.returncode) == (0, 1)
    assert len(fine.stdout.splitlines()) == len(checks({}))
    assert "broken  prometheus    prometheus.url does not answer -> " in broken.stdout


@pytest.mark.parametrize(
    ("status", "answer", "state", "told"),
    [
        (200, {"object": "list", "data": [{"id": "m", "object": "model"}]}, "ok", "can be asked"),
        (200, {"object": "list", "data": [{"id": "other", "object": "model"}]}, "broken", "not among"),
        (401, {"error": {"message": "hush-hush"}}, "broken", "key is refused"),
        (404, {"error": "no list of models here"}, "ok", "can be asked"),
        (500, {"error": "hush-hush"}, "broken", "status_500"),
    ],
)
async def test_a_model_is_asked_for_its_name_and_never_for_an_answer(
    tmp_path: Path, status: int, answer: object, state: str, told: str
) -> None:
    server = await answering(status, answer)
    environ = {
        "RECEIPTS_MODEL__NAME": "m",
        "RECEIPTS_MODEL__API_KEY": "hush-hush",
        "RECEIPTS_MODEL__BASE_URL": str(server.make_url("/v1")),
    }

    (finding,) = await found(tmp_path, "model", **environ)
    await server.close()

    assert (finding.state, told in finding.what) == (state, True)
    assert "hush" not in line("model", finding)
    assert finding.remedy or state == "ok"


async def test_a_model_without_a_key_or_a_recording_is_broken(tmp_path: Path) -> None:
    (keyless,) = await found(tmp_path, "model", RECEIPTS_MODEL__NAME="m")
    (silent,) = await found(tmp_path, "model", RECEIPTS_MODEL__NAME="m", RECEIPTS_MODEL__PROVIDER="replay")

    assert (keyless.state, keyless.remedy) == ("broken", "set model.api_key")
    assert (silent.state, bool(silent.remedy)) == ("broken", True)
