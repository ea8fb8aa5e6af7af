"""The `/triage` grammar (pure): text in, what is wanted out, or what is wrong with it and an example.

Phones change what is typed: two hyphens become a dash, straight quotes become curly. Both are read as they were meant.
"""

import re
import shlex
from datetime import UTC, datetime, timedelta

from msgspec import Struct, field

from bot.model import Rerun

_LONGEST_NS = 7 * 24 * 3600 * 10**9
_UNITS = {"s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_DURATION = re.compile(r"(\d{1,6})([smhd])")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_TYPED = str.maketrans({"—": "--", "–": "--", "“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " "})
_EXAMPLES = {
    "window": "--window 45m..15m",
    "service": "--service checkout",
    "as-of": "--as-of 2026-11-30T14:02",
    "snapshot": "--snapshot s-42",
    "feedback": "feedback INCIDENT wrong a1b2c3d",
}
LOOKS = ("status", "evidence", "bundle")
LATER = ("ask", "flaky")


class Help(Struct, frozen=True):
    pass


class Look(Struct, frozen=True):
    """status, evidence or bundle; `incident` "" = the channel's latest."""

    what: str
    incident: str = ""


class Again(Struct, frozen=True, kw_only=True):
    incident: str = ""
    wish: Rerun


class Judge(Struct, frozen=True, kw_only=True):
    user: str
    incident: str = ""
    verdict: str
    commit: str = ""


class NotYet(Struct, frozen=True):
    what: str


class Wrong(Struct, frozen=True):
    """`word` is what could not be read, `example` how it is written."""

    word: str
    example: str = ""
    options: tuple[str, ...] = field(default_factory=tuple)


Command = Help | Look | Again | Judge | NotYet | Wrong


def parse(text: str, *, user: str, now_ns: int) -> Command:
    """Never raises; what is not understood is `Wrong`."""
    words = _split(text)
    if not words:
        return Help()
    name, rest = words[0].lower(), words[1:]
    if name == "help":
        return Help()
    if name in LATER:
        return NotYet(name)
    if name in LOOKS:
        return _look(name, rest)
    if name == "rerun":
        return _again(rest, user, now_ns)
    if name == "feedback":
        return _judge(rest, user)
    return Wrong(words[0], options=("help", *LOOKS, "rerun", "feedback"))


def _split(text: str) -> list[str]:
    typed = text[:2000].translate(_TYPED)
    try:
        return shlex.split(typed)
    except ValueError:
        return typed.split()


def _look(name: str, rest: list[str]) -> Command:
    if len(rest) > 1 or (rest and not _NAME.fullmatch(rest[0])):
        return Wrong(rest[-1], f"{name} INCIDENT")
    return Look(name, rest[0] if rest else "")


def _again(rest: list[str], user: str, now_ns: int) -> Command:
    incident, wanted = "", {"before": "", "after": "", "service": "", "snapshot": ""}
    as_of: int | None = None
    words = iter(_options(rest))
    for word in words:
        if not word.startswith("--"):
            if incident or not _NAME.fullmatch(word):
                return Wrong(word, "rerun INCIDENT --window 45m..15m")
            incident = word
            continue
        name, value = word[2:].lower(), next(words, "")
        if name == "window" and (found := _window(value)):
            wanted["before"], wanted["after"] = found
        elif name in ("service", "snapshot") and _NAME.fullmatch(value):
            wanted[name] = value
        elif name == "as-of" and (at := _moment(value, now_ns)) is not None:
            as_of = at
        else:
            return Wrong(f"{word} {value}".strip(), _EXAMPLES.get(name, "rerun INCIDENT --window 45m..15m"))
    wish = Rerun(
        user=user,
        before=wanted["before"],
        after=wanted["after"],
        service=wanted["service"],
        snapshot=wanted["snapshot"],
        as_of_ns=as_of,
    )
    return Again(incident=incident, wish=wish)


def _options(rest: list[str]) -> list[str]:
    """`--name=value` as two words."""
    split: list[str] = []
    for word in rest:
        split += word.split("=", 1) if word.startswith("--") and "=" in word else [word]
    return split


def _window(text: str) -> tuple[str, str] | None:
    """`45m..15m`, `2h` (before only), `..30m` (after only)."""
    before, dots, after = text.partition("..")
    if not (before or after) or (dots and ".." in after):
        return None
    for part in (before, after):
        if part and not _is_duration(part):
            return None
    return before, after


def _is_duration(text: str) -> bool:
    found = _DURATION.fullmatch(text)
    return bool(found) and found is not None and 0 < int(found.group(1)) * _UNITS[found.group(2)] <= _LONGEST_NS


def _moment(text: str, now_ns: int) -> int | None:
    """ISO 8601 (UTC unless it says otherwise), `HH:MM` (the last time it was that late), Unix seconds, `10m ago`."""
    now = datetime.fromtimestamp(now_ns / 10**9, tz=UTC)
    if re.fullmatch(r"\d{9,10}", text):
        return int(text) * 10**9
    if found := re.fullmatch(r"(\d{1,2}):(\d\d)", text):
        hour, minute = int(found.group(1)), int(found.group(2))
        if hour > 23 or minute > 59:
            return None
        today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return _ns(today if today <= now else today - timedelta(days=1))
    if re.fullmatch(r"\d{1,6}[smhd]", text) and _is_duration(text):
        return now_ns - int(text[:-1]) * _UNITS[text[-1]]
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return _ns(read if read.tzinfo else read.replace(tzinfo=UTC))


def _ns(moment: datetime) -> int:
    return int(moment.timestamp()) * 10**9


def _judge(rest: list[str], user: str) -> Command:
    words = [word.lower() if word.lower() in ("right", "wrong") else word for word in rest]
    at = next((i for i, word in enumerate(words) if word in ("right", "wrong")), -1)
    before, after = words[: max(at, 0)], words[at + 1 :]
    bad = at < 0 or len(before) > 1 or len(after) > 1
    bad = bad or any(not _NAME.fullmatch(w) for w in before) or any(not _COMMIT.fullmatch(w.lower()) for w in after)
    if bad:
        return Wrong(" ".join(rest) or "feedback", _EXAMPLES["feedback"])
    incident, commit = (found[0] if found else "" for found in (before, after))
    return Judge(user=user, incident=incident, verdict=words[at], commit=commit.lower())
