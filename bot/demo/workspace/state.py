"""What the workspace remembers. With a path it survives a restart of the server and of the bot."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

BOT_USER, BOT_ID, APP_ID, TEAM_ID = "U0RECEIPTS", "B0RECEIPTS", "A0RECEIPTS", "T0DEMO"
DEFAULT_CHANNEL, DEFAULT_USER = "C0INCIDENTS", "U0ADA"


class Channel(Struct, kw_only=True):
    id: str
    name: str
    members: list[str] = field(default_factory=lambda: [BOT_USER, DEFAULT_USER])
    archived: bool = False
    messages: list[dict[str, Any]] = field(default_factory=list)  # by ts, ascending; replies too
    ephemeral: list[dict[str, Any]] = field(default_factory=list)


class File(Struct, kw_only=True):
    id: str
    name: str
    length: int
    uploaded: bool = False
    shared: bool = False
    sha256: str = ""
    title: str = ""


class Call(Struct, kw_only=True):
    """One call as it came and how it was answered; `answer` is "ok" or the error's name."""

    method: str
    arguments: dict[str, Any]
    answer: str
    at: float
    seconds: float = 0.0


class State(Struct, kw_only=True):
    channels: dict[str, Channel] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    last_ts: int = 0  # microseconds
    counter: int = 0
    uploads_refused: str = ""  # the error that file uploads get, "" = they are taken

    def number(self) -> int:
        self.counter += 1
        return self.counter

    def next_ts(self, now: float) -> str:
        """A new ts: unique, and later than every one before it, whatever the clock does."""
        self.last_ts = max(int(now * 1_000_000), self.last_ts + 1)
        return f"{self.last_ts // 1_000_000}.{self.last_ts % 1_000_000:06d}"

    def message(self, channel: str, ts: str) -> dict[str, Any] | None:
        found = self.channels.get(channel)
        return next((m for m in found.messages if m["ts"] == ts), None) if found else None


def fresh() -> State:
    """One channel, one person, the bot in it."""
    return State(
        channels={DEFAULT_CHANNEL: Channel(id=DEFAULT_CHANNEL, name="incidents")},
        users={DEFAULT_USER: "ada", "U0BEN": "ben"},
    )


class Vault:
    """State on disk, and the bytes of uploads: written whole and moved into place, so that a crash leaves the old."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._contents: dict[str, bytes] = {}

    def load(self) -> State:
        if self.path is None or not self.path.exists():
            return fresh()
        return msgspec.json.decode(self.path.read_bytes(), type=State)

    def save(self, state: State) -> None:
        if self.path is None:
            return
        beside = self.path.with_suffix(".new")
        beside.write_bytes(msgspec.json.encode(state, order="sorted"))
        os.replace(beside, self.path)

    def keep(self, file_id: str, content: bytes) -> None:
        if self.path is None:
            self._contents[file_id] = content
            return
        folder = self.path.with_suffix(".files")
        folder.mkdir(exist_ok=True)
        (folder / file_id).write_bytes(content)

    def content(self, file_id: str) -> bytes:
        if self.path is None:
            return self._contents[file_id]
        return (self.path.with_suffix(".files") / file_id).read_bytes()


def decoded(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments with the JSON that a form or query carries as text read."""
    read = dict(arguments)
    for name in ("blocks", "metadata", "view", "files", "message", "attachments"):
        value = read.get(name)
        if isinstance(value, str):
            try:
                read[name] = json.loads(value)
            except ValueError:
                read[name] = value
    return read
