"""Flame graphs: collapsed stacks (`a;b;c 42`, https://www.brendangregg.com/flamegraphs.html) and speedscope's JSON."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from retrieval.ingest.profiles.base import MAX_DEPTH, of_stacks
from retrieval.model import Profile

_LINE = re.compile(r"(\S.*) (\d{1,18})$")
_MAX_DISTINCT = 200_000
_FEW = 0.9  # of the lines must be stacks, else the text is something else
_UNITS = {"seconds": 1e9, "milliseconds": 1e6, "microseconds": 1e3, "nanoseconds": 1.0, "none": 1.0, "bytes": 1.0}


def collapsed(text: str) -> Profile | None:
    """One stack a line, outermost first, and its number of samples; what a line lacks of that it is skipped for."""
    stacks: Counter[tuple[str, ...]] = Counter()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    read = 0
    for line in lines:
        match = _LINE.match(line)
        if match is None or (";" not in match[1] and len(lines) > 1 and " " in match[1] and "(" not in match[1]):
            continue
        read += 1
        stack = tuple(frame.strip() for frame in match[1].split(";")[-MAX_DEPTH:] if frame.strip())
        if stack and (stack in stacks or len(stacks) < _MAX_DISTINCT):
            stacks[stack] += int(match[2])
    if read < _FEW * len(lines) or not any(len(stack) > 1 for stack in stacks):
        return None
    return of_stacks("collapsed", "samples", stacks)


def speedscope(text: str) -> Profile | None:
    """https://www.speedscope.app/file-format-schema.json, sampled and evented profiles; all of a file are one."""
    if "speedscope" not in text[:20_000] and "speedscope" not in text[-20_000:]:
        return None
    try:
        told = msgspec.json.decode(text.encode("utf-8", "replace"))
        names = [_name(frame) for frame in told["shared"]["frames"]]
        stacks: Counter[tuple[str, ...]] = Counter()
        unit = "samples"
        for profile in told["profiles"]:
            scale = _UNITS.get(profile.get("unit", "none"), 1.0)
            unit = "ns" if profile.get("unit", "none").endswith("seconds") else unit
            _sampled(profile, names, scale, stacks)
            _evented(profile, names, scale, stacks)
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, IndexError, AttributeError, ValueError):
        return None
    return of_stacks("speedscope", unit, stacks)


def _name(frame: Mapping[str, Any]) -> str:
    name = str(frame["name"])[:300].replace(";", ":")
    return f"{name} ({frame['file']}:{frame['line']})" if frame.get("file") and frame.get("line") else name


def _sampled(profile: Mapping[str, Any], names: list[str], scale: float, stacks: Counter[tuple[str, ...]]) -> None:
    samples = profile.get("samples") or ()
    weights = profile.get("weights") or [1] * len(samples)
    for sample, weight in zip(samples, weights, strict=False):
        stack = tuple(names[index] for index in sample[-MAX_DEPTH:])
        if stack and (stack in stacks or len(stacks) < _MAX_DISTINCT):
            stacks[stack] += round(weight * scale)


def _evented(profile: Mapping[str, Any], names: list[str], scale: float, stacks: Counter[tuple[str, ...]]) -> None:
    """Frames open and close; the time between two events belongs to what is open."""
    open_frames: list[str] = []
    last = 0.0
    for event in profile.get("events") or ():
        spent = round((event["at"] - last) * scale)
        stack = tuple(open_frames[-MAX_DEPTH:])
        if stack and spent > 0 and (stack in stacks or len(stacks) < _MAX_DISTINCT):
            stacks[stack] += spent
        last = event["at"]
        if event["type"] == "O":
            open_frames.append(names[event["frame"]])
        elif open_frames:
            open_frames.pop()
