"""An index as one reader may use it: whatever is asked, no more than the reader's tags open comes back.

The engines filter by the query's tags; here the query's tags are cut to the reader's, and what comes back is looked at
once more, so that neither a query with too many tags nor a mistake of an engine shows a foreign document.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from retrieval.errors import BadInput
from retrieval.model import Document, Hit, Query
from retrieval.ports import Index


class Reading:
    """`Index` for a reader; it writes nothing. `seen` are the tag sets of all documents that were shown so far: who may
    read what was concluded from them has to hold a tag of each."""

    def __init__(self, index: Index, acl: Sequence[str]) -> None:
        self.name = index.name
        self._index = index
        self._tags = frozenset(acl)
        self._seen: set[tuple[str, ...]] = set()

    @property
    def seen(self) -> tuple[tuple[str, ...], ...]:
        return tuple(sorted(self._seen))

    async def get(self, ids: Sequence[str], *, acl: Sequence[str]) -> list[Document]:
        return [d for d in await self._index.get(ids, acl=self._cut(acl)) if self._shown(d)]

    async def lexical(self, query: Query) -> list[Hit]:
        return [hit for hit in await self._index.lexical(self._asked(query)) if self._shown(hit.document)]

    async def dense(self, query: Query) -> list[Hit]:
        return [hit for hit in await self._index.dense(self._asked(query)) if self._shown(hit.document)]

    async def symbolic(self, query: Query) -> list[Hit]:
        return [hit for hit in await self._index.symbolic(self._asked(query)) if self._shown(hit.document)]

    async def count(self, query: Query) -> int:
        """A number tells of every document behind it, whichever those are: all tags of the query count as seen."""
        asked = self._asked(query)
        self._seen.update((tag,) for tag in asked.acl)
        return await self._index.count(asked)

    async def put(self, documents: Sequence[Document]) -> int:
        """Raises: BadInput, always."""
        raise _read_only("put")

    async def delete(self, query: Query) -> int:
        """Raises: BadInput, always."""
        raise _read_only("delete")

    async def sweep(self, now_ns: int) -> int:
        """Raises: BadInput, always."""
        raise _read_only("sweep")

    async def alias(self, name: str, snapshot: str) -> None:
        """Raises: BadInput, always."""
        raise _read_only("alias")

    async def close(self) -> None:
        """The index stays open: it is not the reader's."""

    def _cut(self, acl: Sequence[str]) -> tuple[str, ...]:
        return tuple(tag for tag in acl if tag in self._tags)

    def _asked(self, query: Query) -> Query:
        return replace(query, acl=self._cut(query.acl))

    def _shown(self, document: Document) -> bool:
        if self._tags.isdisjoint(document.acl):
            return False
        self._seen.add(tuple(sorted(set(document.acl))))
        return True


def _read_only(what: str) -> BadInput:
    return BadInput(f"{what}: a reader changes nothing in the store", subject=what, remedy="use the index itself")
