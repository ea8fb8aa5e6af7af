"""What every registered alert source promises. Its captured bodies lie in tests/captured/NAME."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.intake.sources import AlertSource, Unreadable, registry
from retrieval.model import AlertBatch

CAPTURED = Path(__file__).parent.parent / "captured"
SOURCES = registry()
BODIES = [(name, path) for name in sorted(SOURCES) for path in sorted((CAPTURED / name).glob("*.json"))]
each_source = pytest.mark.parametrize("source", [SOURCES[name] for name in sorted(SOURCES)], ids=sorted(SOURCES))
each_body = pytest.mark.parametrize(("name", "path"), BODIES, ids=[f"{name}/{path.stem}" for name, path in BODIES])


def outcome(source: AlertSource, body: bytes) -> AlertBatch | str:
    """What became of a body; anything but these two ends the test."""
    try:
        return source.parse(body, {})
    except Unreadable as error:
        return error.reason


@each_source
def test_every_source_has_captured_bodies(source: AlertSource) -> None:
    assert [path for name, path in BODIES if name == source.name]


@each_body
def test_a_captured_body_is_read_whole(name: str, path: Path) -> None:
    body = path.read_bytes()
    value = json.loads(body)
    sent = value if isinstance(value, list) else value.get("alerts", [value])

    batch = SOURCES[name].parse(body, {})

    assert batch.rejected == ()
    assert len(batch.alerts) == len(sent)
    for alert in batch.alerts:
        assert (alert.source, bool(alert.name), bool(alert.fingerprint)) == (name, True, True)
        assert alert.status in ("firing", "resolved")
        assert 0 <= alert.starts_ns < 2**63


@each_body
def test_reading_is_deterministic_and_what_was_read_can_be_stored(name: str, path: Path) -> None:
    body = path.read_bytes()
    first, second = SOURCES[name].parse(body, {}), registry()[name].parse(body, {"Content-Type": "text/plain"})

    assert first == second
    assert msgspec.json.decode(msgspec.json.encode(first), type=AlertBatch) == first


@each_body
def test_keys_of_a_later_version_are_passed_over(name: str, path: Path) -> None:
    value = json.loads(path.read_bytes())
    for item in value if isinstance(value, list) else [value, *value.get("alerts", [])]:
        item["a_key_of_the_future"] = {"deep": [1, {"er": None}]}

    assert SOURCES[name].parse(json.dumps(value).encode(), {}) == SOURCES[name].parse(path.read_bytes(), {})


@each_body
def test_a_broken_neighbour_does_no_harm(name: str, path: Path) -> None:
    value = json.loads(path.read_bytes())
    items = value if isinstance(value, list) else value.get("alerts", [value])
    spoilt = [17, *items, None, {"startsAt": [], "time": {}}]
    body = spoilt if not isinstance(value, dict) or "alerts" not in value else {**value, "alerts": spoilt}

    batch = SOURCES[name].parse(json.dumps(body).encode(), {})

    assert batch.alerts == SOURCES[name].parse(path.read_bytes(), {}).alerts
    assert [raw for raw, _ in batch.rejected] == ["17", "null", '{"startsAt":[],"time":{}}']
    assert all(reason for _, reason in batch.rejected)


@each_body
def test_a_cut_off_body_is_refused_with_a_reason(name: str, path: Path) -> None:
    body = path.read_bytes().rstrip()

    assert "not JSON, or cut off" in str(outcome(SOURCES[name], body[: len(body) // 2]))
    assert "not JSON, or cut off" in str(outcome(SOURCES[name], body[:-1]))


@each_source
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"hello", "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"alerts": NaN}', "number"),
        (b'{"alerts": ' + b"9" * 5000 + b"}", "number"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested too deeply"),
        (b"17", "body"),
        (b"null", "body"),
    ],
    ids=["empty", "blank", "text", "utf16", "nan", "huge-number", "bomb", "deep", "number", "null"],
)
def test_what_is_no_body_of_anything_is_refused_with_a_reason(source: AlertSource, body: bytes, reason: str) -> None:
    assert reason in str(outcome(source, body))


@each_source
@settings(max_examples=60, deadline=None)
@given(body=st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)))
def test_no_bytes_make_it_raise_anything_else(source: AlertSource, body: bytes) -> None:
    outcome(source, body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
KEYS = [
    "status",
    "labels",
    "annotations",
    "startsAt",
    "endsAt",
    "fingerprint",
    "title",
    "tags",
    "time",
    "id",
    "service",
]


@each_source
@settings(max_examples=120, deadline=None)
@given(item=st.dictionaries(st.sampled_from(KEYS), JSON), outer=st.dictionaries(st.sampled_from(["groupKey"]), JSON))
def test_no_value_of_a_known_key_makes_it_raise_anything_else(
    source: AlertSource, item: dict[str, object], outer: dict[str, object]
) -> None:
    found = outcome(source, json.dumps({**outer, "alerts": [item]}).encode())

    assert isinstance(found, str) or len(found.alerts) + len(found.rejected) == 1
    assert isinstance(found, str) or msgspec.json.encode(found)
