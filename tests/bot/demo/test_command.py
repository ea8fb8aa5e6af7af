"""`receipts demo` from its arguments to its exit code."""

import asyncio
import json
import os
import signal
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from bot.cli import demo, triage
from bot.demo.play import Played
from bot.demo.repository import CULPRIT
from bundles.environment import Environments
from bundles.harness import HARNESSES
from bundles.prove import Workshop
from bundles.sandbox import Sandbox, SandboxSettings
from retrieval.errors import BadInput
from tests.bot.slack.views import view


@pytest.mark.sandbox
@pytest.mark.timeout(240)
def test_from_nothing_to_a_proved_hypothesis(
    offline: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in offline.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out" / "demo").mkdir(parents=True)
    (tmp_path / "out" / "demo" / "inc-old.zip").write_text("from an earlier demo")

    result = CliRunner().invoke(demo.command, ["--keep"])

    assert result.exit_code == 0, result.output
    told = result.stdout
    assert "verdict   proved" in told
    assert f'culprit   {CULPRIT} "Show coupon text on receipts", Ada Byron' in told
    assert told.count("🟢") == 6  # three in the message, three below it
    assert "What broke   format_discount()" in told
    (bundle,) = (tmp_path / "out" / "demo").glob("*.zip")
    assert f"bundle    {bundle.relative_to(tmp_path)}" in told
    manifest = json.loads(zipfile.ZipFile(bundle).read("manifest.json"))
    assert manifest["result"]["verdict"] == "proved"
    picture = ElementTree.parse(tmp_path / "out" / "demo" / "channel.svg")
    shown = " ".join(text.strip() for text in picture.getroot().itertext())
    assert "checkout" in shown
    assert f"receipts-{bundle.stem}" in shown
    assert (tmp_path / "out" / "demo" / "case" / "alert.json").exists()


@pytest.mark.sandbox
@pytest.mark.timeout(240)
def test_triage_of_its_case_folder_is_proved_too(
    offline: dict[str, str], case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in offline.items():
        monkeypatch.setenv(name, value)

    result = CliRunner().invoke(triage.command, [str(case), "--json", "--out", str(tmp_path / "out")])

    told = json.loads(result.stdout)
    assert told["verdict"] == "proved"
    assert told["hypothesis"]["suspected_commit"] == CULPRIT
    assert told["hypothesis"]["suspected_function"].endswith("format_discount")
    assert told["proof"]["bisect"]["culprit"] == CULPRIT
    assert len(told["proof"]["bisect"]["acquitted"]) >= 6
    assert told["ranked"]["services"][0]["id"] == "price"


def test_where_the_sandbox_does_not_hold_nothing_is_run_and_the_exit_code_is_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut = Sandbox(SandboxSettings(enabled=False, cache=tmp_path), {})
    workshop = Workshop(sandbox=shut, environments=Environments({}, tmp_path), harnesses=HARNESSES)
    monkeypatch.setattr(demo, "make_workshop", lambda environ, redactor: workshop)

    result = CliRunner().invoke(demo.command, ["--out", str(tmp_path / "out")])

    assert result.exit_code == 3
    assert "switched off" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.sandbox
def test_an_output_folder_that_is_a_file_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    result = CliRunner().invoke(demo.command, ["--out", str(tmp_path / "file")])

    assert isinstance(result.exception, BadInput)
    assert result.exception.subject == "--out"


async def test_the_page_is_served_until_it_is_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    ended = Played(view=view(), messages=[], channel="incidents", page="http://127.0.0.1:1/incidents/inc-1")
    serving = asyncio.create_task(demo._serve(ended))
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGINT)

    await asyncio.wait_for(serving, 5)

    assert "page      http://127.0.0.1:1/incidents/inc-1" in capsys.readouterr().out


def test_what_was_not_proved_is_not_lit() -> None:
    assert [lamp["lit"] for lamp in demo._lamps(None)] == [False, False, False]
    assert demo._culprit(None)["culprit"] == ""
