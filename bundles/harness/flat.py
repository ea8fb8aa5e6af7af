"""Nested attributes as one level (pure)."""

import json
from typing import Any

MAX_JSON = 200_000


def flatten(attributes: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """`{"request": {"url": ...}}` and `{"request.url": ...}` read alike; lists and the dicts themselves stay."""
    out: dict[str, Any] = {}
    for key, value in attributes.items():
        name = f"{prefix}{key}"
        out[name] = value
        if isinstance(value, dict) and depth < 6:
            out.update(flatten(value, f"{name}.", depth + 1))
    return out


def parse_json(text: Any) -> Any:
    """The object or list that a text holds as JSON, else None; scalars are no documents."""
    if not isinstance(text, str) or len(text) > MAX_JSON or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def embedded_json(text: str) -> list[tuple[str, Any]]:
    """JSON objects and lists inside a line of text, each with the word before it ("payload", "body", ""); at most 8."""
    found: list[tuple[str, Any]] = []
    decoder = json.JSONDecoder()
    at = 0
    while len(found) < 8 and len(text) <= MAX_JSON:
        starts = [i for i in (text.find("{", at), text.find("[", at)) if i >= 0]
        if not starts:
            break
        at = min(starts)
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if value:
            label = text[:at].rstrip(" =:'\"(").rsplit(maxsplit=1)
            found.append((label[-1].strip("\"'") if label else "", value))
        at = end
    return found
