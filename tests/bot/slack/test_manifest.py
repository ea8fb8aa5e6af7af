"""The app manifest is one that Slack takes, and asks for no more than is used."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

CAPTURED = Path(__file__).parents[2] / "captured" / "slack"
MANIFEST: dict[str, Any] = json.loads(files("bot.slack").joinpath("manifest.json").read_text())


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_it_fits_slacks_schema(version: str) -> None:
    schema = json.loads((CAPTURED / f"manifest.schema.{version}.json").read_text())

    assert [e.message for e in jsonschema.Draft7Validator(schema).iter_errors(MANIFEST)] == []


def test_everything_comes_to_the_one_route() -> None:
    urls = [
        MANIFEST["features"]["slash_commands"][0]["url"],
        MANIFEST["settings"]["event_subscriptions"]["request_url"],
        MANIFEST["settings"]["interactivity"]["request_url"],
    ]

    assert {url.removeprefix("https://receipts.example.com") for url in urls} == {"/slack/events"}
    assert MANIFEST["features"]["slash_commands"][0]["should_escape"] is True
    assert MANIFEST["settings"]["event_subscriptions"]["bot_events"] == ["app_mention"]
