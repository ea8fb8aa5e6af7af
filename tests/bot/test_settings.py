"""Settings: defaults, file, environment, and errors that name file and key."""

from pathlib import Path

import pytest

from bot.settings import duration_ns, load, reference
from retrieval.errors import BadInput


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "receipts.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_with_nothing_configured_the_defaults_hold() -> None:
    settings = load(None, {})

    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert settings.window.before == "45m"
    assert not settings.slack.enabled
    assert not settings.model.enabled


def test_the_environment_wins_over_the_file_and_leaves_its_neighbours(tmp_path: Path) -> None:
    file = written(tmp_path, "window:\n  before: 30m\n  after: 5m\n")

    settings = load(file, {"RECEIPTS_WINDOW__BEFORE": "1h30m"})

    assert (settings.window.before, settings.window.after) == ("1h30m", "5m")


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    file = written(tmp_path, "phase: 2\n")

    assert load(None, {"RECEIPTS_CONFIG": str(file)}).phase == 2


def test_lists_maps_and_scalars_come_from_variables() -> None:
    settings = load(
        None,
        {
            "RECEIPTS_ALERTS__TOKENS": '["t1"]',
            "RECEIPTS_SERVICES": '{"checkout": {"repo": "/r", "owners": ["@pay"]}}',
            "RECEIPTS_PHASE": "1",
            "RECEIPTS_KILL_SWITCH": "true",
            "RECEIPTS_LISTEN": "[::1]:0",
        },
    )

    assert settings.alerts.tokens[0].get_secret_value() == "t1"
    assert settings.services["checkout"].owners == ["@pay"]
    assert (settings.phase, settings.kill_switch) == (1, True)
    assert (settings.host, settings.port, settings.on_loopback) == ("::1", 0, True)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("windw: {}", "windw: there is no such setting"),
        ("window: {before: soon}", "window.before: 'soon' is not a duration"),
        ("phase: 7", "phase: "),
        ("listen: nowhere", "listen: 'nowhere' is not HOST:PORT"),
        ("listen: 1.2.3.4:99999", "listen: "),
        ("listen: 0.0.0.0:8080", "alerts.tokens: none is set and listen is 0.0.0.0:8080"),
        ("alerts: {tokens: ['']}", "alerts.tokens: an entry is empty"),
        ("alerts: {basic: [user]}", "alerts.basic: an entry is not of the form user:password"),
        ("alerts: {mapped: {'a/b': {}}}", "alerts.mapped.a/b: "),
        ("slack: {bot_token: xoxb-1}", "slack.channel: not set"),
        ("slack: {app_token: xapp-1}", "slack.bot_token: not set"),
        ("public_url: ftp://x", "public_url: "),
        ("jobs: {url: mysql://x}", "jobs.url: "),
        ("services: {a: {repository: x}}", "services.a.repository: there is no such setting"),
        ("a: [", "not YAML (line"),
        ("- a", "not a map of settings"),
    ],
)
def test_a_wrong_value_is_refused_with_file_and_key(tmp_path: Path, text: str, named: str) -> None:
    file = written(tmp_path, text)

    with pytest.raises(BadInput) as caught:
        load(file, {})

    assert str(caught.value).startswith(f"{file}: ")
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"RECEIPTS_SLACK__BOT_TOKNE": "x"}, "RECEIPTS_SLACK__BOT_TOKNE: there is no such setting"),
        ({"RECEIPTS_ALERTS__TOKENS": "t1"}, "RECEIPTS_ALERTS__TOKENS: not JSON"),
        ({"RECEIPTS_WINDOW__AFTER": "x"}, "RECEIPTS_WINDOW__AFTER: window.after: 'x' is not a duration"),
        ({"RECEIPTS_CONFIG": "/nonexistent/file"}, "/nonexistent/file: cannot be read"),
    ],
)
def test_a_wrong_variable_is_refused_by_its_name(environ: dict[str, str], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        load(None, environ)


def test_a_variable_under_a_scalar_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="RECEIPTS_SLACK__CHANNEL"):
        load(written(tmp_path, "slack: on\n"), {"RECEIPTS_SLACK__CHANNEL": "C1"})


def test_an_unreadable_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "receipts.yaml"
    file.write_bytes(b"a: \xff\xfe")

    with pytest.raises(BadInput, match="not UTF-8"):
        load(file, {})


def test_variables_that_kubernetes_sets_for_a_service_of_our_name_are_left_alone() -> None:
    assert load(None, {"RECEIPTS_PORT": "tcp://10.0.0.1:80", "RECEIPTS_SERVICE_HOST": "10.0.0.1"}).port == 8080


def test_a_secret_is_in_no_error_and_no_repr() -> None:
    settings = load(None, {"RECEIPTS_MODEL__API_KEY": "hush-hush", "RECEIPTS_MODEL__NAME": "m"})

    assert "hush" not in repr(settings)
    assert settings.model.enabled
    with pytest.raises(BadInput) as caught:
        load(None, {"RECEIPTS_ALERTS__BASIC": '["hushhush"]'})
    assert "hush" not in str(caught.value)


def test_a_token_makes_any_address_acceptable() -> None:
    settings = load(None, {"RECEIPTS_LISTEN": "receipts.internal:80", "RECEIPTS_ALERTS__TOKENS": '["t"]'})

    assert not settings.on_loopback


def test_the_reference_describes_every_key_and_shows_no_secret() -> None:
    entries = {entry.key: entry for entry in reference()}

    assert all(entry.description for entry in entries.values())
    assert entries["slack.bot_token"].env == "RECEIPTS_SLACK__BOT_TOKEN"
    assert entries["slack.bot_token"].default == ""
    assert entries["window.before"].default == "45m"
    assert entries["alerts.tokens"].default == "[]"
    assert "data" in entries


@pytest.mark.parametrize(("text", "expected"), [("45m", 2700 * 10**9), ("1h30m", 5400 * 10**9), ("250ms", 250 * 10**6)])
def test_durations_are_read_as_people_write_them(text: str, expected: int) -> None:
    assert duration_ns(text) == expected


@pytest.mark.parametrize("text", ["", "45", "m", "-5m", "1.5h", "4w", "45 m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        duration_ns(text)
