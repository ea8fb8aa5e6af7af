"""The indices of one prefix: made, found, refreshed, dropped; and what is known beside documents.

PREFIX-KIND[-WEEK]  documents, all of them behind the alias PREFIX
PREFIX-state        names of snapshots            PREFIX-rejected  what the server would not take
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from elasticsearch import AsyncElasticsearch, BadRequestError, NotFoundError

from retrieval.errors import StoreError
from retrieval.index.analyzer import VERSION
from retrieval.index.elasticsearch.bulk import Operation, Writer
from retrieval.index.elasticsearch.client import asked
from retrieval.index.elasticsearch.mapping import (
    SETTINGS,
    digest,
    dimensions_of,
    mappings,
    vector_field,
)

_OPEN = {"dynamic": False}
_PAGE = 1_000


class Indices:
    """`dirty`: something may have been written that a search does not see yet."""

    def __init__(self, client: AsyncElasticsearch, prefix: str, dimensions: int) -> None:
        self._client, self._dimensions = client, dimensions
        self.prefix = self.alias = prefix
        self.dirty = True  # somebody else may have written before, and died before a search could see it
        self._refreshing = asyncio.Lock()
        self._known: set[str] = set()
        self._state, self._rejected = f"{prefix}-state", f"{prefix}-rejected"

    async def open(self) -> None:
        """Whether the cluster answers, and what it holds of ours. Raises: StoreUnavailable, StoreError."""
        with asked("say what it is"):
            await self._client.info()
        with asked("tell its indices"):
            found = (await self._client.indices.get_mapping(index=self.alias, ignore_unavailable=True)).body
        for name, held in found.items():
            self._check(name, held["mappings"])
        self._known = set(found)
        lacking = [n for n, held in sorted(found.items()) if self._lacks_vectors(held["mappings"]["properties"])]
        if lacking:
            with asked("add vectors"):
                await self._client.indices.put_mapping(index=lacking, properties=vector_field(self._dimensions))

    def _check(self, name: str, mapping: Mapping[str, object]) -> None:
        wanted = mappings(0)["_meta"] | {"analyzer": VERSION}
        if mapping.get("_meta") != wanted:
            raise StoreError(
                f"The index {name} was made by another version.",
                subject=name,
                remedy="Name another prefix in store.url and ingest again, or delete the indices of this one.",
            )

    def _lacks_vectors(self, properties: Mapping[str, object]) -> bool:
        return bool(self._dimensions) and not set(vector_field(self._dimensions)) <= set(properties)

    async def make(self, names: Collection[str]) -> None:
        """Those that are not there yet; who else makes one at the same moment is welcome to it."""
        for name in sorted(set(names) - self._known):
            layout = mappings(self._dimensions)
            layout["_meta"] = layout["_meta"] | {"analyzer": VERSION}
            with asked("make an index"):
                try:
                    await self._client.indices.create(
                        index=name, settings=SETTINGS, mappings=layout, aliases={self.alias: {}}
                    )
                except BadRequestError as error:
                    if error.error != "resource_already_exists_exception":
                        raise
            self._known.add(name)

    async def names(self) -> list[str]:
        """Indices of documents, as the cluster knows them."""
        with asked("tell its indices"):
            try:
                found = await self._client.indices.get_alias(name=self.alias)
            except NotFoundError:
                return []
        self._known = set(found.body)
        return sorted(found.body)

    async def dimensions(self) -> int:
        if self._dimensions or not self._known:
            return self._dimensions
        with asked("tell its indices"):
            found = (await self._client.indices.get_mapping(index=self.alias, ignore_unavailable=True)).body
        return max((dimensions_of(held["mappings"]["properties"]) for held in found.values()), default=0)

    async def elsewhere(self, places: Mapping[str, str]) -> list[tuple[str, str]]:
        """(index, id) of documents that lie in another index than they are to lie in: their expiry was another."""
        siblings = {name for name in self._known if _family(name) in {_family(place) for place in places.values()}}
        if siblings <= set(places.values()) and len(siblings) < 2:
            return []
        await self.refresh()
        moved = []
        ids = sorted(places)
        for at in range(0, len(ids), _PAGE):
            with asked("find documents"):
                answer = await self._client.search(
                    index=sorted(siblings),
                    query={"ids": {"values": ids[at : at + _PAGE]}},
                    source=False,
                    size=_PAGE,
                    sort="_doc",
                    ignore_unavailable=True,
                )
            rows = answer["hits"]["hits"]
            moved += [(row["_index"], row["_id"]) for row in rows if row["_index"] != places[row["_id"]]]
        return sorted(moved)

    async def refresh(self) -> None:
        """Whoever asks meanwhile waits: a question must not overtake the refresh that it needs."""
        async with self._refreshing:
            if not self.dirty:
                return
            self.dirty = False
            try:
                with asked("refresh"):
                    await self._client.indices.refresh(index=self.alias, ignore_unavailable=True)
            except BaseException:
                self.dirty = True
                raise

    async def drop(self, names: Sequence[str]) -> int:
        """Delete whole indices; returns how many documents they held."""
        with asked("delete indices"):
            held = await self._client.count(index=list(names), ignore_unavailable=True)
            await self._client.indices.delete(index=list(names), ignore_unavailable=True)
        self._known -= set(names)
        return int(held["count"])

    async def remove(self) -> None:
        """All of this prefix. Only for one that nobody else uses."""
        names = [*await self.names(), self._state, self._rejected]
        with asked("delete indices"):
            await self._client.indices.delete(index=names, ignore_unavailable=True)

    async def point(self, name: str, snapshot: str) -> None:
        await self._beside(self._state)
        with asked("name a snapshot"):
            await self._client.index(
                index=self._state, id=_alias_id(name), document={"name": name, "snapshot": snapshot}
            )

    async def snapshot(self, name: str) -> str:
        """What a name points to; the name itself where it is none. Read in real time."""
        with asked("find a snapshot"):
            try:
                found = await self._client.get(index=self._state, id=_alias_id(name))
            except NotFoundError:
                return name
        return str(found["_source"]["snapshot"])

    async def keep_rejected(self, rejected: Sequence[tuple[str, int, str, str]], writer: Writer) -> None:
        """(id, status, the error's name, the record) of what cannot be stored as it is."""
        await self._beside(self._rejected)
        await writer.write(
            [
                Operation("index", self._rejected, key, {"status": status, "error": kind, "body": body})
                for key, status, kind, body in rejected
            ]
        )

    async def _beside(self, name: str) -> None:
        if name in self._known:
            return
        with asked("make an index"):
            try:
                await self._client.indices.create(index=name, settings=SETTINGS, mappings=_OPEN)
            except BadRequestError as error:
                if error.error != "resource_already_exists_exception":
                    raise
        self._known.add(name)


def _family(name: str) -> str:
    """An index's name without its week."""
    head, _, tail = name.rpartition("-")
    return head if len(tail) == 7 and tail[4] == "w" else name


def _alias_id(name: str) -> str:
    return f"alias-{digest(name)}"
