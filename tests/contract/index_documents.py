"""Documents and queries that the index tests share."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from retrieval.model import Document, Query
from retrieval.ports import Index

Open = Callable[..., Awaitable[Index]]

HOUR = 3_600 * 10**9


class FixedClock:
    def __init__(self, now_ns: int = 1_000) -> None:
        self.at_ns = now_ns

    def now_ns(self) -> int:
        return self.at_ns


class RefusesHunter2:
    """A redactor with one secret."""

    def text(self, value: str) -> str:
        return value

    def value(self, key: str, value: object) -> object:
        return "redacted" if "hunter2" in str(value) else value

    def survivors(self, text: str) -> list[str]:
        return ["password"] if "hunter2" in text else []


class WordVectors:
    """Texts to vectors without a model: each word adds its own fixed direction, so that shared words mean near."""

    def __init__(self, model_id: str = "words-1", dimensions: int = 64) -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.texts.extend(texts)
        return [self._of(text) for text in texts]

    def _of(self, text: str) -> tuple[float, ...]:
        total = np.zeros(self.dimensions)
        for word in text.lower().split():
            total += _direction(word, self.dimensions)
        length = float(np.linalg.norm(total))
        return tuple(float(v) for v in (total / length if length else total))


@lru_cache(maxsize=20_000)
def _direction(word: str, dimensions: int) -> np.ndarray:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")
    return np.random.default_rng(seed).standard_normal(dimensions)


def document(key: str, text: str = "payment declined", **fields: Any) -> Document:
    return Document(**{"id": key, "kind": "log", "text": text, "time_ns": 100, **fields})


def query(text: str = "", **fields: Any) -> Query:
    return Query(**{"acl": ("public",), "text": text, **fields})
