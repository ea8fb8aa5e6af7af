"""Writing: in chunks, item by item, again where that may help, and set aside where it cannot.

A chunk's `_id`s are deterministic, so that sending one again after a time-out or a cut connection doubles nothing.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec
from elastic_transport import TransportError
from elasticsearch import ApiError, AsyncElasticsearch
from msgspec import Struct

from retrieval.errors import StoreUnavailable
from retrieval.index.elasticsearch.client import asked, refusal

CHUNK_BYTES = 5 * 2**20
CHUNK_ITEMS = 500
TRIES = 6
_FIRST_S, _LONGEST_S = 0.5, 60.0
_AGAIN = frozenset({429, 502, 503, 504})
_TOO_LARGE = 413
_encode = msgspec.json.Encoder().encode

Sleep = Callable[[float], Awaitable[None]]


class Operation(Struct, frozen=True):
    """One line of a bulk request, and the next one where it writes something. `what` is index|delete; `meta` are more
    fields of the action, such as `if_seq_no`."""

    what: str
    index: str
    id: str
    source: dict[str, Any] | None = None
    meta: dict[str, Any] = {}

    def lines(self) -> bytes:
        """Without the last line break, which the client adds."""
        action = _encode({self.what: {"_index": self.index, "_id": self.id, **self.meta}})
        return action if self.source is None else b"%b\n%b" % (action, _encode(self.source))


class Rejected(Struct, frozen=True):
    """An item that the server will never take, and the name of its error."""

    operation: Operation
    status: int
    kind: str


class Written(Struct, frozen=True):
    """`missed` are operations whose document was changed or removed by someone else meanwhile."""

    done: int
    missed: int
    rejected: tuple[Rejected, ...]


class Writer:
    """Sends operations. `sleep` and `draw` (0..1) are passed in: full-jitter waits, as in Brooker, "Exponential Backoff
    And Jitter" (AWS Architecture Blog, 2015)."""

    def __init__(
        self, client: AsyncElasticsearch, sleep: Sleep = asyncio.sleep, draw: Callable[[], float] = random.random
    ) -> None:
        # The client's own retries don't wait, and send again what was taken.
        self._client = client.options(max_retries=0)
        self._sleep, self._draw = sleep, draw

    async def write(self, operations: Sequence[Operation]) -> Written:
        """All of them, in order. Raises: StoreUnavailable (after the last try; what was written stays), StoreError."""
        done = missed = 0
        rejected: list[Rejected] = []
        for chunk in chunks(operations):
            written = await self._chunk(chunk)
            done, missed = done + written.done, missed + written.missed
            rejected += written.rejected
        return Written(done, missed, tuple(rejected))

    async def _chunk(self, operations: Sequence[Operation]) -> Written:
        done = missed = 0
        rejected: list[Rejected] = []
        for attempt in range(TRIES):
            if attempt:
                await self._sleep(self._draw() * min(_LONGEST_S, _FIRST_S * 2**attempt))
            statuses = await self._send(operations)
            if statuses is None:
                continue
            again = []
            for operation, (status, kind) in zip(operations, statuses, strict=True):
                if status < 300 or (status == 404 and operation.what == "delete"):
                    done += 1
                elif status == 409:
                    missed += 1
                elif status in _AGAIN:
                    again.append(operation)
                elif status in (401, 403):
                    raise refusal("write documents", status, kind)
                else:
                    rejected.append(Rejected(operation, status, kind))
            if not again:
                return Written(done, missed, tuple(rejected))
            operations = again
        raise StoreUnavailable(f"Elasticsearch did not take {len(operations)} documents in {TRIES} tries.")

    async def _send(self, operations: Sequence[Operation]) -> list[tuple[int, str]] | None:
        """The status of each operation; None where none is known. A chunk that is too large is sent in halves."""
        try:
            lines: list[Any] = [o.lines() for o in operations]
            answer = await self._client.bulk(operations=lines)
        except TransportError:
            return None
        except ApiError as error:
            if error.status_code == _TOO_LARGE and len(operations) > 1:
                return await self._halves(operations)
            if error.status_code in _AGAIN:
                return None
            if error.status_code == _TOO_LARGE:
                return [(_TOO_LARGE, "request_too_large")]
            with asked("write documents"):
                raise
        return [_status(next(iter(item.values()))) for item in answer["items"]]

    async def _halves(self, operations: Sequence[Operation]) -> list[tuple[int, str]] | None:
        middle = len(operations) // 2
        first, second = await self._send(operations[:middle]), await self._send(operations[middle:])
        unknown = [(429, "")]
        return (first or unknown * middle) + (second or unknown * (len(operations) - middle))


def chunks(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Of at most `CHUNK_ITEMS` and about `CHUNK_BYTES`."""
    chunk: list[Operation] = []
    size = 0
    for operation in operations:
        length = len(operation.lines())
        if chunk and (len(chunk) >= CHUNK_ITEMS or size + length > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(operation)
        size += length
    if chunk:
        yield chunk


def _status(item: dict[str, Any]) -> tuple[int, str]:
    error = item.get("error")
    return int(item["status"]), str(error.get("type", "")) if isinstance(error, dict) else ""
