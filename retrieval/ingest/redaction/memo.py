"""What was found out lately, within bounds."""

from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Memo(Generic[_K, _V]):
    """Two generations: what is asked for again lives on, what is not goes with the older one. At most twice `entries`
    are kept, and twice `characters` of them."""

    def __init__(self, entries: int, characters: int) -> None:
        self._entries, self._characters = entries, characters
        self._young: dict[_K, _V] = {}
        self._old: dict[_K, _V] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: _K) -> _V | None:
        found = self._young.get(key)
        return self._old.get(key) if found is None else found

    def keep(self, key: _K, value: _V, size: int) -> None:
        """`size`: characters that the entry takes."""
        if len(self._young) >= self._entries or self._size >= self._characters:
            self._old, self._young, self._size = self._young, {}, 0
        self._young[key] = value
        self._size += size
