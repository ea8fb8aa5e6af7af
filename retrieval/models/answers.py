"""Answers by the question they answer, in memory and in a folder: the same question gets the same answer (row B6).

A file is named by the digest of what was asked (model, texts, shape, length), never by who was asked or with which
key, so that a folder can be moved, read as a diff, and given to the provider `replay`. It holds the answer, not the
question.
"""

import asyncio
import hashlib
import json
import os
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from retrieval.model import Question

FORMAT = 1
MAX_FILES = 4096
MAX_IN_MEMORY = 64
MAX_BYTES = 1 << 20


def key_of(name: str, question: Question) -> str:
    """SHA-256 of the canonical JSON of everything that decides the answer."""
    asked: dict[str, Any] = {
        "format": FORMAT,
        "model": name,
        "system": question.system,
        "user": question.user,
        "schema": question.shape.model_json_schema(),
        "max_tokens": question.max_tokens,
    }
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Unusable(Exception):
    """An answer is recorded, and is not one any more."""


class Answers:
    """The newest answers in memory; all of them in `folder`, where one is given and can be written."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._recent: OrderedDict[str, tuple[BaseModel, int]] = OrderedDict()

    async def find(self, name: str, question: Question) -> tuple[BaseModel, int] | None:
        """The recorded answer and its tokens; None where there is none.

        Raises: Unusable when the file is damaged or its answer does not have the shape.
        """
        key = key_of(name, question)
        if key in self._recent:
            self._recent.move_to_end(key)
            return self._recent[key]
        if self._folder is None:
            return None
        found = await asyncio.to_thread(_read, self._folder / f"{key}.json", question.shape)
        if found is not None:
            self._remember(key, found)
        return found

    async def keep(self, name: str, question: Question, answer: tuple[BaseModel, int]) -> None:
        """From now on this is the answer. A folder that cannot be written is done without."""
        key = key_of(name, question)
        self._remember(key, answer)
        if self._folder is not None:
            await asyncio.to_thread(_write, self._folder, key, name, answer)

    def _remember(self, key: str, answer: tuple[BaseModel, int]) -> None:
        self._recent[key] = answer
        while len(self._recent) > MAX_IN_MEMORY:
            self._recent.popitem(last=False)


def _read(path: Path, shape: type[BaseModel]) -> tuple[BaseModel, int] | None:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    try:
        recorded = json.loads(text[:MAX_BYTES])
        return shape.model_validate(recorded["answer"]), max(0, int(recorded["tokens"]))
    except (ValueError, TypeError, LookupError, ValidationError, RecursionError) as error:
        raise Unusable from error


def _write(folder: Path, key: str, name: str, answer: tuple[BaseModel, int]) -> None:
    value, tokens = answer
    recorded = {"format": FORMAT, "model": name, "tokens": tokens, "answer": value.model_dump(mode="json")}
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".", delete=False, encoding="utf-8") as file:
            file.write(json.dumps(recorded, indent=2, sort_keys=True) + "\n")
        os.replace(file.name, folder / f"{key}.json")
        _prune(folder)
    except OSError:
        return


def _prune(folder: Path) -> None:
    files = [path for path in folder.iterdir() if path.suffix == ".json"]
    if len(files) > MAX_FILES:
        for path in sorted(files, key=lambda p: (p.stat().st_mtime_ns, p.name))[: len(files) - MAX_FILES]:
            path.unlink(missing_ok=True)
